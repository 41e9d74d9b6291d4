//! One pass over memory (sections 13 and 14) for one hash or several of one shape: its two ends,
//! and the division of memory between them.
//!
//! A hash consists of `p` *instances*. Instances are independent while V is filled, so `K` of them,
//! of one hash or of several, advance together in one thread: a *group*. Groups of a pass are
//! spread over threads.

use alloc::vec::Vec;
use core::array;
use core::ops::Range;

use saltern_wipe::Zeroizing;

use crate::Error;
use crate::core::blockmix::{Boxes, MAX_LANES};
use crate::core::dispatch::{self, Target};
use crate::core::memory::SubBlock;
use crate::core::params::{CheckedParams, Mode, share};
use crate::core::pbkdf2::{self, Secret};
use crate::core::reading::Schedule;
use crate::core::smix::{Cursor, Lanes, Mixer, split};
use crate::core::threads;

/// The inputs of one hash, and the buffer for its output.
#[derive(Default)]
pub struct Derivation<'a> {
    /// The password.
    pub password: &'a [u8],
    /// The salt.
    pub salt: &'a [u8],
    /// The buffer for the result.
    pub out: &'a mut [u8],
}

impl core::fmt::Debug for Derivation<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Derivation { .. }")
    }
}

/// The kind of pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Main,
    Prehash,
    RomInit,
    /// Over a part of a ROM that is already filled: the first loop is skipped. Only in generation
    /// 0.5.
    RomAgain,
}

impl Kind {
    /// Whether V is the result.
    fn fills_rom(self) -> bool {
        matches!(self, Kind::RomInit | Kind::RomAgain)
    }
}

/// How many sub-blocks a pass needs.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// For V: N blocks for each hash where it is divided, and otherwise for each instance that is
    /// worked on at a time.
    pub(crate) v: usize,
    /// For B of all instances, their S-boxes, and spare blocks for each thread.
    pub(crate) scratch: usize,
}

impl Sizes {
    pub(crate) fn new(
        params: &CheckedParams,
        hashes: usize,
        threads: usize,
    ) -> Result<Self, Error> {
        let (len, instances) = (params.block_len(), params.p().checked_mul(hashes));
        let too_large = Error::OutOfMemory { bytes: u64::MAX };
        let instances = instances.ok_or(too_large)?;
        let lanes = lanes(params, hashes, instances);
        let workers = threads::useful(threads, instances);
        // Where V is not divided, instances take turns using V and the S-boxes.
        let (copies, boxes) = match params.divides() {
            true => (hashes, instances),
            false => (workers * lanes, workers * lanes),
        };
        let plan = || {
            let v = params.n().checked_mul(len)?.checked_mul(copies)?;
            let blocks = instances.checked_add(workers * lanes)?.checked_mul(len)?;
            let scratch = params.sbox_len().checked_mul(boxes)?.checked_add(blocks)?;
            v.checked_add(scratch)?;
            Some(Sizes { v, scratch })
        };
        plan().ok_or(too_large)
    }

    /// Sub-blocks of all.
    pub(crate) fn total(&self) -> usize {
        self.v + self.scratch
    }
}

/// How many of `instances`, of as many hashes, advance together. Where each needs all of V, at most
/// as many as there are hashes: one hash stays within its memory whatever its p.
fn lanes(params: &CheckedParams, hashes: usize, instances: usize) -> usize {
    let most = if params.divides() { instances } else { instances.min(hashes) };
    dispatch::lanes(params.mode(), most)
}

/// One pass: Body of section 14.
pub(crate) struct Pass<'a> {
    pub(crate) params: CheckedParams,
    pub(crate) kind: Kind,
    pub(crate) roms: Schedule<'a>,
    pub(crate) target: Target,
    pub(crate) threads: usize,
    /// Receives the progress of the fill, and decides whether it continues.
    pub(crate) watch: Option<&'a Watch<'a>>,
}

/// Called with the bytes mixed since the last call, by any thread; `false` ends the pass early, and
/// its result is then worthless.
pub(crate) type Watch<'a> = dyn Fn(u64) -> bool + Sync + 'a;

