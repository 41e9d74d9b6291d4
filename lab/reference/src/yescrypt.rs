//! yescrypt, format revision 1.1, and classic scrypt, step by step.
//!
//! Numbers in comments ("13 step 5") are sections and steps of the specification that this follows:
//!
//! | section | subject | here |
//! |---|---|---|
//! | 2 – 9 | hash helpers, word order, Salsa20, pwxform, block mixes, index helpers | `mix` |
//! | 10 – 13 | the two loops, loop counts, SMix | `smix` |
//! | 14, 15 | one pass, the KDF with its pre-hash | this file |
//! | 16, 17 | flags, checks | `params` |
//! | 18 | ROM | `rom` |
//! | 19 – 23 | base-64, `$y$`, `$7$`, hash encryption, settings from a cost number | `text`, `encrypt` |
//! | 25 | other tunings | [`Tuning`] |
//!
//! The generation 0.5 is in [`escrypt`].
//!
//! ```
//! use saltern_reference::yescrypt::{kdf, Params};
//! let params = Params { n: 16, r: 8, t: 10, ..Params::rw() };
//! let key = kdf(b"p", b"s", &params, None, 8)?;
//! assert_eq!(key, [0xe1, 0xf9, 0x81, 0x73, 0x3a, 0x94, 0x05, 0x2f]);
//! # Ok::<(), saltern_reference::yescrypt::Reject>(())
//! ```

mod encrypt;
pub mod escrypt;
mod mix;
mod params;
mod rom;
mod smix;
mod text;

pub use encrypt::{Direction, feistel};
pub use mix::{
    Block, Boxes, blockmix_pwxform, blockmix_salsa, bytes_from_lanes, integerify, lanes_from_bytes,
    pwxform, salsa20, wrap,
};
pub use params::{FLAVOUR, MAX_MEMORY, Params, RW_DEFAULT, Reject, TOO_LARGE, Tuning};
pub use rom::{Rom, rom_init};
pub use smix::{LoopCounts, RomPlan, fill_boxes, loop_counts};
pub use text::{Setting, crypt, encode_setting, gensalt, parse_setting, reencrypt};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use params::PREHASH;
use smix::{Smix, smix};

/// The KDF (15): `length` bytes from a password and a salt.
///
/// # Errors
/// [`Reject`] if a check of section 17 refuses the parameters, or if they need more than
/// [`MAX_MEMORY`] bytes.
pub fn kdf(
    password: &[u8],
    salt: &[u8],
    params: &Params,
    rom: Option<&Rom>,
    length: u64,
) -> Result<Vec<u8>, Reject> {
    // 15 step 1
    params.check(rom, length)?;
    let length = usize::try_from(length).map_err(|_| TOO_LARGE)?;
    let plan = rom.map(|rom| nested(params, rom.image()));
    Ok(both_passes(password, salt, params, plan.as_slice(), length))
}

/// The KDF with any list of ROMs; `params.nrom` is 0.
///
/// # Errors
/// Those of [`kdf`]; for an image that is not a power of two of blocks, or without a tag.
pub fn kdf_with_roms(
    password: &[u8],
    salt: &[u8],
    params: &Params,
    roms: &[RomPlan<'_>],
    length: u64,
) -> Result<Vec<u8>, Reject> {
    params.check(None, length)?;
    for plan in roms {
        let rom = Rom::new(plan.image.to_vec());
        let nrom = (plan.image.len() / (128 * params.r as usize)) as u64;
        Params { nrom, ..params.clone() }.check(Some(&rom), length)?;
    }
    let length = usize::try_from(length).map_err(|_| TOO_LARGE)?;
    Ok(both_passes(password, salt, params, roms, length))
}

/// The one ROM of yescrypt 1.1: the first blocks of an image.
fn nested<'a>(params: &Params, image: &'a [u8]) -> RomPlan<'a> {
    let image = &image[..128 * params.r as usize * params.nrom as usize];
    RomPlan { image, fill_mask: 1, mix_mask: 1, look_ahead: 0 }
}

