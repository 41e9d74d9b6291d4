//! The compiled half of the Python package `saltern`: `saltern._saltern`.
//!
//! `saltern/_saltern.pyi` and docs/python.md describe the interface for Python programs. The rules
//! of the implementation: no thread waits for anything slow while it is attached to the
//! interpreter, no lock is held across attaching or detaching, and threads that hash never touch
//! the interpreter at all.

// To change … open …
//     a method of PasswordHasher            hasher.rs; saltern/_saltern.pyi; asyncio: saltern/aio.py, pending.rs
//     an exception                          saltern/exceptions.py; errors.rs, login.rs
//     the process's pool; waiting, signals  process.rs; wait.rs
//     columns of passwords and strings      batches.rs; arrow.rs; columns.rs; blake2/rows.rs, blake2/many.rs
//     BLAKE2 objects, hashlib's parameters  blake2/running.rs, sequential.rs, tree.rs, xof.rs; blake2/given.rs
//     an adapter                            saltern/<framework>.py; saltern/schemes.py
//     bulk jobs                             saltern/bulk/__init__.py says which module does what

mod arrow;
mod batches;
mod blake2;
mod buffer;
mod columns;
mod errors;
mod hasher;
mod inspect;
mod login;
mod pending;
mod process;
mod secret;
mod site;
mod wait;

use pyo3::prelude::*;

#[pymodule]
fn _saltern(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("OWN_PREFIXES", inspect::own_prefixes(module.py())?)?;
    module.add_class::<hasher::PasswordHasher>()?;
    module.add_class::<columns::Rows>()?;
    module.add_class::<batches::Batch>()?;
    module.add_class::<pending::Pending>()?;
    module.add_class::<pending::Wakeup>()?;
    module.add_function(wrap_pyfunction!(inspect::inspect, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::string_in_json, module)?)?;
    blake2::add(module)
}