/// The approximate number of bytes that each instance mixes between two calls of a [`Watch`].
const WATCHED: usize = 1 << 20;

impl Pass<'_> {
    /// `v` and `scratch` are at least as long as [`Sizes`] says. At most [`MAX_LANES`] inputs.
    pub(crate) fn run(
        &self,
        inputs: &mut [Derivation<'_>],
        [v, scratch]: [&mut [SubBlock]; 2],
    ) -> Result<(), Error> {
        let own = self.params.p() * self.params.block_len();
        let mut secrets: [Secret; MAX_LANES] = Default::default();
        let secrets = &mut secrets[..inputs.len()];
        let (b, scratch) = scratch.split_at_mut(inputs.len() * own);
        for ((input, b), secret) in inputs.iter().zip(b.chunks_exact_mut(own)).zip(&mut *secrets) {
            self.open(input, b, secret);
        }
        match self.params.divides() {
            true => self.smix_divided(secrets, b, v, scratch)?,
            false => self.smix_each(b, v, scratch)?,
        }
        for ((input, b), secret) in inputs.iter_mut().zip(b.chunks_exact(own)).zip(secrets) {
            let Derivation { password, salt, out } = input;
            self.close(Derivation { password, salt, out }, b, secret);
        }
        Ok(())
    }

    /// Steps 1 to 3: fills B and the secret.
    pub(crate) fn open(&self, input: &Derivation<'_>, b: &mut [SubBlock], secret: &mut Secret) {
        let Derivation { password, salt, .. } = *input;
        let key = match (self.params.mode(), self.kind) {
            (Mode::Classic, _) => return pbkdf2::fill(password, salt, b),
            (Mode::Escrypt(_), _) if self.params.plain() => return pbkdf2::fill(password, salt, b),
            (Mode::Escrypt(_), _) => pbkdf2::sha256(password),
            (_, Kind::Prehash) => pbkdf2::hmac(b"yescrypt-prehash", password),
            _ => pbkdf2::hmac(b"yescrypt", password),
        };
        pbkdf2::fill(&*key, salt, b);
        let first = Zeroizing::new(b[0].to_bytes());
        secret.copy_from_slice(&first[..32]);
    }

    /// Steps 5 and 6: from B to the output.
    pub(crate) fn close(&self, input: Derivation<'_>, b: &[SubBlock], secret: &Secret) {
        let Derivation { password, out, .. } = input;
        let stored = |key: &[u8]| pbkdf2::sha256(&*pbkdf2::hmac(key, b"Client Key"));
        match self.params.mode() {
            Mode::Classic => drop(pbkdf2::extract(password, b, out)),
            Mode::Escrypt(_) if self.params.plain() => drop(pbkdf2::extract(password, b, out)),
            Mode::Escrypt(_) => {
                let key = pbkdf2::extract(&**secret, b, out);
                // Other lengths are not hashed again.
                if out.len() == 32 {
                    out.copy_from_slice(&*stored(&*key));
                }
            }
            Mode::Worm | Mode::Rw => {
                let key = pbkdf2::extract(&**secret, b, out);
                if self.kind != Kind::Prehash {
                    let replaced = out.len().min(32);
                    out[..replaced].copy_from_slice(&stored(&*key)[..replaced]);
                }
            }
        }
    }

    /// SMix where V is divided (section 13): the instances of a hash share its V slice by slice,
    /// then each reads all of it.
    fn smix_divided(
        &self,
        secrets: &mut [Secret],
        b: &mut [SubBlock],
        v: &mut [SubBlock],
        scratch: &mut [SubBlock],
    ) -> Result<(), Error> {
        let (len, p, n) = (self.params.block_len(), self.params.p(), self.params.n());
        let instances = p * secrets.len();
        let v = &mut v[..secrets.len() * n * len];
        let (sboxes, spare) = scratch.split_at_mut(instances * self.params.sbox_len());
        let mut b = list(instances, b.chunks_exact_mut(len))?;
        self.begin(secrets, &mut b, sboxes);
        let [own_loops, shared_loops] = self.params.loops(self.kind.fills_rom());
        let mut rest = &mut *v;
        let own = |index| rest.split_off_mut(..slice(index % p, n, p).1 * len);
        let mut slices = list(instances, (0..instances).map_while(own))?;
        // Another thread gains more than advancing instances together.
        let each = instances.div_ceil(threads::useful(self.threads, instances));
        let together = |alike: usize| dispatch::lanes(self.params.mode(), alike.min(each));
        let mut rest = (&mut b[..], &mut slices[..], sboxes);
        let writers = groups(&self.params, instances, together)
            .map(|group| Group::split_off(group, self.params.sbox_len(), &mut rest));
        let mut writers = list(instances, writers)?;
        spread(&mut writers, spare, self.threads, |group, spare| {
            let mixer = self.mixer(group.x.len());
            // Without a watch, each loop is one piece.
            let told = |bytes| self.watch.is_none_or(|watch| watch(bytes));
            let piece = if self.watch.is_some() { WATCHED } else { usize::MAX };
            if self.kind == Kind::RomAgain {
                let Group { x, v, boxes, .. } = group;
                mixer.mix(boxes, (x, spare), v, own_loops, &mut Cursor::default());
                return;
            }
            fill_and_mix(&mixer, group, spare, own_loops, (piece, &told));
        });
        if shared_loops == 0 {
            return Ok(());
        }
        // From here on all of a hash's V is read by all of its instances.
        let mut readers = list(writers.len(), writers.into_iter().map(Group::into_reader))?;
        let v = &*v;
        spread(&mut readers, spare, self.threads, |group, spare| {
            let lanes = group.x.len();
            let mut v = shared(v, n * len, (group.first, lanes), p);
            let mixer = self.mixer(lanes);
            let (blocks, cursor) = ((&mut *group.x, spare), &mut Cursor::default());
            mixer.mix(&mut group.boxes, blocks, &mut v[..lanes], shared_loops, cursor);
        });
        Ok(())
    }

    /// Steps 5 to 7 of section 13, for the instances of all hashes.
    pub(crate) fn begin(
        &self,
        secrets: &mut [Secret],
        b: &mut [&mut [SubBlock]],
        sboxes: &mut [SubBlock],
    ) {
        self.fill_sboxes(b, sboxes);
        if self.params.mode() != Mode::Rw {
            return;
        }
        for (secret, b) in secrets.iter_mut().zip(b.iter().step_by(self.params.p())) {
            // Step 7 comes after the fill, which with r = 1 has changed these bytes.
            let key = Zeroizing::new(b[b.len() - 1].to_bytes());
            *secret = pbkdf2::hmac(&*key, &**secret);
        }
    }

    /// Section 13 step 5: the fill sees the S-boxes as V, and the first two sub-blocks of B, r = 1,
    /// as X. In generation 0.5 it reads V and the ROM as any first loop does, with blocks of 128
    /// bytes from the start of the ROM.
    fn fill_sboxes(&self, b: &mut [&mut [SubBlock]], sboxes: &mut [SubBlock]) {
        let size = self.params.sbox_len();
        if size == 0 {
            return;
        }
        let (rw, roms) = match self.params.mode() {
            Mode::Escrypt(flags) => (flags.rw, self.roms),
            _ => (false, Schedule::default()),
        };
        let mut rest = (b, sboxes);
        while !rest.0.is_empty() {
            let lanes = dispatch::lanes(Mode::Classic, rest.0.len());
            let (b, others) = rest.0.split_at_mut(lanes);
            let (sboxes, other_sboxes) = rest.1.split_at_mut(lanes * size);
            rest = (others, other_sboxes);
            let mut x: Lanes<'_> = Default::default();
            for (x, b) in x.iter_mut().zip(b) {
                *x = &mut b[..2];
            }
            let mut v = split(sboxes, size);
            let kernel = dispatch::salsa20_kernel(self.target.level, self.params.flavor(), lanes);
            let mixer = Mixer { kernel, roms, rw, supplied: &[], pen: None };
            let cursor = &mut Cursor::default();
            mixer.fill(&mut Boxes::none(), &mut x[..lanes], &mut v[..lanes], cursor);
        }
    }

    /// SMix where V is not divided: instances are independent, and reuse V within a thread. At most
    /// as many advance together as there are hashes: each needs its own V, and one hash takes no
    /// more memory than its parameters imply.
    fn smix_each(
        &self,
        b: &mut [SubBlock],
        v: &mut [SubBlock],
        scratch: &mut [SubBlock],
    ) -> Result<(), Error> {
        let (len, n, size) = (self.params.block_len(), self.params.n(), self.params.sbox_len());
        let instances = b.len() / len;
        let hashes = instances / self.params.p();
        let lanes = lanes(&self.params, hashes, instances);
        let shares = threads::useful(self.threads, instances.div_ceil(lanes));
        let mut b = list(instances, b.chunks_exact_mut(len))?;
        let share = instances.div_ceil(shares).next_multiple_of(lanes);
        let work = b.chunks_mut(share).zip(v.chunks_exact_mut(lanes * n * len));
        let work = work.zip(scratch.chunks_exact_mut(lanes * (size + len)));
        let [writing, reading] = self.params.loops(self.kind.fills_rom());
        threads::for_each(work, |((mut b, v), scratch)| {
            let (sboxes, spare) = scratch.split_at_mut(lanes * size);
            while !b.is_empty() {
                let lanes = self::lanes(&self.params, hashes, b.len());
                let (x, others) = b.split_at_mut(lanes);
                b = others;
                let mut v = split(&mut *v, n * len);
                let mut spare = split(&mut *spare, len);
                let (v, spare) = (&mut v[..lanes], &mut spare[..lanes]);
                self.fill_sboxes(x, &mut sboxes[..lanes * size]);
                let boxes = &mut Boxes::new(&mut sboxes[..lanes * size]);
                let mixer = self.mixer(lanes);
                mixer.fill(boxes, x, v, &mut Cursor::default());
                mixer.mix(boxes, (&mut *x, &mut *spare), v, writing, &mut Cursor::default());
                let mut v: [&[SubBlock]; MAX_LANES] =
                    array::from_fn(|k| v.get(k).map_or(&[][..], |v| &**v));
                mixer.mix(boxes, (x, spare), &mut v[..lanes], reading, &mut Cursor::default());
            }
        });
        Ok(())
    }

    pub(crate) fn mixer(&self, lanes: usize) -> Mixer<'_> {
        let (mode, flavor) = (self.params.mode(), self.params.flavor());
        let kernel = dispatch::kernel(self.target, mode, flavor, lanes);
        Mixer { kernel, roms: self.roms, rw: mode.rw(), supplied: &[], pen: None }
    }
}

