//! `blake2b` and `blake2s`.

use std::sync::LazyLock;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use saltern_blake2::{Function, blake2b, blake2s};

use super::digests::Digests;
use super::given;
use super::many;
use super::running::{Running, State, object};

/// The parameters, and the size of the digest.
struct Given<P> {
    params: P,
    digest_size: usize,
}

/// A constructor and its objects.
macro_rules! sequential {
    ($type:ident, $name:tt, $module:ident, $variant:ty, $signature:tt, $doc:tt) => {
        impl State for $module::Hasher {
            fn absorb(&mut self, data: &[u8]) {
                self.update(data);
            }
        }

        impl Given<$module::Params> {
            fn new(kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
                let (mut params, mut digest_size) = ($module::Params::new(), $module::OUT_BYTES);
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
                        "salt" => {
                            given.salt(given::short(value)?.as_bytes()).map_err(given::refused)?
                        }
                        "person" => given
                            .personal(given::short(value)?.as_bytes())
                            .map_err(given::refused)?,
                        "fanout" => given.fanout(given::byte(name, value, 0, 255)?),
                        "depth" => given.max_depth(given::byte(name, value, 1, 255)?),
                        "leaf_size" => {
                            let size = given::long(name, value, u64::from(u32::MAX))?;
                            given.max_leaf_length(size as u32)
                        }
                        "node_offset" => {
                            let most = <$variant as Function>::MAX_NODE_OFFSET;
                            let offset = given::long(name, value, most)?;
                            given.node_offset(offset).map_err(given::refused)?
                        }
                        "node_depth" => given.node_depth(given::byte(name, value, 0, 255)?),
                        "inner_size" => {
                            let most = $module::OUT_BYTES as u8;
                            let size = given::byte(name, value, 0, most)?;
                            given.inner_hash_length(size.into()).map_err(given::refused)?
                        }
                        "last_node" => given.last_node(value.is_truthy()?),
                        _ => return Ok(false),
                    };
                    Ok(true)
                })?;
                Ok(Given { params, digest_size })
            }
        }

        object!($type, $module::Hasher, $name, $doc, $module::BLOCK_BYTES, {
            #[classattr]
            const SALT_SIZE: usize = $module::SALT_BYTES;
            #[classattr]
            const PERSON_SIZE: usize = $module::PERSONAL_BYTES;
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
                static PLAIN: LazyLock<$module::Hasher> = LazyLock::new($module::Hasher::new);
                if kwargs.is_none() {
                    let plain = PLAIN.clone();
                    return Running::begin(plain, $module::OUT_BYTES, $name, args).map(Self);
                }
                let Given { params, digest_size } = Given::<$module::Params>::new(kwargs)?;
                Running::begin(params.to_hasher(), digest_size, $name, args).map(Self)
            }

            /// The digest of the message so far.
            fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, self.0.look(py, $module::Hasher::finalize).as_bytes())
            }

            /// The digest in hexadecimal digits.
            fn hexdigest<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
                PyString::new(py, &self.0.look(py, $module::Hasher::finalize).to_hex())
            }

            /// The digests of many messages, in threads: of a list of buffers, an array of rows, or
            /// an Arrow column. Parameters are those of the constructor; `threads` limits the
            /// number of threads.
            #[staticmethod]
            #[pyo3(signature = (rows, /, *, threads = None, **kwargs))]
            fn hash_many(
                py: Python<'_>,
                rows: &Bound<'_, PyAny>,
                threads: Option<&Bound<'_, PyAny>>,
                kwargs: Option<&Bound<'_, PyDict>>,
            ) -> PyResult<Digests> {
                let Given { params, digest_size } = Given::<$module::Params>::new(kwargs)?;
                let threads = threads.map_or(Ok(None), given::threads)?;
                many::hash_many(py, &params, digest_size, rows, threads)
            }
        });
    };
}

sequential!(
    Blake2b,
    "blake2b",
    blake2b,
    saltern_blake2::Blake2b,
    "(data=b'', /, *, digest_size=64, key=b'', salt=b'', person=b'', fanout=1, depth=1, leaf_size=0, node_offset=0, node_depth=0, inner_size=0, last_node=False, usedforsecurity=True)",
    "BLAKE2b, as `hashlib.blake2b`: up to 64 bytes, for 64-bit processors."
);
sequential!(
    Blake2s,
    "blake2s",
    blake2s,
    saltern_blake2::Blake2s,
    "(data=b'', /, *, digest_size=32, key=b'', salt=b'', person=b'', fanout=1, depth=1, leaf_size=0, node_offset=0, node_depth=0, inner_size=0, last_node=False, usedforsecurity=True)",
    "BLAKE2s, as `hashlib.blake2s`: up to 32 bytes, for smaller processors."
);
