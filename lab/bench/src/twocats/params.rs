//! The parameters: what is allowed, what the simple calls choose, and the bytes that are hashed
//! before the password.

use super::error::Error;
use super::hash::Hash;

/// Blocks per thread that the simple calls aim at.
const MIN_BLOCKS: u64 = 256;
/// Memory is filled in this many slices, after each of which all threads meet.
pub(super) const SLICES: usize = 4;

/// Everything that the full-control call takes, besides its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The hash function.
    pub hash: Hash,
    /// The first level of memory, as the binary logarithm of KiB.
    pub start_mem_cost: u32,
    /// The last level: `start_mem_cost` to 30.
    pub stop_mem_cost: u32,
    /// Each block is mixed 2^`time_cost` times; 0 to 30.
    pub time_cost: u32,
    /// Pairs of multiplications for each row of words; 0 to 8.
    pub multiplies: u32,
    /// Words in a row: 1 to 8, or to 16 for hash functions of 64 bytes.
    pub lanes: u32,
    /// Threads, 1 to 255, each with its own part of the memory. Here they run one after the other.
    pub parallelism: u32,
    /// Bytes in a block: a power of two up to 2^20.
    pub block_bytes: u32,
    /// Bytes in a sub-block: a power of two from 32 to `block_bytes`.
    pub sub_bytes: u32,
    /// How many levels below the first are computed and overwritten, counted down from it to 0; 0
    /// for none.
    pub overwrite_cost: u32,
}

impl Params {
    /// What the candidate's call with three numbers chooses. Too little memory for its blocks of 16
    /// KiB is, as there, no memory at all: that is so below 64 KiB for each thread.
    ///
    /// ```
    /// use saltern_bench::twocats::{Hash, Params};
    /// let params = Params::simple(Hash::Blake2s, 12, 0, 1)?;
    /// assert_eq!((params.multiplies, params.lanes, params.sub_bytes), (3, 8, 64));
    /// # Ok::<(), saltern_bench::twocats::Error>(())
    /// ```
    ///
    /// # Errors
    /// No threads, or more than 2^30 KiB of memory.
    pub fn simple(
        hash: Hash,
        mem_cost: u32,
        time_cost: u32,
        parallelism: u32,
    ) -> Result<Self, Error> {
        check_parallelism(parallelism)?;
        check_mem_cost(mem_cost)?;
        let multiplies = match mem_cost {
            0..=4 => 1,
            5..=9 => 2,
            _ => 3,
        };
        let params = Self {
            hash,
            start_mem_cost: mem_cost,
            stop_mem_cost: mem_cost,
            time_cost,
            multiplies,
            lanes: 8,
            parallelism,
            block_bytes: 16384,
            sub_bytes: 64,
            overwrite_cost: 6,
        };
        // The block size tried here is forgotten afterwards, and only its effect on the threads
        // stays, as in the original.
        let blocks = |threads: u32, bytes: u64| (1024 << mem_cost) / (u64::from(threads) * bytes);
        let mut trial = 16384;
        while trial >= 64 && blocks(parallelism, trial) < MIN_BLOCKS {
            trial /= 2;
        }
        let mut threads = parallelism;
        while threads > 1 && blocks(threads, trial) < MIN_BLOCKS {
            threads -= 1;
        }
        Ok(Self { parallelism: threads, ..params })
    }

    /// The settings under which TwoCats is SkinnyCat.
    ///
    /// # Errors
    /// More than 2^30 KiB of memory.
    pub fn skinny(hash: Hash, mem_cost: u32) -> Result<Self, Error> {
        check_mem_cost(mem_cost)?;
        let mut block_bytes = 16384;
        while block_bytes > 32 && (1024 << mem_cost) / u64::from(block_bytes) < MIN_BLOCKS {
            block_bytes /= 2;
        }
        Ok(Self {
            hash,
            start_mem_cost: mem_cost,
            stop_mem_cost: mem_cost,
            time_cost: 0,
            multiplies: 0,
            lanes: 8,
            parallelism: 1,
            block_bytes,
            sub_bytes: block_bytes,
            overwrite_cost: 0,
        })
    }