/// The loops of one group up to the shared one, in pieces of about this many bytes, until `told`
/// returns `false` for one.
fn fill_and_mix(
    mixer: &Mixer<'_>,
    group: &mut Group<'_, '_>,
    spare: &mut [&mut [SubBlock]],
    loops: u64,
    (piece, told): (usize, &dyn Fn(u64) -> bool),
) {
    let Group { x, v, boxes, .. } = group;
    let (lanes, len) = (x.len(), x[0].len());
    let steps = piece.div_ceil(len * SubBlock::BYTES) as u64;
    let told = |steps: u64| told(steps * (lanes * len * SubBlock::BYTES) as u64);
    let (mut cursor, n) = (Cursor::default(), (v[0].len() / len) as u64);
    while cursor.step < n {
        let start = cursor.pause_after(steps);
        mixer.fill(boxes, x, v, &mut cursor);
        if !told(cursor.step - start) {
            return;
        }
    }
    let mut cursor = Cursor::default();
    while cursor.step < loops {
        let start = cursor.pause_after(steps);
        mixer.mix(boxes, (&mut **x, &mut *spare), v, loops, &mut cursor);
        if !told(cursor.step - start) {
            return;
        }
    }
}

/// Memory and state of instances that advance together.
pub(crate) struct Group<'a, 'v> {
    /// The index of the first of them in the pass.
    pub(crate) first: usize,
    /// Their blocks of B.
    pub(crate) x: &'a mut [&'a mut [SubBlock]],
    /// Their slices of V while it is divided.
    pub(crate) v: &'v mut [&'v mut [SubBlock]],
    pub(crate) boxes: Boxes<'a>,
}

