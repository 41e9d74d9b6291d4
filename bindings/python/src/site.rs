//! The parts of a policy that affect strings, as text: for programs that compare them between
//! machines, and over time.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use saltern::Policy;
use saltern::policy::{FirebaseParameters, Limits, Params, Replace, RomSource, Scheme};
use saltern_yescrypt::Limit;

/// Everything that determines which strings are accepted and how new ones are made; nothing secret,
/// no file names, and nothing about threads, memory and deadlines, which may differ between
/// machines.
pub(crate) fn described<'py>(py: Python<'py>, policy: &Policy) -> PyResult<Bound<'py, PyDict>> {
    let site = PyDict::new(py);
    site.set_item("params", params(&policy.params))?;
    site.set_item("floor", params(&policy.floor))?;
    site.set_item("salt", policy.min_salt)?;
    site.set_item("limits", limits(&policy.limits))?;
    site.set_item("schemes", names_of(&policy.schemes))?;
    match &policy.replace {
        Replace::Schemes(named) => site.set_item("replace", names_of(named))?,
        word => site.set_item("replace", word.to_string().trim_matches('"'))?,
    }
    let keys = || policy.keys.iter();
    let name = |key: &saltern::policy::Key| key.name.to_string();
    let mut names: Vec<_> = keys().map(name).collect();
    names.sort();
    site.set_item("keys", names)?;
    site.set_item("active_key", keys().find(|key| key.active).map(name))?;
    site.set_item("unnamed_key", policy.assume_unnamed_key.is_some())?;
    let sealing = || policy.seal.keys.iter();
    let mut seals: Vec<_> = sealing().map(name).collect();
    seals.sort();
    site.set_item("seal_keys", seals)?;
    site.set_item("active_seal_key", sealing().find(|key| key.active).map(name))?;
    site.set_item("seal_required", policy.seal.required)?;
    let firebase = policy.firebase.as_ref().map(|project| {
        let FirebaseParameters { key, separator, rounds, mem_cost } = &project.parameters;
        format!("{key}, separator {separator:?}, rounds {rounds}, mem_cost {mem_cost}")
    });
    site.set_item("firebase", firebase)?;
    let mut roms: Vec<_> = policy.roms.iter().map(|rom| digest(&rom.id, &rom.source)).collect();
    roms.sort();
    site.set_item("roms", roms)?;
    let active = policy.roms.iter().find(|rom| rom.active);
    site.set_item("active_rom", active.map(|rom| rom.id.to_string()))?;
    site.set_item("unnamed_rom", policy.assume_unnamed_rom.map(|rom| rom.to_string()))?;
    Ok(site)
}

// Both without what their types print for programmers, which later versions may change.

fn params(params: &Params) -> String {
    let Params { n, r, p, t, .. } = params;
    let flags = params.flags().map_or_else(|| "none".to_owned(), |flags| flags.to_string());
    format!("n {n}, r {r}, p {p}, t {t}, flags {flags}")
}

fn limits(limits: &Limits) -> String {
    let mut all = String::new();
    for limit in Limit::ALL {
        all += &format!("{} {}, ", limit.key(), limits.ceiling(limit));
    }
    let (flavors, syntax, rom) = (limits.flavors, limits.syntax, limits.rom);
    all + &format!("flavors {flavors:?}, syntax {syntax:?}, rom {rom}")
}

/// The names of schemes, whose order means nothing.
fn names_of(schemes: &[Scheme]) -> Vec<String> {
    let mut names: Vec<_> = schemes.iter().map(ToString::to_string).collect();
    names.sort();
    names
}

/// The hash of the whole ROM, or its id if that is all that is known.
fn digest(id: &saltern_yescrypt::rom::RomId, source: &RomSource) -> String {
    match source {
        RomSource::Image { hash, .. } => hash.to_string(),
        RomSource::Value(_) => id.to_string(),
    }
}
