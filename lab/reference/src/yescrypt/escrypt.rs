//! escrypt, or yescrypt 0.5: what differs from 1.1, from its own specification, whose sections the
//! comments name.

use sha2::{Digest, Sha256};

use super::mix::{block_of, image_of, p2floor, salsa_from, xor};
use super::params::MAX_MEMORY;
use super::smix::second_loop;
use super::text::{Reader, put_bytes, put_fixed30};
use super::{
    Block, Reject, TOO_LARGE, blockmix_salsa, bytes_from_lanes, hmac, integerify, lanes_from_bytes,
    pbkdf2, wrap,
};

/// Flag of section 1.
pub const RW: u32 = 1;
/// Flag of section 1.
pub const PARALLEL_SMIX: u32 = 2;
/// Flag of section 1.
pub const PWXFORM: u32 = 4;

/// The constants of section 3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// S_BITS: log2 of the entries of a box.
    pub bits: u32,
    /// S_SIMD: lanes of an entry.
    pub simd: u32,
    /// S_P: groups.
    pub groups: u32,
    /// S_ROUNDS.
    pub rounds: u32,
    /// Rounds of Salsa20.
    pub salsa: u32,
}

impl Tuning {
    /// The constants of the release.
    pub const DEFAULT: Tuning = Tuning { bits: 8, simd: 2, groups: 4, rounds: 6, salsa: 8 };

    fn box_lanes(&self) -> usize {
        (self.simd as usize) << self.bits
    }

    fn min_r(&self) -> u32 {
        (self.groups * self.simd).div_ceil(16)
    }
}

/// The parameters of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// A sum of [`RW`], [`PARALLEL_SMIX`] and [`PWXFORM`].
    pub flags: u32,
    /// Blocks of memory.
    pub n: u64,
    /// Block size in units of 128 bytes.
    pub r: u32,
    /// Parallelism.
    pub p: u32,
    /// Time.
    pub t: u32,
    /// Constants.
    pub tuning: Tuning,
}

impl Params {
    /// The default tuning with p = 1 and t = 0.
    #[must_use]
    pub fn new(flags: u32, n: u64, r: u32) -> Params {
        Params { flags, n, r, p: 1, t: 0, tuning: Tuning::DEFAULT }
    }

    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Section 2, what is refused, in its order; the flags as they count.
    fn check(&self, length: u64) -> Result<Params, Reject> {
        let mut params = self.clone();
        // section 1
        if params.p == 1 {
            params.flags &= !PARALLEL_SMIX;
        }
        let Params { flags, n, r, p, t, ref tuning } = params;
        if flags & !7 != 0 {
            return Err(Reject("unknown flag"));
        }
        if length > 32 * 0xffff_ffff || u64::from(r) * u64::from(p) >= 1 << 30 {
            return Err(Reject("L or r * p is too large"));
        }
        if n < 2 || !n.is_power_of_two() || r == 0 || p == 0 {
            return Err(Reject("N, r or p"));
        }
        if flags & PARALLEL_SMIX != 0 && n / u64::from(p) < 2 {
            return Err(Reject("N / p is below 2"));
        }
        if flags & PWXFORM != 0 && r < tuning.min_r() {
            return Err(Reject("r is too small for the tuning"));
        }
        let bytes = 128 * u128::from(r) * (u128::from(n) + u128::from(p));
        if 128 * u128::from(r) * u128::from(n) > u128::from(u64::MAX) {
            return Err(Reject("128 * r * N does not fit 64 bits"));
        }
        if n > u64::MAX / (u64::from(t) + 1) {
            return Err(Reject("N * (t + 1) does not fit 64 bits"));
        }
        if bytes > MAX_MEMORY || u128::from(length) > MAX_MEMORY {
            return Err(TOO_LARGE);
        }
        Ok(params)
    }
}

/// A ROM's memory image, and the mask that says when it is read (4, 5).
#[derive(Clone)]
pub struct Rom {
    /// Shuffled lanes, little-endian.
    pub image: Vec<u8>,
    /// The access frequency mask.
    pub mask: u64,
}

/// What a pass of the ROM initialisation does with V (7).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Init {
    No,
    Fill,
    /// V is there, the first loop is left out.
    Again,
}

