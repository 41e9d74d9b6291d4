//! Images, manifests and tables in files: found, opened once, and written atomically.

pub(crate) mod image;
pub(crate) mod kept;
pub(crate) mod opened;
pub(crate) mod place;
pub(crate) mod regular;
pub(crate) mod staged;
