//! The KDF (sections 13 to 15): hashing before, SMix over all instances, hashing after.

use alloc::vec::Vec;

use saltern_simd::{Level, UnavailableLevel};

use crate::Error;
use crate::blockmix::{Boxes, Kernel};
use crate::dispatch;
use crate::memory::{Arena, SubBlock};
use crate::params::{CheckedParams, LoopCounts, Mode};
use crate::pbkdf2::{self, Secret};
use crate::rom::Rom;
use crate::smix::{Mixer, RomBlocks, p2floor};

/// Memory that hashes use one after the other, the CPU level of the kernels, and the number of threads for one hash.
///
/// Reusing one is what makes hashing fast: fresh memory costs a page fault for every 4 KiB, a large part of a short hash's
/// time. It grows to the largest hash computed with it and keeps that until dropped; contents are overwritten by the
/// next hash and wiped on [`Workspace::wipe`], on growing and on drop.
///
/// ```
/// use saltern_yescrypt::{Limits, Params, Workspace, derive};
/// let params = Params::yescrypt(16, 8).check(&Limits::server())?;
/// let mut workspace = Workspace::new();
/// let mut key = [0; 32];
/// derive(b"p", b"s", &params, None, &mut workspace, &mut key)?;
/// # Ok::<(), saltern_yescrypt::Error>(())
/// ```
pub struct Workspace {
    arena: Arena,
    level: Level,
    threads: usize,
}

impl Workspace {
    /// An empty workspace for the best level of this processor and one thread. Allocates nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Workspace { arena: Arena::new(), level: Level::detect(), threads: 1 }
    }

    /// An empty workspace for a given level: for tests and comparisons. Results are the same at every level.
    ///
    /// # Errors
    /// [`UnavailableLevel`] if this processor does not have it.
    pub fn with_level(level: Level) -> Result<Self, UnavailableLevel> {
        Ok(Workspace { level: level.require()?, ..Self::new() })
    }

    /// The CPU level of the kernels.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// How many threads may work on one hash with p > 1 (at least 1, at most p are used; without the `std` feature always 1).
    /// Classic scrypt and WORM need `128 * r * N` bytes for each of them. Results do not depend on it.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// Allocates the memory for hashes with these parameters now.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn reserve(&mut self, params: &CheckedParams) -> Result<(), Error> {
        let plan = Plan::new(params, self.threads)?;
        self.arena.reserve(plan.v + plan.scratch)
    }

    /// Overwrites all memory with zeros. Costs one pass over it.
    pub fn wipe(&mut self) {
        self.arena.wipe();
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// The level, the threads, and `len` sub-blocks of scratch.
    pub(crate) fn parts(&mut self, len: usize) -> Result<(Level, usize, &mut [SubBlock]), Error> {
        Ok((self.level, self.threads, self.arena.take(len)?))
    }

    /// Bytes that the workspace holds.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.arena.bytes()
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Workspace { level, threads, .. } = self;
        write!(f, "Workspace {{ {} bytes, {level}, {threads} threads }}", self.memory())
    }
}

