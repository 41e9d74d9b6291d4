//! How a ROM is named on the command line.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use saltern_rom::Location;

/// Where POSIX shared memory is.
pub(crate) const SHM: &str = "/dev/shm";

/// A ROM: by the path of its image, `shm:NAME` for one in POSIX shared memory, or `sysv:KEY` for
/// one in a System V segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RomName {
    shown: String,
    image: PathBuf,
    location: Location,
}

impl RomName {
    /// The parser for options that take a ROM.
    pub(crate) fn parser() -> impl TypedValueParser<Value = RomName> {
        OsStringValueParser::new().try_map(RomName::parse)
    }

    fn parse(text: OsString) -> Result<Self, String> {
        let shown = text.to_string_lossy().into_owned();
        if let Some(name) = text.as_encoded_bytes().strip_prefix(b"shm:") {
            let plain = |&byte: &u8| byte.is_ascii_graphic() && byte != b'/';
            if name.is_empty() || name[0] == b'.' || name.len() > 200 || !name.iter().all(plain) {
                return Err("shm: takes a name without slashes, blanks or a leading dot".into());
            }
            let image = Path::new(SHM).join(String::from_utf8_lossy(name).as_ref());
            return Ok(RomName { shown, image, location: Location::Beside });
        }
        if let Some(key) = shown.strip_prefix("sysv:") {
            let key = parse_key(key)?;
            return Ok(RomName {
                shown,
                image: segment_image(key),
                location: Location::Sysv { key },
            });
        }
        if text.is_empty() {
            return Err("the path of a ROM cannot be empty".into());
        }
        Ok(RomName { shown, image: text.into(), location: Location::Beside })
    }

    /// A name in POSIX shared memory.
    pub(crate) fn shared(name: &str) -> Result<Self, String> {
        Self::parse(format!("shm:{name}").into())
    }

    /// Whether it is a name in shared memory and not a path.
    pub(crate) fn is_shared(&self) -> bool {
        self.shown.starts_with("shm:") || self.location != Location::Beside
    }

    /// The image path for `saltern-rom`: its manifest is beside this path.
    pub(crate) fn image(&self) -> &Path {
        &self.image
    }

    /// Where the bytes of a new image go.
    pub(crate) fn location(&self) -> &Location {
        &self.location
    }
}

impl fmt::Display for RomName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Parses the key of a segment, in decimal, or in hexadecimal after 0x.
fn parse_key(text: &str) -> Result<i32, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let strict = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match number.filter(|_| strict) {
        Some(0) | None => {
            Err("a key must be 1 to 4294967295, in decimal or as 0x and hexadecimal digits".into())
        }
        Some(key) => Ok(key.cast_signed()),
    }
}

/// The path beside which the manifest of a segment is: it disappears at the next boot, like the
/// segment.
fn segment_image(key: i32) -> PathBuf {
    Path::new(SHM).join(format!("saltern-sysv-{:08x}", key.cast_unsigned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_forms_of_names() {
        let image = |text: &str| RomName::parse(text.into()).map(|name| name.image);
        assert_eq!(image("/srv/site.rom"), Ok("/srv/site.rom".into()));
        assert_eq!(image("shm:site"), Ok("/dev/shm/site".into()));
        assert_eq!(image("./shm:site"), Ok("./shm:site".into()));
        let segment = RomName::parse("sysv:0x7965730a".into()).unwrap();
        assert_eq!(segment.image, Path::new("/dev/shm/saltern-sysv-7965730a"));
        assert_eq!(segment.location, Location::Sysv { key: saltern_rom::UPSTREAM_KEY });
        assert_eq!(image("sysv:4294967295"), Ok("/dev/shm/saltern-sysv-ffffffff".into()));
        for bad in [
            "",
            "shm:",
            "shm:../x",
            "shm:.x",
            "shm:a b",
            "sysv:",
            "sysv:0",
            "sysv:x",
            "sysv:+1",
            "sysv:0x",
            "sysv:4294967296",
        ] {
            assert!(image(bad).is_err(), "{bad}");
        }
    }
}
