//! The ROM: its image, its tag and how it is filled (18); the checks of a call that may have one.

use super::mix::image_of;
use super::params::{INIT, MAX_MEMORY, TOO_LARGE};
use super::{Params, Reject, body};

/// What stands 48 bytes before the end of a ROM.
const TAG: &[u8; 16] = b"yescrypt-ROMhash";

/// A ROM's memory image: shuffled lanes, little-endian.
#[derive(Clone)]
pub struct Rom {
    image: Vec<u8>,
}

impl Rom {
    /// Takes an image as it is; whether there is a tag is checked at use.
    #[must_use]
    pub fn new(image: Vec<u8>) -> Rom {
        Rom { image }
    }

    /// Takes an image whose lanes are in the byte order of this machine.
    #[must_use]
    pub fn from_native(image: &[u8]) -> Rom {
        let lanes = image.as_chunks().0.iter().map(|lane| u64::from_ne_bytes(*lane));
        Rom { image: lanes.flat_map(u64::to_le_bytes).collect() }
    }

    /// The bytes.
    #[must_use]
    pub fn image(&self) -> &[u8] {
        &self.image
    }

    /// The digest at the end of the image.
    ///
    /// # Errors
    /// [`Reject`] if the tag is not there.
    pub fn digest(&self) -> Result<[u8; 32], Reject> {
        self.digest_at(self.image.len())
    }

    /// The digest of the ROM that ends `end` bytes into the image.
    pub(super) fn digest_at(&self, end: usize) -> Result<[u8; 32], Reject> {
        let tail = end.checked_sub(48).and_then(|start| self.image.get(start..end));
        match tail {
            Some(tail) if tail[..16] == *TAG => Ok(tail[16..].try_into().expect("32 bytes")),
            _ => Err(Reject("no ROM tag")),
        }
    }
}

impl Params {
    /// The checks of the KDF (17) for a call with this ROM and this output length.
    ///
    /// # Errors
    /// [`Reject`] naming the first check that failed.
    pub fn check(&self, rom: Option<&Rom>, length: u64) -> Result<(), Reject> {
        self.check_flags()?;
        // check 6
        if length > 32 * 0xffff_ffff {
            return Err(Reject("output longer than PBKDF2 can make"));
        }
        self.check_sizes()?;
        self.check_rom(rom)?;
        if u128::from(length) > MAX_MEMORY { Err(TOO_LARGE) } else { Ok(()) }
    }

    /// Checks 12 and 13.
    fn check_rom(&self, rom: Option<&Rom>) -> Result<(), Reject> {
        let Some(rom) = rom else {
            return if self.nrom == 0 { Ok(()) } else { Err(Reject("NROM without a ROM")) };
        };
        if self.nrom < 2 || !self.nrom.is_power_of_two() {
            return Err(Reject("NROM is not a power of two above 1"));
        }
        let size = 128 * u128::from(self.r) * u128::from(self.nrom);
        if size > rom.image().len() as u128 {
            return Err(Reject("the ROM is smaller than 128 * r * NROM"));
        }
        rom.digest_at(size as usize).map(|_| ())
    }
}

/// Fills a ROM of `params.nrom` blocks; `params.n` is not used.
///
/// # Errors
/// [`Reject`] if the flags are not RW, a check of section 17 fails with N := NROM or N := NROM / 2,
/// or the ROM is too large for this program.
pub fn rom_init(seed: &[u8], params: &Params) -> Result<Rom, Reject> {
    if !params.is_rw() {
        return Err(Reject("ROM initialisation needs RW"));
    }
    // All checks of all passes are made before the first: they do not depend on what passes
    // compute.
    let whole = Params { n: params.nrom, nrom: 0, ..params.clone() };
    let half = Params { n: params.nrom / 2, ..whole.clone() };
    whole.check_flags()?;
    whole.check_sizes()?;
    half.check_sizes()?;
    // step 2
    let first = Params { flags: params.flags | INIT, ..half };
    let later = Params { nrom: first.n, ..first.clone() };
    // step 3
    let pass = body(seed, TAG, &first, None, 32);
    let lower = image_of(&pass.memory);
    // step 4
    let pass = body(seed, &pass.output, &later, Some(&lower), 32);
    let upper = image_of(&pass.memory);
    // step 5
    let pass = body(seed, &pass.output, &later, Some(&upper), 32);
    let mut image = image_of(&pass.memory);
    // step 6
    image.extend_from_slice(&upper);
    image.truncate(image.len() - 48);
    image.extend_from_slice(TAG);
    image.extend_from_slice(&pass.output);
    Ok(Rom { image })
}
