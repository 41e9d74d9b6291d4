//! `blake2bp` and `blake2sp`.

use std::num::NonZero;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use saltern_blake2::{blake2bp, blake2sp};

use super::given;
use super::running::{Running, State, object};

/// A tree in progress, and how many threads a long piece may use: `None` for as many as there are
/// processors.
#[derive(Clone)]
pub(crate) struct Tree<H> {
    hasher: H,
    threads: Option<NonZero<usize>>,
}

/// A constructor and its objects.
macro_rules! tree {
    ($type:ident, $name:tt, $module:ident, $variant:ty, $block:expr, $signature:tt, $doc:tt) => {
        impl State for Tree<$module::Hasher> {
            fn absorb(&mut self, data: &[u8]) {
                self.hasher.update_threaded(data, self.threads);
            }
        }

        object!($type, Tree<$module::Hasher>, $name, $doc, $block, {
            #[classattr]
            const MAX_KEY_SIZE: usize = $module::KEY_BYTES;
            #[classattr]
            const MAX_DIGEST_SIZE: usize = $module::OUT_BYTES;

            #[new]
            #[pyo3(signature = (*args, **kwargs), text_signature = $signature)]
            fn new(
                args: &Bound<'_, PyTuple>,
                kwargs: Option<&Bound<'_, PyDict>>,
            ) -> PyResult<Self> {
                let (mut params, mut digest_size) = ($module::Params::new(), $module::OUT_BYTES);
                let mut threads = None;
                given::each($name, kwargs, |name, value| {
                    let given = std::mem::take(&mut params);
                    params = match name {
                        "digest_size" => {
                            digest_size = given::digest_size::<$variant>($name, value)?;
                            given.hash_length(digest_size).map_err(given::refused)?
                        }
                        "key" => {
                            given.key(given::short(value)?.as_bytes()).map_err(given::refused)?
                        }
                        "threads" => {
                            threads = given::threads(value)?;
                            given
                        }
                        _ => return Ok(false),
                    };
                    Ok(true)
                })?;
                let tree = Tree { hasher: params.to_hasher(), threads };
                Running::begin(tree, digest_size, $name, args).map(Self)
            }

            /// The digest of the message so far.
            fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, self.0.look(py, |tree| tree.hasher.finalize()).as_bytes())
            }

            /// The digest in hexadecimal digits.
            fn hexdigest<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
                PyString::new(py, &self.0.look(py, |tree| tree.hasher.finalize()).to_hex())
            }
        });
    };
}

tree!(
    Blake2bp,
    "blake2bp",
    blake2bp,
    saltern_blake2::Blake2b,
    saltern_blake2::blake2b::BLOCK_BYTES,
    "(data=b'', /, *, digest_size=64, key=b'', threads=None, usedforsecurity=True)",
    "BLAKE2bp: BLAKE2b in four parallel leaves, up to 64 bytes. Its digests are not those of BLAKE2b. `threads` limits the number of threads for long messages."
);
tree!(
    Blake2sp,
    "blake2sp",
    blake2sp,
    saltern_blake2::Blake2s,
    saltern_blake2::blake2s::BLOCK_BYTES,
    "(data=b'', /, *, digest_size=32, key=b'', threads=None, usedforsecurity=True)",
    "BLAKE2sp: BLAKE2s in eight parallel leaves, up to 32 bytes. Its digests are not those of BLAKE2s. `threads` limits the number of threads for long messages."
);
