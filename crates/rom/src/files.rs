//! Images, manifests and tables as they lie in files: found, opened once, and written whole.

pub(crate) mod image;
pub(crate) mod kept;
pub(crate) mod opened;
pub(crate) mod place;
pub(crate) mod regular;
pub(crate) mod staged;
