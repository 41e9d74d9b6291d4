//! ROMs from creation to removal, in every medium, in this process.

mod life {
    mod checked;
    mod foreign;
    mod media;
    mod removal;
    mod sums;
    mod whole;
}

use std::path::PathBuf;

use saltern_rom::{Create, Manifest, Seed};
use saltern_yescrypt::{
    Limits, Params, Workspace, derive,
    rom::{RomImage, RomParams},
};

/// 1 MiB, p = 5 so that slices have two lengths.
fn params() -> RomParams {
    RomParams::new(1024, 8, 5)
}

fn seed() -> Seed {
    Seed::from_bytes(b"sixteen bytes and more").unwrap()
}

/// What the core alone makes of the same.
fn reference() -> RomImage {
    RomImage::init(&params(), b"sixteen bytes and more", &mut Workspace::new()).unwrap()
}

struct Scratch {
    directory: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        Scratch { directory: tempfile::tempdir().unwrap() }
    }

    /// In shared memory.
    fn shared() -> Option<Self> {
        match tempfile::tempdir_in("/dev/shm") {
            Ok(directory) => Some(Scratch { directory }),
            Err(_) => {
                saltern_testing::skipped("no shared memory to write to");
                None
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A ROM in a file.
    fn rom(&self, name: &str) -> (PathBuf, Manifest) {
        let path = self.path(name);
        let manifest = Create::new(params(), &seed()).file(&path).unwrap();
        (path, manifest)
    }

    fn names(&self) -> Vec<String> {
        saltern_testing::names(self.directory.path())
    }
}

/// One hash with a ROM.
fn hash(rom: saltern_yescrypt::rom::RomView<'_>) -> [u8; 32] {
    let mut params = Params::yescrypt(64, 8);
    params.nrom = 1024;
    let params = params.check(&Limits::unlimited()).unwrap();
    let mut out = [0; 32];
    derive(b"password", b"salt", &params, Some(&rom), &mut Workspace::new(), &mut out).unwrap();
    out
}