/// The block mix: 3 with a box, Y 5 without.
fn blockmix(block: &[u64], sbox: Option<&[u64]>, tuning: &Tuning) -> Block {
    let Some(sbox) = sbox else { return blockmix_salsa(block, tuning.salsa) };
    let simd = tuning.simd as usize;
    let lanes = tuning.groups as usize * simd;
    let mask = ((1u32 << tuning.bits) - 1) * tuning.simd * 8;
    let (s0, s1) = sbox.split_at(tuning.box_lanes());
    let groups = block.len() / lanes;
    let mut out = block.to_vec();
    let mut x = out[(groups - 1) * lanes..groups * lanes].to_vec();
    for i in 0..groups {
        // The XOR is always done.
        x = xor(&x, &out[i * lanes..(i + 1) * lanes]);
        for _ in 0..tuning.rounds {
            for group in x.chunks_exact_mut(simd) {
                let p0 = (group[0] as u32 & mask) as usize / 8;
                let p1 = ((group[0] >> 32) as u32 & mask) as usize / 8;
                for (k, lane) in group.iter_mut().enumerate() {
                    let product = (*lane >> 32) * (*lane & 0xffff_ffff);
                    *lane = product.wrapping_add(s0[p0 + k]) ^ s1[p1 + k];
                }
            }
        }
        out[i * lanes..(i + 1) * lanes].copy_from_slice(&x);
    }
    salsa_from(&mut out, (groups - 1) * lanes / 8, tuning.salsa);
    out
}

/// What the loops need beside the block and the memory.
struct Loop<'a> {
    tuning: &'a Tuning,
    rw: bool,
    rom: Option<&'a Rom>,
    nrom: u64,
    sbox: Option<&'a [u64]>,
}

impl Loop<'_> {
    /// The ROM block for `x`, if step `i` reads one under `mask`.
    fn rom_block(&self, i: u64, mask: impl Fn(u64) -> u64, x: &[u64]) -> Option<Block> {
        let rom = self.rom.filter(|rom| i & mask(rom.mask) == 1)?;
        Some(block_of(&rom.image, integerify(x) & (self.nrom - 1), x.len()))
    }

    /// The first loop (4).
    fn first(&self, block: &mut [u8], n: usize) -> Vec<Block> {
        let mut memory: Vec<Block> = Vec::new();
        let mut x = lanes_from_bytes(block);
        for i in 0..n {
            memory.push(x.clone());
            if let Some(rom) = self.rom_block(i as u64, |mask| mask, &x) {
                x = xor(&x, &rom);
            } else if self.rw && i > 1 {
                x = xor(&x, &memory[wrap(integerify(&x), i)]);
            }
            x = blockmix(&x, self.sbox, self.tuning);
        }
        block.copy_from_slice(&bytes_from_lanes(&x));
        memory
    }

    /// The second loop (5) over a power of two of blocks.
    fn second(&self, block: &mut [u8], count: u64, memory: &mut [Block]) {
        let mut x = lanes_from_bytes(block);
        for i in 0..count {
            if let Some(rom) = self.rom_block(i, |mask| mask | 1, &x) {
                x = xor(&x, &rom);
            } else {
                let v = &mut memory[(integerify(&x) & (memory.len() as u64 - 1)) as usize];
                x = xor(&x, v);
                if self.rw {
                    v.clone_from(&x);
                }
            }
            x = blockmix(&x, self.sbox, self.tuning);
        }
        block.copy_from_slice(&bytes_from_lanes(&x));
    }
}

/// The loop counts (6) of one SMix over `p` slices: of all steps, and of those that write.
fn loop_counts(params: &Params, p: u64, init: Init) -> [u64; 2] {
    let (n, t) = (params.n / p, u64::from(params.t));
    let all = second_loop(params.has(RW), n, t);
    let writing = match init {
        Init::Fill | Init::Again => all,
        Init::No if params.has(RW) => all / p,
        Init::No => 0,
    };
    [all + all % 2, writing - writing % 2]
}

