//! C libraries that are found at run time: the system's crypt_r, yescrypt's own C code, libargon2.

use std::ffi::{CStr, OsString};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use saltern_yescrypt::{
    HashString,
    params::{Flavor, Mode},
};

use super::{Found, HashOne, Input, Peer, Places};
use crate::crypt_r::SystemCrypt;
use crate::libargon2::LibArgon2;
use crate::upstream::Upstream;
use crate::work::Work;

/// The system's crypt_r(3), with SSE2 code on x86-64; it allocates and frees memory in every call.
pub(super) fn crypt_r() -> Found {
    SystemCrypt::open()
        .map_err(|error| format!("no libcrypt.so.1 (Debian: libcrypt1): {error}"))?;
    let open = |_: &Work| -> anyhow::Result<HashOne> {
        let mut library = SystemCrypt::open()?;
        Ok(Box::new(move |input| {
            hash_of(library.hash(&input.password, input.setting()?)).context("crypt_r refuses")
        }))
    };
    Ok(Arc::new(Peer { name: "crypt_r", computes: has_text, open }))
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
    Upstream::open(&path)
        .map_err(|error| format!("no upstream C in {}: {error}", path.display()))?;
    let open = move |work: &Work| -> anyhow::Result<HashOne> {
        let mut library = Upstream::open(&path)?;
        if let Work::Fill(fill) = *work {
            let shape = [u32::try_from(fill.nrom)?, fill.r, fill.p];
            library.set_threads(fill.threads);
            return Ok(Box::new(move |_| {
                library.fill_rom(shape, super::rom::SEED).context("upstream C refuses a ROM")
            }));
        }
        Ok(Box::new(move |input| {
            let found = library.hash(input.password.to_bytes(), input.setting()?);
            hash_of(found).context("upstream C refuses")
        }))
    };
    let computes = |work: &Work| has_text(work) || matches!(work, Work::Fill(_));
    Ok(Arc::new(Peer { name: "upstream C", computes, open }))
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
    LibArgon2::open()
        .map_err(|error| format!("no libargon2.so.1 (Debian: libargon2-1): {error}"))?;
    let open = |work: &Work| -> anyhow::Result<HashOne> {
        let Work::Argon2(params) = *work else { bail!("{work:?} is not Argon2") };
        let library = LibArgon2::open()?;
        Ok(Box::new(move |Input { password, salt, .. }| {
            library
                .hash(&params, password.to_bytes(), salt)
                .map_err(|code| anyhow!("libargon2 refuses with code {code}"))
        }))
    };
    Ok(Arc::new(Peer { name: "libargon2", computes: |work| matches!(work, Work::Argon2(_)), open }))
}

/// What has yescrypt's strings.
fn has_text(work: &Work) -> bool {
    let Work::Yescrypt(params, None) = work else { return false };
    params.mode != Mode::Worm && params.flavor == Flavor::DEFAULT
}

/// The hash in a complete string.
fn hash_of(text: Option<&CStr>) -> Option<[u8; 32]> {
    Some(*HashString::parse(text?.to_bytes()).ok()?.hash())
}
