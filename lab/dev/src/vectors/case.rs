//! One test case as its line of JSON says it.

use serde::Deserialize;
use serde_json::Value;

use super::blake2;
use super::outcome::{Answer, Bytes};

/// A case of any kind: the inputs of its own kind are there, the others are at their defaults.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Case {
    pub(super) id: Value,
    pub(super) kind: String,

    pub(super) password: Bytes,
    pub(super) salt: Bytes,
    pub(super) key: Bytes,
    pub(super) seed: Bytes,
    pub(super) random: Bytes,
    pub(super) from_key: Bytes,
    pub(super) to_key: Bytes,

    pub(super) flags: u64,
    #[serde(rename = "N")]
    pub(super) n: u64,
    #[serde(rename = "N_log2")]
    pub(super) log2_n: u64,
    pub(super) r: u64,
    pub(super) p: u64,
    pub(super) t: u64,
    pub(super) g: u64,
    #[serde(rename = "NROM")]
    pub(super) nrom: u64,
    #[serde(rename = "dkLen")]
    pub(super) dk_len: u64,
    pub(super) cost: u64,
    pub(super) buflen: Option<u64>,
    pub(super) digest_len: u64,
    pub(super) mask: u32,

    pub(super) prefix: String,
    pub(super) setting: Option<String>,
    pub(super) setting_hex: Option<Bytes>,
    pub(super) hash: String,

    pub(super) constants: Option<Constants>,
    pub(super) rom: Option<RomCase>,
    pub(super) poke: Option<(u64, u8)>,

    /// Refused only by builds with a single flavour.
    pub(super) single_flavour: bool,
    /// The inputs of a kind of BLAKE2, which shares names with the others but not their defaults.
    #[serde(skip)]
    pub(super) blake2: Option<blake2::Inputs>,
    /// The result that the file states.
    #[serde(skip)]
    pub(super) expected: Answer,
}

/// Constants of pwxform and Salsa20 that take the place of those in the flags word; and those of a
/// rebuilt reference of escrypt.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Constants {
    #[serde(rename = "PWXrounds")]
    pub(super) rounds: u32,
    #[serde(rename = "PWXgather")]
    pub(super) gather: u32,
    #[serde(rename = "PWXsimple")]
    pub(super) simple: u32,
    #[serde(rename = "Sbytes")]
    pub(super) sbox_bytes: u32,
    pub(super) salsa_main: u32,
    pub(super) salsa_pwx: u32,
    #[serde(rename = "S_BITS")]
    pub(super) bits: u32,
    #[serde(rename = "S_SIMD")]
    pub(super) simd: u32,
    #[serde(rename = "S_P")]
    pub(super) groups: u32,
    #[serde(rename = "S_ROUNDS")]
    pub(super) s_rounds: u32,
    pub(super) salsa: u32,
}

/// Inputs of a ROM initialisation.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct RomCase {
    pub(super) seed: Bytes,
    pub(super) flags: u64,
    #[serde(rename = "NROM")]
    pub(super) nrom: u64,
    /// In the place of NROM in escrypt.
    #[serde(rename = "N")]
    pub(super) n: u64,
    pub(super) r: u64,
    pub(super) p: u64,
    pub(super) t: u64,
    pub(super) digest_len: u64,
}

impl Case {
    /// Read a line.
    pub(super) fn parse(line: &[u8]) -> serde_json::Result<Case> {
        let mut case: Case = serde_json::from_slice(line)?;
        // The result stands among the inputs. Read apart from them, it cannot be taken for one.
        if !case.is_header() {
            case.expected = serde_json::from_slice(line)?;
        }
        if blake2::is_kind(&case.kind) {
            case.blake2 = Some(serde_json::from_slice(line)?);
        }
        Ok(case)
    }

    /// The `id` of a line that is JSON but no case, such as one with a number out of range.
    pub(super) fn id_alone(line: &[u8]) -> Option<Value> {
        serde_json::from_slice::<Value>(line).ok()?.get("id").cloned()
    }

    /// Whether this is the line that explains the fields.
    pub(super) fn is_header(&self) -> bool {
        self.kind == "header"
    }

    /// The kind without `_reject`, and whether that was there.
    pub(super) fn base_kind(&self) -> (&str, bool) {
        match self.kind.strip_suffix("_reject") {
            Some(base) => (base, true),
            None => (&self.kind, false),
        }
    }

    /// Whether this is of escrypt 0.5.
    pub(super) fn is_escrypt(&self) -> bool {
        self.base_kind().0.ends_with("05")
    }

    /// The setting of a `crypt` case.
    pub(super) fn setting(&self) -> &[u8] {
        let hex = self.setting_hex.as_ref().map(|bytes| &bytes.0[..]);
        let text = self.setting.as_ref().map(|text| text.as_bytes());
        hex.or(text).unwrap_or_default()
    }

    /// The ROM that a `rom` case is about.
    pub(super) fn as_rom(&self) -> RomCase {
        let Case { flags, nrom, n, r, p, t, digest_len, .. } = *self;
        RomCase { seed: self.seed.clone(), flags, nrom, n, r, p, t, digest_len }
    }
}