/// Derives `out.len()` bytes from a password: the bare function, without strings.
///
/// For every mode but classic a shorter output is a prefix of a longer one. Costs [`CheckedParams::memory`] bytes in `workspace`, and
/// time in proportion to [`Params::work`](crate::Params::work).
///
/// # Errors
/// [`Error::RomUnavailable`] or [`Error::RomNotUsed`] if `rom` and the parameters disagree, [`Error::RomTooSmall`] or
/// [`Error::RomTag`] if it is not a ROM of that size, [`Error::InvalidParameter`] for an `out` above 32 * (2^32 - 1) bytes, and
/// [`Error::OutOfMemory`].
pub fn derive(
    password: &[u8],
    salt: &[u8],
    params: &CheckedParams,
    rom: Option<&Rom<'_>>,
    workspace: &mut Workspace,
    out: &mut [u8],
) -> Result<(), Error> {
    params.check_output(out.len() as u64)?;
    let rom = match (rom, params.params().nrom) {
        (None, 0) => None,
        (None, nrom) => return Err(Error::RomUnavailable { nrom }),
        (Some(_), 0) => return Err(Error::RomNotUsed),
        (Some(rom), _) => Some(rom.blocks_for(params)?),
    };
    let plan = Plan::new(params, workspace.threads)?;
    let (level, threads) = (workspace.level, workspace.threads);
    let (v, scratch) = workspace.arena.take(plan.v + plan.scratch)?.split_at_mut(plan.v);
    let pass = |params, kind| Pass { params, kind, rom, level, threads };
    let prehashed: Secret;
    let mut password = password;
    if let Some(small) = params.prehash() {
        let mut first = Secret::default();
        pass(small, Kind::Prehash).run(password, salt, [&mut *v, &mut *scratch], &mut *first)?;
        prehashed = first;
        password = &*prehashed;
    }
    pass(*params, Kind::Main).run(password, salt, [v, scratch], out)
}

/// How many sub-blocks a hash needs.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// For V: N blocks, times the threads for independent instances.
    pub(crate) v: usize,
    /// For B of all instances, their S-boxes, and one spare block for each thread.
    pub(crate) scratch: usize,
}

impl Plan {
    pub(crate) fn new(params: &CheckedParams, threads: usize) -> Result<Self, Error> {
        let (len, p) = (params.block_len(), params.p());
        let workers = workers(threads, p);
        let copies = if params.mode() == Mode::Rw { 1 } else { workers };
        let v = params.n().checked_mul(len).and_then(|v| v.checked_mul(copies));
        let instances = (len + params.sbox_len()).checked_mul(p);
        let scratch = instances.and_then(|all| all.checked_add(workers.checked_mul(len)?));
        let plan = v.zip(scratch).filter(|(v, scratch)| v.checked_add(*scratch).is_some());
        let (v, scratch) = plan.ok_or(Error::OutOfMemory { bytes: u64::MAX })?;
        Ok(Plan { v, scratch })
    }
}

/// How many of `threads` have anything to do with `p` instances.
fn workers(threads: usize, p: usize) -> usize {
    if cfg!(feature = "std") { threads.min(p) } else { 1 }
}

/// Which of the passes of the format this is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Main,
    Prehash,
    RomInit,
}

/// One pass: Body of section 14.
pub(crate) struct Pass<'a> {
    pub(crate) params: CheckedParams,
    pub(crate) kind: Kind,
    pub(crate) rom: Option<RomBlocks<'a>>,
    pub(crate) level: Level,
    pub(crate) threads: usize,
}

