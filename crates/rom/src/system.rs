//! The operating system: memory, segments, and properties of files. On systems other than Linux
//! only the standard library is used; everything else is one clear error.

pub(crate) mod buffer;
#[cfg(target_os = "linux")]
pub(crate) mod filesystem;
#[cfg(not(target_os = "linux"))]
#[path = "system/elsewhere/filesystem.rs"]
pub(crate) mod filesystem;
pub(crate) mod groups;
#[cfg(target_os = "linux")]
pub(crate) mod map;
#[cfg(not(target_os = "linux"))]
#[path = "system/elsewhere/map.rs"]
pub(crate) mod map;
pub(crate) mod memory;
pub(crate) mod owner;
pub(crate) mod pages;
#[cfg(target_os = "linux")]
pub(crate) mod sysv;
#[cfg(not(target_os = "linux"))]
#[path = "system/elsewhere/sysv.rs"]
pub(crate) mod sysv;
