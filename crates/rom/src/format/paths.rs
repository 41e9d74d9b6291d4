//! What files, directories and segments are called, the same on every system.

use std::path::{Path, PathBuf};

/// The key that the demonstration programs of the C implementation use.
pub const UPSTREAM_KEY: i32 = 0x7965_730a;

/// The file whose name is that of another one and a suffix.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// What errors call the System V segment with this key.
pub(crate) fn segment_name(key: i32) -> PathBuf {
    format!("System V segment {key:#010x}").into()
}

/// The directory of a path.
pub(crate) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
