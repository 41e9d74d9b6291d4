//! `blake2xb` and `blake2xs`: digests of any size.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use saltern_blake2::{blake2xb, blake2xs};

use super::given;
use super::running::{Running, State, object};

/// The largest digest in one call: larger ones are read from an object without a size.
const MOST: i64 = 1 << 30;

/// The length of a digest: the constructor's (`stated`) or, if that is 0, the one requested in each
/// call.
fn length(stated: usize, asked: Option<i64>) -> PyResult<usize> {
    let wrong = |message: String| Err(PyValueError::new_err(message));
    match (stated, asked) {
        (0, None) => wrong("a length is needed: the constructor was given no digest_size".into()),
        (0, Some(length)) if !(0..=MOST).contains(&length) => {
            wrong(format!("length = {length}: expected 0 to {MOST}"))
        }
        (0, Some(length)) => Ok(length as usize),
        (stated, Some(length)) if length != stated as i64 => {
            wrong(format!("length = {length}: the constructor was given digest_size = {stated}"))
        }
        (stated, _) => Ok(stated),
    }
}

/// A constructor and its objects.
macro_rules! xof {
    ($type:ident, $name:tt, $module:ident, $block:expr, $signature:tt, $doc:tt) => {
        impl State for $module::Hasher {
            fn absorb(&mut self, data: &[u8]) {
                self.update(data);
            }
        }

        impl $type {
            fn output<'py>(
                &self,
                py: Python<'py>,
                asked: Option<i64>,
            ) -> PyResult<Bound<'py, PyBytes>> {
                let mut reader = self.0.look(py, $module::Hasher::finalize);
                PyBytes::new_with(py, length(self.0.digest_size, asked)?, |output| {
                    py.detach(|| reader.fill(output)).map_err(given::refused)
                })
            }
        }

        object!($type, $module::Hasher, $name, $doc, $block, {
            #[new]
            #[pyo3(signature = (*args, **kwargs), text_signature = $signature)]
            fn new(
                args: &Bound<'_, PyTuple>,
                kwargs: Option<&Bound<'_, PyDict>>,
            ) -> PyResult<Self> {
                let (mut params, mut digest_size) = ($module::Params::new(), 0);
                given::each($name, kwargs, |name, value| {
                    let given = std::mem::take(&mut params);
                    params = match name {
                        "digest_size" if value.is_none() => given,
                        "digest_size" => {
                            let size = given::long(name, value, MOST as u64)?;
                            digest_size = size as usize;
                            given.output_length(size).map_err(given::refused)?
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
                        _ => return Ok(false),
                    };
                    Ok(true)
                })?;
                Running::begin(params.to_hasher(), digest_size, $name, args).map(Self)
            }

            /// The digest of the message so far; `length` is its bytes, if the constructor was
            /// given no `digest_size`.
            #[pyo3(signature = (length = None, /))]
            fn digest<'py>(
                &self,
                py: Python<'py>,
                length: Option<i64>,
            ) -> PyResult<Bound<'py, PyBytes>> {
                self.output(py, length)
            }

            /// The digest in hexadecimal digits; `length` is its bytes, as for `digest`.
            #[pyo3(signature = (length = None, /))]
            fn hexdigest<'py>(
                &self,
                py: Python<'py>,
                length: Option<i64>,
            ) -> PyResult<Bound<'py, PyAny>> {
                self.output(py, length)?.call_method0("hex")
            }
        });
    };
}

xof!(
    Blake2xb,
    "blake2xb",
    blake2xb,
    saltern_blake2::blake2b::BLOCK_BYTES,
    "(data=b'', /, *, digest_size=None, key=b'', salt=b'', person=b'', usedforsecurity=True)",
    "BLAKE2Xb: digests of any size, made with BLAKE2b. Without a `digest_size`, each call of `digest` names one."
);
xof!(
    Blake2xs,
    "blake2xs",
    blake2xs,
    saltern_blake2::blake2s::BLOCK_BYTES,
    "(data=b'', /, *, digest_size=None, key=b'', salt=b'', person=b'', usedforsecurity=True)",
    "BLAKE2Xs: digests of any size, made with BLAKE2s. Without a `digest_size`, each call of `digest` names one."
);
