//! Images, manifests and tables in files: found, opened once, and written atomically.

pub(crate) mod destination;
pub(crate) mod file_checks;
pub(crate) mod image;
pub(crate) mod located;
pub(crate) mod manifest_file;
pub(crate) mod staged;
pub(crate) mod update;
