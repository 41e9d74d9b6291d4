//! Keys and ROMs that replace each other, and the policy that says so.

use std::path::{Path, PathBuf};

use saltern_bench::stats::Random;
use saltern_rom::{Create, Seed};
use saltern_yescrypt::keys::HashKey;
use saltern_yescrypt::rom::RomParams;

/// A policy whose key and ROM are new after each turn; those before stay until the next one.
pub(super) struct Rotation {
    folder: PathBuf,
    threads: usize,
    number: u64,
    random: Random,
    /// The entries of the key and the ROM before, not active.
    before: String,
    /// Those of the present ones.
    present: String,
}

impl Rotation {
    /// The first key and ROM, and their policy.
    pub(super) fn begin(folder: &Path, threads: usize) -> anyhow::Result<Self> {
        let (folder, random) = (folder.to_owned(), Random::new(7));
        let (before, present) = (String::new(), String::new());
        let mut rotation = Rotation { folder, threads, number: 0, random, before, present };
        rotation.turn()?;
        Ok(rotation)
    }

    /// Another key and ROM; those before the last ones are deleted.
    pub(super) fn turn(&mut self) -> anyhow::Result<()> {
        self.number += 1;
        let made = self.make()?;
        self.before = std::mem::replace(&mut self.present, made);
        let policy = format!(
            "[params]\ncost = 1\n[pool]\nthreads = {}\nprepare = true\n{}{}",
            self.threads,
            self.before,
            self.present.replace("active = false", "active = true")
        );
        // It is read by nobody before the signal comes.
        std::fs::write(self.folder.join("saltern.toml"), policy)?;
        let number = self.number;
        let old = |name: String| {
            name.ends_with(&format!("-{}", number.wrapping_sub(2)))
                || name.contains(&format!("-{}.", number.wrapping_sub(2)))
        };
        for file in std::fs::read_dir(&self.folder)? {
            let file = file?;
            if file.file_name().into_string().is_ok_and(old) {
                std::fs::remove_file(file.path())?;
            }
        }
        Ok(())
    }

    fn make(&mut self) -> anyhow::Result<String> {
        let number = self.number;
        let mut bytes: [u8; 32] = std::array::from_fn(|_| self.random.next_u64() as u8);
        std::fs::write(self.folder.join(format!("key-{number}")), bytes)?;
        let fingerprint = HashKey::new(bytes).fingerprint();
        bytes.reverse();
        let image = self.folder.join(format!("rom-{number}"));
        let seed = Seed::from_bytes(bytes)?;
        let hash = Create::new(RomParams::new(4096, 8, 1), &seed).file(&image)?.hash;
        Ok(format!(
            "[[keys]]\nname = \"k{number}\"\nfile = \"key-{number}\"\n\
             fingerprint = \"{fingerprint}\"\nactive = false\n\
             [[roms]]\nimage = \"rom-{number}\"\nhash = \"{hash}\"\naccess = \"copy\"\n\
             active = false\n"
        ))
    }
}