    /// What the original refuses, in its order, and then what it computes from memory that it never
    /// wrote.
    pub(super) fn check(&self) -> Result<(), Error> {
        let words = self.hash.words() as u32;
        if self.lanes == 0 || self.lanes > words {
            let allowed = "1 to 8, or to 16 for 64-byte hash functions";
            return Err(Error::new("lanes", self.lanes, allowed));
        }
        if self.start_mem_cost > self.stop_mem_cost {
            return Err(Error::new("startMemCost", self.start_mem_cost, "at most stopMemCost"));
        }
        check_mem_cost(self.stop_mem_cost)?;
        if self.time_cost > 30 {
            return Err(Error::new("timeCost", self.time_cost, "0 to 30"));
        }
        if self.multiplies > 8 {
            return Err(Error::new("multiplies", self.multiplies, "0 to 8"));
        }
        check_parallelism(self.parallelism)?;
        self.check_sizes()
    }

    fn check_sizes(&self) -> Result<(), Error> {
        let (block, sub) = (self.block_bytes, self.sub_bytes);
        let block_error = Error::new("blockSize", block, "a power of two up to 1048576");
        let sub_error = Error::new("subBlockSize", sub, "a power of two from 32 to blockSize");
        if block > 1 << 20 {
            return Err(block_error);
        }
        if sub < 32 || sub > block {
            return Err(sub_error);
        }
        if !block.is_power_of_two() {
            return Err(block_error);
        }
        if !sub.is_power_of_two() {
            return Err(sub_error);
        }
        if !self.uses_memory() {
            return Ok(());
        }
        if !sub.is_multiple_of(4 * self.lanes) {
            let allowed = "whole rows of lanes in a sub-block, or words stay unset";
            return Err(Error::new("lanes", self.lanes, allowed));
        }
        if block < 4 * self.hash.words() as u32 {
            let allowed = "at least one digest, or words stay unset";
            return Err(Error::new("blockSize", block, allowed));
        }
        Ok(())
    }

    /// Whether a level has the four blocks for each thread without which it does nothing.
    pub(super) fn fills(&self, level: u32) -> bool {
        let block = u64::from(self.parallelism) * u64::from(self.block_bytes);
        (1024 << level) / block >= SLICES as u64
    }

    pub(super) fn uses_memory(&self) -> bool {
        self.fills(self.stop_mem_cost)
    }

    /// The levels below this one are computed although they are below the first.
    pub(super) fn overwrite_level(&self) -> u32 {
        match self.overwrite_cost {
            0 => 0,
            cost => self.start_mem_cost.saturating_sub(cost),
        }
    }

    /// The 26 bytes that are hashed before the inputs. The last level is not among them, so that a
    /// hash can be strengthened.
    pub(super) fn head(
        &self,
        password: &[u8],
        salt: &[u8],
        data: &[u8],
    ) -> Result<[u8; 26], Error> {
        let mut head = [0; 26];
        for (field, input) in head.as_chunks_mut::<4>().0.iter_mut().zip([password, salt, data]) {
            let length = u32::try_from(input.len())
                .map_err(|_| Error::new("length", input.len() as u64, "less than 4 GiB"))?;
            *field = length.to_le_bytes();
        }
        head[12..16].copy_from_slice(&self.block_bytes.to_le_bytes());
        head[16..20].copy_from_slice(&self.sub_bytes.to_le_bytes());
        // Each is below 256, as checked.
        head[20..].copy_from_slice(&[
            self.start_mem_cost as u8,
            self.time_cost as u8,
            self.multiplies as u8,
            self.lanes as u8,
            self.parallelism as u8,
            self.overwrite_level() as u8,
        ]);
        Ok(head)
    }
}

fn check_mem_cost(mem_cost: u32) -> Result<(), Error> {
    if mem_cost > 30 { Err(Error::new("stopMemCost", mem_cost, "at most 30")) } else { Ok(()) }
}

fn check_parallelism(threads: u32) -> Result<(), Error> {
    let allowed = "1 to 255";
    if (1..=255).contains(&threads) {
        Ok(())
    } else {
        Err(Error::new("parallelism", threads, allowed))
    }
}
