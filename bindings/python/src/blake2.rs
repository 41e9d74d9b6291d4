//! The BLAKE2 family with the constructors and objects of `hashlib`.

mod digests;
mod given;
mod many;
mod rows;
mod running;
mod sequential;
mod tree;
mod xof;

use pyo3::prelude::*;

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<sequential::Blake2b>()?;
    module.add_class::<sequential::Blake2s>()?;
    module.add_class::<tree::Blake2bp>()?;
    module.add_class::<tree::Blake2sp>()?;
    module.add_class::<xof::Blake2xb>()?;
    module.add_class::<xof::Blake2xs>()?;
    module.add_class::<digests::Digests>()
}
