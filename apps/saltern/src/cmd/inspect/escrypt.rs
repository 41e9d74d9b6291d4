//! The contents of a `$7X` string.

use saltern::policy::memory_text;
use saltern_yescrypt::Setting;
use saltern_yescrypt::params::{Flags, Mode};
use serde::Serialize;

use crate::crypt3::obstacles;

/// The fields, in the order of the JSON.
#[derive(Serialize)]
pub(super) struct Details {
    generation: &'static str,
    flags: u32,
    /// The names of the flags.
    modes: Vec<&'static str>,
    #[serde(rename = "N")]
    n: u64,
    r: u32,
    p: u32,
    salt_bytes: usize,
    memory_bytes: u128,
    /// Whether the string names its ROM and its mask: never.
    names_rom: bool,
    crypt3: bool,
    crypt3_obstacles: Vec<String>,
    /// What the string does not show.
    caveats: [&'static str; 2],
}

const CAVEATS: [&str; 2] = [
    "whether it needs a ROM, which one and with which mask, is not in the string",
    "strings of revision 0.3.1 look the same and cannot be recomputed: no password matches them",
];

impl Details {
    pub(super) fn new(setting: &Setting) -> Details {
        let params = setting.params();
        let flags = match params.mode {
            Mode::Escrypt(flags) => flags,
            _ => Flags::default(),
        };
        let Flags { rw, parallel_smix, pwxform } = flags;
        let modes = [(rw, "RW"), (parallel_smix, "PARALLEL_SMIX"), (pwxform, "PWXFORM")];
        Details {
            generation: "0.5",
            flags: flags.bits(),
            modes: modes.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect(),
            n: params.n,
            r: params.r,
            p: params.p,
            salt_bytes: setting.salt().len(),
            memory_bytes: params.memory(),
            names_rom: false,
            crypt3: false,
            crypt3_obstacles: obstacles(setting),
            caveats: CAVEATS,
        }
    }

    pub(super) fn parameters(&self) -> String {
        format!("N={} r={} p={} flags={}", self.n, self.r, self.p, self.flags)
    }

    pub(super) fn verdict(&self) -> String {
        format!("a plain Linux cannot verify it: {}", self.crypt3_obstacles.join("; "))
    }

    /// The rows of the table after the first.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let modes = match &self.modes[..] {
            [] => "classic scrypt".to_owned(),
            modes => modes.join(", "),
        };
        vec![
            ("generation", format!("{} (2014), {modes}", self.generation)),
            ("parameters", self.parameters()),
            ("memory", memory_text(self.memory_bytes)),
            ("salt", format!("{} bytes", self.salt_bytes)),
            ("crypt(3)", self.verdict()),
            ("unknown", self.caveats[0].to_owned()),
            ("", self.caveats[1].to_owned()),
        ]
    }
}