impl Pass<'_> {
    /// `v` has `n` blocks (more for threads), `scratch` what [`Plan`] says or more.
    pub(crate) fn run(
        &self,
        password: &[u8],
        salt: &[u8],
        [v, scratch]: [&mut [SubBlock]; 2],
        out: &mut [u8],
    ) -> Result<(), Error> {
        let classic = self.params.mode() == Mode::Classic;
        let hashed; // step 1
        let password = if classic {
            password
        } else {
            let prehash: &[u8] = b"yescrypt-prehash";
            let key = if self.kind == Kind::Prehash { prehash } else { b"yescrypt" };
            hashed = pbkdf2::hmac(key, password);
            &*hashed
        };
        let (b, scratch) = scratch.split_at_mut(self.params.p() * self.params.block_len());
        pbkdf2::fill(password, salt, b); // step 2
        let mut secret = Secret::default(); // step 3
        secret.copy_from_slice(&b[0].to_bytes()[..32]);
        match self.params.mode() {
            Mode::Rw => self.smix_rw(&mut secret, b, v, scratch)?, // step 4
            _ => self.smix_each(b, v, scratch),
        }
        let password = if classic { password } else { &*secret };
        let key = pbkdf2::extract(password, b, out); // step 5
        if !classic && self.kind != Kind::Prehash {
            let client_key = pbkdf2::hmac(&*key, b"Client Key"); // step 6
            let stored_key = pbkdf2::sha256(&*client_key);
            let replaced = out.len().min(32);
            out[..replaced].copy_from_slice(&stored_key[..replaced]);
        }
        Ok(())
    }

    /// SMix for RW: `p` instances share V slice by slice, then each reads all of it.
    fn smix_rw(
        &self,
        secret: &mut Secret,
        b: &mut [SubBlock],
        v: &mut [SubBlock],
        scratch: &mut [SubBlock],
    ) -> Result<(), Error> {
        let (len, p, n) = (self.params.block_len(), self.params.p(), self.params.n());
        let v = &mut v[..n * len];
        let (sboxes, spare) = scratch.split_at_mut(p * self.params.sbox_len());
        let mut instances = Vec::new();
        let size = (p as u64).saturating_mul(size_of::<Instance<'_, '_>>() as u64);
        instances.try_reserve_exact(p).map_err(|_| Error::OutOfMemory { bytes: size })?;
        let chunk = (n / p) & !1;
        let mut rest = &mut *v;
        let sboxes = sboxes.chunks_exact_mut(self.params.sbox_len());
        for (i, (b, sboxes)) in b.chunks_exact_mut(len).zip(sboxes).enumerate() {
            let blocks = if i < p - 1 { chunk } else { rest.len() / len };
            let (slice, others) = rest.split_at_mut(blocks * len);
            rest = others;
            instances.push(Instance { b, v: slice, boxes: Boxes::new(sboxes), secret: None });
        }
        instances[0].secret = Some(secret);
        let work = RwWork::new(self);
        for_each(self.threads, &mut instances, spare, len, |instance, spare| {
            work.fill_slice(instance, spare);
        });
        if work.shared_loops == 0 {
            return Ok(());
        }
        // The barrier: from here on all of V is read by all.
        let mut readers: Vec<Reader<'_>> = Vec::new();
        readers.try_reserve_exact(p).map_err(|_| Error::OutOfMemory { bytes: size })?;
        readers.extend(instances.into_iter().map(|i| Reader { b: i.b, boxes: i.boxes }));
        let v = &*v;
        for_each(self.threads, &mut readers, spare, len, |reader, spare| {
            work.read_all(reader, v, spare);
        });
        Ok(())
    }

    /// SMix for classic and WORM: instances are independent, and reuse V within a thread.
    fn smix_each(&self, b: &mut [SubBlock], v: &mut [SubBlock], scratch: &mut [SubBlock]) {
        let (len, p, n) = (self.params.block_len(), self.params.p(), self.params.n());
        let kernel = dispatch::kernel::<1>(self.level, self.params.mode(), self.params.flavor());
        let mixer = Mixer { kernel, rom: None, rw: false };
        let loops = loop_count(self.params.loops(false).all);
        let per_thread = p.div_ceil(workers(self.threads, p));
        let work = b
            .chunks_mut(per_thread * len)
            .zip(v.chunks_exact_mut(n * len))
            .zip(scratch.chunks_exact_mut(len));
        in_threads(work, |((b, v), spare)| {
            for b in b.chunks_exact_mut(len) {
                let mut none = Boxes::new(&mut []);
                mixer.fill(&mut none, [&mut *b], [&mut *v]);
                mixer.mix_ro(&mut none, [[b], [&mut *spare]], [&*v], loops);
            }
        });
    }
}

/// Memory and state of one of the `p` instances of RW while V is divided.
struct Instance<'a, 'v> {
    b: &'a mut [SubBlock],
    /// Its slice of V.
    v: &'v mut [SubBlock],
    boxes: Boxes<'a>,
    /// In the first instance, what its S-box fill updates.
    secret: Option<&'a mut Secret>,
}

/// The same once V is shared.
struct Reader<'a> {
    b: &'a mut [SubBlock],
    boxes: Boxes<'a>,
}