/// The blocks of B, the slices of V and the S-boxes of some instances.
type Rest<'a, 'v> =
    (&'a mut [&'a mut [SubBlock]], &'v mut [&'v mut [SubBlock]], &'a mut [SubBlock]);

impl<'a, 'v> Group<'a, 'v> {
    /// The group of the next instances, whose S-boxes have `size` sub-blocks each.
    fn split_off(group: Range<usize>, size: usize, (b, v, sboxes): &mut Rest<'a, 'v>) -> Self {
        let lanes = group.len();
        let sboxes = sboxes.split_off_mut(..lanes * size).unwrap_or_default();
        Group {
            first: group.start,
            x: b.split_off_mut(..lanes).unwrap_or_default(),
            v: v.split_off_mut(..lanes).unwrap_or_default(),
            boxes: Boxes::new(sboxes),
        }
    }

    /// This group once V is shared, so that it only reads.
    pub(crate) fn into_reader(self) -> Group<'a, 'static> {
        Group { first: self.first, x: self.x, v: &mut [], boxes: self.boxes }
    }
}

/// Cuts the instances of a pass that divides V into groups whose slices have the same length.
/// `lanes` returns how many of a number of equal instances advance together.
pub(crate) fn groups(
    params: &CheckedParams,
    instances: usize,
    lanes: impl Fn(usize) -> usize,
) -> impl Iterator<Item = Range<usize>> {
    let (n, p) = (params.n(), params.p());
    let blocks = move |instance: usize| slice(instance % p, n, p).1;
    let mut next = 0;
    core::iter::from_fn(move || {
        // No further than a group can reach, so that the work stays linear in p.
        let within = next..instances.min(next + MAX_LANES);
        let alike = within.take_while(|other| blocks(*other) == blocks(next)).count();
        let first = next;
        next += if alike == 0 { 0 } else { lanes(alike) };
        (alike > 0).then_some(first..next)
    })
}

