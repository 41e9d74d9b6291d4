//! The contents of a stored string.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use saltern::table::{Kind, formats, identify, locate};
use saltern_yescrypt::{HashString, Scheme};

use crate::columns;
use crate::errors;
use crate::secret::stored;

/// The contents of a stored string of yescrypt or scrypt: scheme, parameters, salt, the bytes of
/// memory and the work of a hash, and the ids of the key and the ROM that it needs.
///
///     >>> told = inspect(PasswordHasher(cost=2).hash("correct horse"))
///     >>> told["scheme"], told["n"], told["r"]
///     ('yescrypt', 2048, 8)
#[pyfunction]
pub(crate) fn inspect<'py>(
    py: Python<'py>,
    hash: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let text = stored(hash)?;
    let parsed = HashString::parse(&*text);
    let parsed =
        parsed.map_err(|error| errors::named(py, "InvalidHashError", error.to_string()))?;
    let (setting, params) = (parsed.setting(), parsed.setting().params());
    let told = PyDict::new(py);
    told.set_item("scheme", scheme(setting.scheme()))?;
    told.set_item("n", params.n)?;
    told.set_item("r", params.r)?;
    told.set_item("p", params.p)?;
    told.set_item("t", params.t)?;
    told.set_item("salt", PyBytes::new(py, setting.salt()))?;
    told.set_item("memory", params.memory())?;
    told.set_item("work", params.work())?;
    told.set_item("key", setting.key_id().map(|key| key.to_string()))?;
    told.set_item("rom", setting.rom_id().map(|rom| rom.to_string()))?;
    Ok(told)
}

/// The stored string in a document of JSON, under a key or where a JSON pointer leads, which on its
/// way enters texts that are JSON themselves; with `keycloak` that of a credential of Keycloak, put
/// together from its parts. None if there is none.
///
///     >>> string_in_json('{"config": {"hash": "$y$…"}}', "/config/hash")
///     '$y$…'
#[pyfunction]
#[pyo3(signature = (document, json_key = None, *, keycloak = false))]
pub(crate) fn string_in_json(
    py: Python<'_>,
    document: &Bound<'_, PyAny>,
    json_key: Option<&str>,
    keycloak: bool,
) -> PyResult<Option<String>> {
    let error = || PyValueError::new_err("one of json_key and keycloak is needed");
    let format = columns::in_json(json_key, keycloak)?.ok_or_else(error)?;
    let document = stored(document)?;
    let found = locate(&document, &format).map_err(|error| errors::of(py, &error))?;
    Ok(found.map(|found| found.stored().to_owned()))
}

/// What strings of yescrypt and scrypt begin with, and wrapped ones.
pub(crate) fn own_prefixes(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    let is_own = |prefix: &&str| matches!(identify(prefix), Ok(Kind::Ours(..)));
    let own = formats().map(|known| known.prefix).filter(is_own);
    PyTuple::new(py, own.chain(["{over="]).collect::<Vec<_>>())
}

fn scheme(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Scrypt | Scheme::ScryptPhc => "scrypt",
        Scheme::Escrypt => "escrypt",
        _ => "yescrypt",
    }
}
