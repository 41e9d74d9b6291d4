//! What `saltern --version` prints; `-V` prints its first line without the commit.

use saltern_yescrypt::hazmat::Level;

/// The commit that the program was built from, if whoever built it said so.
const COMMIT: Option<&str> = option_env!("SALTERN_COMMIT");

/// Libraries can only be loaded by a program that is linked with the C library dynamically.
const LOADS_LIBCRYPT: bool = cfg!(unix) && !cfg!(target_feature = "crt-static");

/// The version with the commit, the system, the instruction sets of this processor, and the
/// features.
pub(crate) fn long() -> String {
    let levels: Vec<&str> = Level::available().map(Level::name).collect();
    let commit = COMMIT.map(|commit| format!(" ({commit})")).unwrap_or_default();
    let libcrypt = if LOADS_LIBCRYPT { ", libcrypt" } else { "" };
    format!(
        "{}{commit}\nsystem: {} on {}\nlevels: {}; used: {}\n\
         features: yescrypt, scrypt, argon2, bcrypt, sha-crypt, pbkdf2, digest{libcrypt}, rom, json",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        levels.join(", "),
        Level::detect(),
    )
}
