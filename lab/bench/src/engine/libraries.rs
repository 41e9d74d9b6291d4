//! C libraries that are found at run time: the system's crypt_r, yescrypt's own C code, libargon2.

use std::ffi::{CStr, OsString};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, ensure};
use saltern_yescrypt::{
    HashString,
    params::{Flavor, Mode},
};

use super::{Engine, Found, Input, Places, Setup, Task, one_by_one};
use crate::crypt_r::SystemCrypt;
use crate::libargon2::LibArgon2;
use crate::upstream::Upstream;
use crate::work::Work;

/// The system's crypt_r(3), with SSE2 code on x86-64; it allocates and frees memory in every call.
pub(super) fn crypt_r() -> Found {
    match SystemCrypt::open() {
        Ok(_) => Ok(Arc::new(Library::CryptR)),
        Err(error) => Err(format!("no libcrypt.so.1 (Debian: libcrypt1): {error}")),
    }
}

/// yescrypt's own C code, whose memory is kept from call to call.
pub(super) fn upstream(places: &Places) -> Found {
    let Some(path) = places.upstream.clone().or_else(installed_upstream) else {
        return Err(
            "no upstream C: the Python package pyescrypt holds it (pip install pyescrypt), or \
                    --upstream names a library or its directory"
                .to_owned(),
        );
    };
    let path = in_directory(&path).unwrap_or(path);
    match Upstream::open(&path) {
        Ok(_) => Ok(Arc::new(Library::Upstream(path))),
        Err(error) => Err(format!("no upstream C in {}: {error}", path.display())),
    }
}

/// The first library of a directory that has what is needed; none if the path is no directory or
/// has none.
fn in_directory(path: &OsString) -> Option<OsString> {
    let mut files: Vec<_> =
        std::fs::read_dir(path).ok()?.flatten().map(|file| file.path()).collect();
    files.sort();
    let library = |file: &&std::path::PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.contains(".so") || name.ends_with(".bin")
    };
    let opens = |file: &&std::path::PathBuf| Upstream::open(file.as_os_str()).is_ok();
    files.iter().filter(library).find(opens).map(|file| file.clone().into_os_string())
}

/// The library inside the Python package pyescrypt.
fn installed_upstream() -> Option<OsString> {
    let ask =
        "import importlib.util as u; s = u.find_spec('pyescrypt'); print(s.origin if s else '')";
    let output = Command::new("python3").args(["-I", "-c", ask]).output().ok()?;
    let origin = String::from_utf8(output.stdout).ok()?;
    let library = Path::new(origin.trim()).parent()?.join("yescrypt.bin");
    library.is_file().then(|| library.into_os_string())
}

/// The C library of Argon2, given memory that it reuses.
pub(super) fn libargon2() -> Found {
    match LibArgon2::open() {
        Ok(_) => Ok(Arc::new(Library::Argon2)),
        Err(error) => Err(format!("no libargon2.so.1 (Debian: libargon2-1): {error}")),
    }
}

enum Library {
    CryptR,
    Upstream(OsString),
    Argon2,
}

impl Engine for Library {
    fn name(&self) -> String {
        match self {
            Library::CryptR => "crypt_r",
            Library::Upstream(_) => "upstream C",
            Library::Argon2 => "libargon2",
        }
        .to_owned()
    }

    fn computes(&self, work: &Work) -> bool {
        match (self, work) {
            (Library::Argon2, Work::Argon2(_)) | (Library::Upstream(_), Work::Fill(_)) => true,
            (Library::CryptR | Library::Upstream(_), Work::Yescrypt(params, None)) => {
                params.mode != Mode::Worm && params.flavor == Flavor::DEFAULT
            }
            _ => false,
        }
    }

    fn task(&self, work: &Work, _: &Setup) -> anyhow::Result<Box<dyn Task>> {
        ensure!(self.computes(work), "{} does not compute this", self.name());
        let mut opened = match self {
            Library::CryptR => Opened::CryptR(SystemCrypt::open()?),
            Library::Upstream(path) => Opened::Upstream(Box::new(Upstream::open(path)?)),
            Library::Argon2 => Opened::Argon2(LibArgon2::open()?),
        };
        let same = work.clone();
        one_by_one(work, move |input, hash| {
            *hash = opened.hash(&same, input)?;
            Ok(())
        })
    }
}

enum Opened {
    CryptR(SystemCrypt),
    Upstream(Box<Upstream>),
    Argon2(LibArgon2),
}

impl Opened {
    fn hash(&mut self, work: &Work, input: &Input) -> anyhow::Result<[u8; 32]> {
        let password = input.password.to_bytes();
        match (self, work) {
            (Opened::Upstream(library), Work::Fill(fill)) => {
                let shape = [u32::try_from(fill.nrom)?, fill.r, fill.p];
                library.set_threads(fill.threads);
                library.fill_rom(shape, super::rom::SEED).context("upstream C refuses a ROM")
            }
            (Opened::CryptR(library), _) => {
                hash_of(library.hash(&input.password, input.setting()?)).context("crypt_r refuses")
            }
            (Opened::Upstream(library), _) => {
                hash_of(library.hash(password, input.setting()?)).context("upstream C refuses")
            }
            (Opened::Argon2(library), Work::Argon2(params)) => library
                .hash(params, password, &input.salt)
                .map_err(|code| anyhow::anyhow!("libargon2 refuses with code {code}")),
            (Opened::Argon2(_), _) => anyhow::bail!("libargon2 does not compute this"),
        }
    }
}

/// The hash in a complete string.
fn hash_of(text: Option<&CStr>) -> Option<[u8; 32]> {
    Some(*HashString::parse(text?.to_bytes()).ok()?.hash())
}
