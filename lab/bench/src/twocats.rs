//! TwoCats and SkinnyCat, two candidates of the Password Hashing Competition as their code stood in
//! April 2014: to be measured beside yescrypt, and for nothing else. Results are those of the
//! candidates' own code, whose published vectors are part of `lab/vectors/twocats.jsonl`.
//!
//! An engine keeps its memory from hash to hash, as yescrypt's workspace does, and has kernels for
//! the same levels. Unlike the libraries of this workspace it wipes nothing, and for several
//! threads it does their work one after the other.
//!
//! ```
//! use saltern_bench::twocats::{Hash, Params, TwoCats};
//!
//! let four_mib = Params::simple(Hash::Blake2s, 12, 0, 1)?;
//! let mut engine = TwoCats::new(four_mib)?;
//! let mut hash = [0; 32];
//! engine.hash(b"password", b"salt", &mut hash)?;
//! assert_eq!(hash[..4], [0xe5, 0xf8, 0xab, 0x98]);
//! # Ok::<(), saltern_bench::twocats::Error>(())
//! ```

mod dispatch;
mod error;
mod fill;
mod hash;
mod mix;
mod params;

use saltern_yescrypt::hazmat::Level;

pub use error::Error;
pub use hash::Hash;
pub use params::Params;

use fill::Filler;
use hash::{Hasher, State};

/// One set of parameters, and the memory to hash with them again and again.
#[derive(Debug)]
pub struct TwoCats {
    params: Params,
    hasher: Hasher,
    filler: Filler,
}

impl TwoCats {
    /// An engine at the best level of this processor. Allocates 2^`stop_mem_cost` KiB, unless no
    /// level of these parameters uses memory.
    ///
    /// # Errors
    /// The parameter that is out of range, or memory that cannot be had.
    pub fn new(params: Params) -> Result<Self, Error> {
        Self::with_level(params, Level::detect())
    }

    /// As [`new`](Self::new), at a smaller level.
    ///
    /// # Errors
    /// Also a level that this processor lacks.
    pub fn with_level(params: Params, level: Level) -> Result<Self, Error> {
        params.check()?;
        let hasher = Hasher::new(params.hash, level)?;
        let filler = Filler::new(&params, level)?;
        Ok(Self { params, hasher, filler })
    }

    /// Hashes a password into `out`, which is as long as the hash function's digest.
    ///
    /// # Errors
    /// The length of `out`, or inputs of 4 GiB and more.
    pub fn hash(&mut self, password: &[u8], salt: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.hash_with_data(password, salt, &[], out)
    }

    /// As [`hash`](Self::hash), with further data.
    ///
    /// # Errors
    /// As [`hash`](Self::hash).
    pub fn hash_with_data(
        &mut self,
        password: &[u8],
        salt: &[u8],
        data: &[u8],
        out: &mut [u8],
    ) -> Result<(), Error> {
        let key = self.client_key(password, salt, data)?;
        self.finish(&key, out)
    }

    /// The part of the work that a client can do for a server, which hashes the result once more.
    ///
    /// # Errors
    /// As [`hash`](Self::hash).
    pub fn client(
        &mut self,
        password: &[u8],
        salt: &[u8],
        data: &[u8],
        out: &mut [u8],
    ) -> Result<(), Error> {
        let key = self.client_key(password, salt, data)?;
        self.hasher.write(&key, out)
    }

    /// Strengthens a finished hash by the levels from `start_mem_cost` to `stop_mem_cost`, the
    /// first of which has to be the one after its own last.
    ///
    /// # Errors
    /// A hash or an `out` of the wrong length.
    pub fn update(&mut self, old: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let mut key = self.hasher.read(old)?;
        self.run_levels(&mut key, 0);
        self.finish(&key, out)
    }

    fn client_key(&mut self, password: &[u8], salt: &[u8], data: &[u8]) -> Result<State, Error> {
        let head = self.params.head(password, salt, data)?;
        let mut key = self.hasher.digest(&[&head, password, salt, data]);
        self.run_levels(&mut key, self.params.overwrite_level());
        Ok(key)
    }

    /// The levels from 0 up; those from `overwrite` to the first that counts are skipped.
    fn run_levels(&mut self, key: &mut State, overwrite: u32) {
        let Params { start_mem_cost, stop_mem_cost, .. } = self.params;
        for level in 0..=stop_mem_cost {
            if level < start_mem_cost && level >= overwrite {
                continue;
            }
            if self.params.fills(level) {
                // Slices that are read at addresses which depend on no secret: all of those at the
                // overwritten levels.
                let resistant = if level >= start_mem_cost { 2 } else { 4 };
                self.filler.fill(&self.hasher, key, level, resistant);
            }
            if level != stop_mem_cost {
                *key = self.hasher.scramble(key);
            }
        }
    }

    fn finish(&self, key: &State, out: &mut [u8]) -> Result<(), Error> {
        self.hasher.write(&self.hasher.scramble(key), out)
    }
}

/// SkinnyCat: TwoCats without its multiplications and with sequential reading alone.
///
/// ```
/// use saltern_bench::twocats::{Hash, SkinnyCat};
///
/// let mut engine = SkinnyCat::new(Hash::Blake2s, 12)?; // 4 MiB
/// let mut hash = [0; 32];
/// engine.hash(b"password", b"salt", &mut hash)?;
/// assert_eq!(hash[..4], [0x9a, 0xee, 0x6d, 0xf0]);
/// # Ok::<(), saltern_bench::twocats::Error>(())
/// ```
#[derive(Debug)]
pub struct SkinnyCat(TwoCats);

impl SkinnyCat {
    /// The longest password and salt, in bytes: lengths are single bytes in the original.
    const MAX_INPUT: usize = 255;

    /// An engine with 2^`mem_cost` KiB of memory, at the best level of this processor.
    ///
    /// # Errors
    /// As [`TwoCats::new`].
    pub fn new(hash: Hash, mem_cost: u32) -> Result<Self, Error> {
        Self::with_level(hash, mem_cost, Level::detect())
    }

    /// As [`new`](Self::new), at a smaller level.
    ///
    /// # Errors
    /// As [`TwoCats::with_level`].
    pub fn with_level(hash: Hash, mem_cost: u32, level: Level) -> Result<Self, Error> {
        TwoCats::with_level(Params::skinny(hash, mem_cost)?, level).map(Self)
    }

    /// Hashes a password into `out`, which is as long as the hash function's digest.
    ///
    /// # Errors
    /// A password or salt of more than 255 bytes, or the length of `out`.
    pub fn hash(&mut self, password: &[u8], salt: &[u8], out: &mut [u8]) -> Result<(), Error> {
        for input in [password, salt] {
            if input.len() > Self::MAX_INPUT {
                let allowed = "at most 255 bytes of password and of salt";
                return Err(Error::new("length", input.len() as u64, allowed));
            }
        }
        self.0.hash(password, salt, out)
    }
}
