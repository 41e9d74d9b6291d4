//! The names of files, directories and segments, the same on every system.

use std::path::{Path, PathBuf};

/// The key that the demonstration programs of the C implementation use.
pub const UPSTREAM_KEY: i32 = 0x7965_730a;

/// The file whose name is that of another one with a suffix.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The name of the System V segment with this key in errors.
pub(crate) fn segment_name(key: i32) -> PathBuf {
    format!("System V segment {key:#010x}").into()
}

/// The directory of a path.
pub(crate) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