/// 15 steps 2 and 3.
fn both_passes(
    password: &[u8],
    salt: &[u8],
    params: &Params,
    roms: &[RomPlan<'_>],
    length: usize,
) -> Vec<u8> {
    // 15 step 2
    let share = params.n / u64::from(params.p);
    let mut password = password.to_vec();
    if params.is_rw() && share >= 256 && share * u64::from(params.r) >= 131_072 {
        let pre =
            Params { flags: params.flags | PREHASH, n: params.n >> 6, t: 0, ..params.clone() };
        password = pass(&password, salt, &pre, roms, 32).output;
    }
    // 15 step 3
    pass(&password, salt, params, roms, length).output
}

/// Everything that one pass computed on its way; what is not the output is for tests.
#[derive(Clone)]
pub struct Pass {
    /// The password after 14 step 1.
    pub password: Vec<u8>,
    /// All blocks after 14 step 2.
    pub blocks_before: Vec<u8>,
    /// RW: the secret after 14 step 4.
    pub secret: Vec<u8>,
    /// The memory as 14 step 4 left it (of the last block for classic and WORM), in shuffled order.
    pub memory: Vec<Block>,
    /// All blocks after 14 step 4.
    pub blocks_after: Vec<u8>,
    /// The derived bytes before 14 step 6.
    pub derived: Vec<u8>,
    /// The result.
    pub output: Vec<u8>,
}

/// One pass (14). The parameters must have been checked; `rom` is the memory image of
/// `params.nrom` blocks, if any.
#[must_use]
pub fn body(
    password: &[u8],
    salt: &[u8],
    params: &Params,
    rom: Option<&[u8]>,
    length: usize,
) -> Pass {
    let plan = rom.map(|image| nested(params, image));
    pass(password, salt, params, plan.as_slice(), length)
}

fn pass(
    password: &[u8],
    salt: &[u8],
    params: &Params,
    roms: &[RomPlan<'_>],
    length: usize,
) -> Pass {
    let mut password = password.to_vec();
    let prehash = params.flags & PREHASH != 0;
    // 14 step 1: the constant is the key, the password is the message.
    if params.flags != 0 {
        let key: &[u8] = if prehash { b"yescrypt-prehash" } else { b"yescrypt" };
        password = hmac(key, &password).to_vec();
    }
    let hashed_password = password.clone();
    // 14 step 2
    let block_bytes = 128 * params.r as usize;
    let blocks_before = pbkdf2(&password, salt, block_bytes * params.p as usize);
    // 14 step 3
    if params.flags != 0 {
        password = blocks_before[..32].to_vec();
    }
    // 14 step 4
    let mut blocks: Vec<Vec<u8>> =
        blocks_before.chunks_exact(block_bytes).map(<[u8]>::to_vec).collect();
    let mut memory = Vec::new();
    if params.is_rw() {
        let Smix { blocks: mixed, memory: filled, secret } = smix(&blocks, params, roms, &password);
        (blocks, memory, password) = (mixed, filled, secret);
    } else {
        let alone = Params { p: 1, ..params.clone() };
        for block in &mut blocks {
            let one = smix(std::slice::from_ref(block), &alone, &[], &[]);
            *block = one.blocks.concat();
            memory = one.memory;
        }
    }
    // 14 step 5
    let blocks_after = blocks.concat();
    let derived = pbkdf2(&password, &blocks_after, length);
    // 14 step 6: only the first 32 bytes are replaced, and the key has 32 bytes even for a shorter
    // output.
    let mut output = derived.clone();
    if params.flags != 0 && !prehash {
        let key = pbkdf2(&password, &blocks_after, 32);
        let client_key = hmac(&key, b"Client Key");
        let stored_key = Sha256::digest(client_key);
        let end = length.min(32);
        output[..end].copy_from_slice(&stored_key[..end]);
    }
    Pass {
        password: hashed_password,
        blocks_before,
        secret: if params.is_rw() { password } else { Vec::new() },
        memory,
        blocks_after,
        derived,
        output,
    }
}

/// HMAC-SHA256 (1).
fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// PBKDF2-HMAC-SHA256 with one iteration (2).
fn pbkdf2(password: &[u8], salt: &[u8], length: usize) -> Vec<u8> {
    // The keyed state is made once and reused for every counter.
    let mut keyed =
        Hmac::<Sha256>::new_from_slice(password).expect("HMAC takes a key of any length");
    keyed.update(salt);
    let mut out = Vec::with_capacity(length);
    let mut counter = 0u32;
    while out.len() < length {
        counter += 1;
        let mut mac = keyed.clone();
        mac.update(&counter.to_be_bytes());
        out.extend_from_slice(&mac.finalize().into_bytes());
    }
    out.truncate(length);
    out
}
