//! Whether crypt(3) on a plain Linux system computes the same string.
//!
//! Such systems have libxcrypt, which contains the optimised build of yescrypt: one pwxform
//! flavour, no ROM, no key, and slightly narrower ranges than the algorithm itself.

use saltern_yescrypt::{
    Limits, Params, Scheme, Setting,
    params::{Flavor, Mode, password_refused_by_crypt},
};

/// Why crypt(3) on a plain Linux cannot compute a setting; empty if it can.
///
/// Encryption with a key may not be visible in a string, so the caller must check for that.
pub(crate) fn obstacles(setting: &Setting) -> Vec<String> {
    let mut found = Vec::new();
    if let Err(error) = setting.params().check(&Limits::unlimited()) {
        found.push(format!("nothing can compute it: {error}"));
    }
    let unknown = match setting.scheme() {
        Scheme::Escrypt => Some("it does not know this generation"),
        Scheme::ScryptPhc => Some("it does not know this format"),
        _ => None,
    };
    if let Some(unknown) = unknown {
        found.push(unknown.to_owned());
        return found;
    }
    let &Params { mode, flavor, g, .. } = setting.params();
    let checks = [
        (
            mode == Mode::Rw && flavor != Flavor::DEFAULT,
            "its pwxform flavour is not the default one",
        ),
        // Reported below by its id, if it has one.
        (setting.reads_rom() && !setting.names_rom(), "it needs a ROM"),
        (g != 0, "it asks for hash upgrades (g), which no release offers"),
    ];
    found.extend(checks.into_iter().filter(|check| check.0).map(|check| check.1.to_owned()));
    if setting.scheme() == Scheme::Extended {
        found.push("only Saltern computes extended strings".to_owned());
    }
    if let Some(key) = setting.key_id() {
        found.push(format!("it is encrypted with the key {key}"));
    }
    if let Some(rom) = setting.rom_id() {
        found.push(format!("it needs the ROM {rom}"));
    }
    found.extend(setting.refused_by_crypt().map(str::to_owned));
    found
}

/// Notes on a new string under this setting: why crypt(3) on a plain Linux cannot verify it. A key
/// that the string does not name is passed separately, since the string does not show it.
pub(crate) fn notes(setting: &Setting, unnamed_key: bool, password: &[u8]) -> Vec<String> {
    let mut found = obstacles(setting);
    if unnamed_key && setting.key_id().is_none() {
        found.push("it is encrypted with a key".to_owned());
    }
    found.extend(password_refused_by_crypt(password).map(str::to_owned));
    let note = |reason| format!("crypt(3) of a plain Linux cannot verify this string: {reason}");
    found.into_iter().map(note).collect()
}