/// SMix05 (6) on blocks that share `memory`, which is read only if they are to fill it again.
fn smix(
    blocks: &mut [Vec<u8>],
    params: &Params,
    rom: Option<(&Rom, u64)>,
    init: Init,
    memory: &mut Vec<Block>,
) {
    let tuning = &params.tuning;
    let p = blocks.len();
    let [all, writing] = loop_counts(params, p as u64, init);
    let mut rest = std::mem::take(memory);
    let mut boxes = Vec::new();
    let rw = params.has(RW);
    let (rom, nrom) = (rom.map(|rom| rom.0), rom.map_or(0, |rom| rom.1));
    for (i, block) in blocks.iter_mut().enumerate() {
        let chunk = (params.n as usize / p) & !1;
        let n = if i + 1 < p { chunk } else { params.n as usize - memory.len() };
        let mut sbox = None;
        if params.has(PWXFORM) {
            // RW and the ROM take part here too.
            let filling = Loop { tuning, rw, rom, nrom, sbox: None };
            sbox = Some(filling.first(&mut block[..128], 2 * tuning.box_lanes() / 16).concat());
        }
        let loops = Loop { tuning, rw, rom, nrom, sbox: sbox.as_deref() };
        let mut slice = match init {
            Init::Again => rest.drain(..n).collect(),
            _ => loops.first(block, n),
        };
        loops.second(block, writing, &mut slice[..p2floor(n)]);
        memory.append(&mut slice);
        boxes.push(sbox);
    }
    for (block, sbox) in blocks.iter_mut().zip(&boxes) {
        let loops = Loop { tuning, rw: false, rom, nrom, sbox: sbox.as_deref() };
        loops.second(block, all - writing, memory);
    }
}

/// The KDF (2) with V as it leaves it.
fn call(
    [password, salt]: [&[u8]; 2],
    params: &Params,
    rom: Option<&Rom>,
    (init, mut memory): (Init, Vec<Block>),
    length: u64,
) -> Result<(Vec<u8>, Vec<Block>), Reject> {
    let params = &params.check(length)?;
    let size = 128 * params.r as usize;
    let rom = match rom {
        None => None,
        Some(rom) => {
            let nrom = (rom.image.len() / size) as u64;
            if nrom < 2 || !nrom.is_power_of_two() || !params.has(RW) {
                return Err(Reject("NROM, or a ROM without RW"));
            }
            Some((rom, nrom))
        }
    };
    let plain = params.flags == 0 && params.t == 0;
    // step 1
    let mut password = password.to_vec();
    if !plain {
        password = Sha256::digest(&password).to_vec();
    }
    // step 2
    let raw = pbkdf2(&password, salt, size * params.p as usize);
    // step 3
    if !plain {
        password = raw[..32].to_vec();
    }
    // step 4
    let mut blocks: Vec<Vec<u8>> = raw.chunks_exact(size).map(<[u8]>::to_vec).collect();
    if params.has(PARALLEL_SMIX) {
        smix(&mut blocks, params, rom, init, &mut memory);
    } else {
        for i in 0..blocks.len() {
            if init != Init::Again {
                memory.clear();
            }
            smix(&mut blocks[i..=i], params, rom, init, &mut memory);
        }
    }
    // step 5
    let mut out = pbkdf2(&password, &blocks.concat(), length as usize);
    // step 6
    if !plain && length == 32 {
        out = Sha256::digest(hmac(&out, b"Client Key")).to_vec();
    }
    Ok((out, memory))
}

/// The KDF (2).
///
/// # Errors
/// [`Reject`] for what section 2 refuses, a ROM that does not fit, or more than
/// [`MAX_MEMORY`] bytes.
pub fn kdf(
    password: &[u8],
    salt: &[u8],
    params: &Params,
    rom: Option<&Rom>,
    length: u64,
) -> Result<Vec<u8>, Reject> {
    Ok(call([password, salt], params, rom, (Init::No, Vec::new()), length)?.0)
}