/// What the instances of one RW pass do.
struct RwWork<'a> {
    sbox_fill: Mixer<'a, 1>,
    mixer: Mixer<'a, 1>,
    /// Second-loop steps with writes, on an instance's own slice.
    own_loops: u64,
    /// Second-loop steps without, on all of V.
    shared_loops: u64,
}

impl<'a> RwWork<'a> {
    fn new(pass: &Pass<'a>) -> Self {
        let flavor = pass.params.flavor();
        let salsa20: Kernel<1> = dispatch::salsa20_kernel(pass.level, flavor);
        let pwxform: Kernel<1> = dispatch::kernel(pass.level, Mode::Rw, flavor);
        let LoopCounts { all, rw } = pass.params.loops(pass.kind == Kind::RomInit);
        RwWork {
            sbox_fill: Mixer { kernel: salsa20, rom: None, rw: false },
            mixer: Mixer { kernel: pwxform, rom: pass.rom, rw: true },
            own_loops: loop_count(rw),
            shared_loops: loop_count(all.saturating_sub(rw)),
        }
    }

    /// Steps 3 to 10 of section 13 for one instance.
    fn fill_slice(&self, instance: &mut Instance<'_, '_>, spare: &mut [SubBlock]) {
        let Instance { b, v, boxes, secret } = instance;
        // Step 5: the fill sees the S-boxes as V and two sub-blocks, r = 1, of B as X.
        let sboxes = boxes.blocks_mut();
        self.sbox_fill.fill(&mut Boxes::new(&mut []), [&mut b[..2]], [sboxes]);
        if let Some(secret) = secret {
            // Step 7: with r = 1 these bytes are the fill's result.
            let key = zeroize::Zeroizing::new(b[b.len() - 1].to_bytes());
            **secret = pbkdf2::hmac(&*key, &***secret);
        }
        let addressed = p2floor(v.len() / b.len());
        self.mixer.fill(boxes, [&mut **b], [&mut **v]);
        self.mixer.mix_rw(boxes, [[b], [spare]], [v], addressed, self.own_loops);
    }

    /// Step 11 for one instance.
    fn read_all(&self, reader: &mut Reader<'_>, v: &[SubBlock], spare: &mut [SubBlock]) {
        let Reader { b, boxes } = reader;
        self.mixer.mix_ro(boxes, [[b], [spare]], [v], self.shared_loops);
    }
}

/// Counts are below 2^64 for checked parameters (check 10 of section 17), but for rounding up.
fn loop_count(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Runs `work` on each item, in `threads` threads, each with its own block of `spare`.
fn for_each<T: Send>(
    threads: usize,
    items: &mut [T],
    spare: &mut [SubBlock],
    len: usize,
    work: impl Fn(&mut T, &mut [SubBlock]) + Sync,
) {
    let share = items.len().div_ceil(workers(threads, items.len()));
    let shares = items.chunks_mut(share).zip(spare.chunks_exact_mut(len));
    in_threads(shares, |(items, spare)| {
        for item in items {
            work(item, &mut *spare);
        }
    });
}

/// Runs `work` on each piece, in as many threads as there are pieces (with `std`; a thread that cannot be had is done without).
#[cfg(feature = "std")]
fn in_threads<T: Send>(pieces: impl Iterator<Item = T> + Send, work: impl Fn(T) + Sync) {
    let threads = pieces.size_hint().0;
    let pieces = std::sync::Mutex::new(pieces);
    let next = || pieces.lock().ok().and_then(|mut pieces| pieces.next());
    let worker = || core::iter::from_fn(next).for_each(&work);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // What a missing thread would have done, the others do.
            let _ = std::thread::Builder::new().spawn_scoped(scope, worker);
        }
        worker();
    });
}

#[cfg(not(feature = "std"))]
fn in_threads<T: Send>(pieces: impl Iterator<Item = T> + Send, work: impl Fn(T) + Sync) {
    pieces.for_each(work);
}