/// Does `work` on each group, in as many threads as allowed, with a spare block for each lane.
pub(crate) fn spread<'v>(
    groups: &mut [Group<'_, 'v>],
    spare: &mut [SubBlock],
    threads: usize,
    work: impl Fn(&mut Group<'_, 'v>, &mut [&mut [SubBlock]]) + Sync,
) {
    let len = groups.first().map_or(1, |group| group.x[0].len());
    let lanes = groups.iter().map(|group| group.x.len()).max().unwrap_or(1);
    let share = groups.len().div_ceil(threads::useful(threads, groups.len()));
    let shares = groups.chunks_mut(share).zip(spare.chunks_exact_mut(lanes * len));
    threads::for_each(shares, |(groups, spare)| {
        for group in groups {
            let mut spare = split(spare, len);
            let lanes = group.x.len();
            work(group, &mut spare[..lanes]);
        }
    });
}

/// The first block and the number of blocks that instance `index` of a hash fills: even numbers,
/// the last taking what is left.
pub(crate) fn slice(index: usize, n: usize, p: usize) -> (usize, usize) {
    let chunk = share(n as u64, p as u64) as usize;
    let start = index * chunk;
    (start, if index + 1 == p { n - start } else { chunk })
}

/// For each lane of a group that begins with instance `first`, the V of its hash, of `len`
/// sub-blocks each. Lanes beyond the group's are ignored.
pub(crate) fn shared(
    v: &[SubBlock],
    len: usize,
    (first, lanes): (usize, usize),
    p: usize,
) -> [&[SubBlock]; MAX_LANES] {
    array::from_fn(|k| &v[(first + k.min(lanes - 1)) / p * len..][..len])
}

/// A list of at most `limit` items, allocated fallibly.
pub(crate) fn list<T>(limit: usize, items: impl Iterator<Item = T>) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    let bytes = (limit as u64).saturating_mul(size_of::<T>() as u64);
    list.try_reserve_exact(limit).map_err(|_| Error::OutOfMemory { bytes })?;
    list.extend(items.take(limit));
    Ok(list)
}