/// Fills a ROM of `n` blocks (7): its image and its digest. Of the tuning only Salsa20's rounds
/// matter.
///
/// # Errors
/// [`Reject`] for what one of the passes refuses.
pub fn rom_init(
    seed: &[u8],
    (n, r, p): (u64, u32, u32),
    tuning: &Tuning,
    length: u64,
) -> Result<(Vec<u8>, Vec<u8>), Reject> {
    let flags = RW | PARALLEL_SMIX;
    let whole = Params { p, tuning: tuning.clone(), ..Params::new(flags, n, r) };
    let half = Params { n: n / 2, ..whole.clone() };
    let rom = |memory: &[Block]| Rom { image: image_of(memory), mask: 1 };
    // step 1
    let start = (Init::Fill, Vec::new());
    let (mut d, mut lower) = call([seed, b""], &whole, None, start, 32)?;
    let mut upper = lower.split_off(n as usize / 2);
    // step 2
    if p > 1 {
        let again = (Init::Again, upper);
        (d, upper) = call([seed, &d], &half, Some(&rom(&lower)), again, 32)?;
    }
    // step 3
    let start = (Init::Fill, Vec::new());
    (d, lower) = call([seed, &d], &half, Some(&rom(&upper)), start, 32)?;
    // step 4
    let start = (Init::Fill, Vec::new());
    (d, upper) = call([seed, &d], &half, Some(&rom(&lower)), start, length)?;
    Ok(([image_of(&lower), image_of(&upper)].concat(), d))
}

/// A parsed setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The parameters.
    pub params: Params,
    /// Where the salt starts in the text.
    pub salt_start: usize,
    /// The salt: the characters themselves.
    pub salt: Vec<u8>,
}

/// Parses a `$7$` or `$7X` setting (8); a complete hash serves as one.
///
/// # Errors
/// [`Reject`] if the text is malformed.
pub fn parse_setting(text: &[u8]) -> Result<Setting, Reject> {
    let rest = text.strip_prefix(b"$7").ok_or(Reject("the string does not start with $7"))?;
    let mut reader = Reader { rest };
    let mut flags = 0;
    if let Some(rest) = reader.rest.strip_prefix(b"X") {
        reader.rest = rest;
        flags = RW;
        if reader.rest.first() != Some(&b'$') {
            flags = reader.digit()?;
        }
    }
    if !reader.separator() {
        return Err(Reject("no $ after the flags"));
    }
    let n = 1 << reader.digit()?;
    let r = reader.fixed30()?;
    let params = Params { p: reader.fixed30()?, ..Params::new(flags, n, r) };
    let salt_start = text.len() - reader.rest.len();
    let end = reader.rest.iter().rposition(|&c| c == b'$').unwrap_or(reader.rest.len());
    Ok(Setting { params, salt_start, salt: reader.rest[..end].to_vec() })
}

/// The complete hash of a password under a setting (8).
///
/// # Errors
/// [`Reject`] if the setting is malformed or the KDF refuses it.
pub fn crypt(password: &[u8], setting: &[u8], rom: Option<&Rom>) -> Result<Vec<u8>, Reject> {
    let Setting { params, salt_start, salt } = parse_setting(setting)?;
    let hash = kdf(password, &salt, &params, rom, 32)?;
    Ok([&setting[..salt_start], &salt, b"$", &put_bytes(&hash)].concat())
}

/// Writes a setting (8).
///
/// # Errors
/// [`Reject`] if a number cannot be written.
pub fn gensalt(
    log2_n: u32,
    (r, p): (u32, u32),
    flags: u32,
    salt: &[u8],
) -> Result<Vec<u8>, Reject> {
    let flags = if p == 1 { flags & !PARALLEL_SMIX } else { flags };
    if flags > 63 || log2_n > 63 || u64::from(r) * u64::from(p) >= 1 << 30 {
        return Err(Reject("flags, N, r or p"));
    }
    if r.max(p) >= 1 << 30 {
        return Err(Reject("r or p has more than 30 bits"));
    }
    let mut out = b"$7".to_vec();
    if flags != 0 {
        out.push(b'X');
    }
    if flags > RW {
        out.push(super::text::digit(flags));
    }
    out.push(b'$');
    out.push(super::text::digit(log2_n));
    put_fixed30(&mut out, r);
    put_fixed30(&mut out, p);
    out.extend_from_slice(&put_bytes(salt));
    Ok(out)
}
