//! The kinds of BLAKE2.

use saltern_blake2::{Error, Level, blake2b, blake2bp, blake2s, blake2sp, blake2xb, blake2xs};
use serde::Deserialize;

use super::outcome::{Answer, Bytes, Failure};

/// Longest output of BLAKE2X, in bytes.
const MAX_OUTPUT: usize = 32 << 20;

/// Inputs of a case; those of the parameter block have the names that Python's `hashlib` gives
/// them.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Inputs {
    #[serde(rename = "in")]
    message: Bytes,
    key: Bytes,
    salt: Bytes,
    person: Bytes,
    digest_size: Option<u64>,
    fanout: Option<u8>,
    depth: Option<u8>,
    leaf_size: u32,
    node_offset: u64,
    node_depth: u8,
    inner_size: usize,
    last_node: bool,
}

/// Whether a kind is one of these.
pub(super) fn is_kind(kind: &str) -> bool {
    kind.starts_with("blake2")
}

/// BLAKE2b or BLAKE2s with the whole parameter block: the same words for two types.
macro_rules! sequential {
    ($module:ident, $inputs:expr, $level:expr, $length:expr) => {{
        let inputs: &Inputs = $inputs;
        let params = leveled($level, $module::Params::new(), $module::Params::level)?
            .hash_length($length.unwrap_or($module::OUT_BYTES))?
            .key(&inputs.key.0)?
            .salt(&inputs.salt.0)?
            .personal(&inputs.person.0)?
            .fanout(inputs.fanout.unwrap_or(1))
            .max_depth(inputs.depth.unwrap_or(1))
            .max_leaf_length(inputs.leaf_size)
            .node_offset(inputs.node_offset)?
            .node_depth(inputs.node_depth)
            .inner_hash_length(inputs.inner_size)?
            .last_node(inputs.last_node);
        params.hash(&inputs.message.0).as_bytes().to_vec()
    }};
}

/// BLAKE2bp or BLAKE2sp.
macro_rules! parallel {
    ($module:ident, $inputs:expr, $level:expr, $length:expr) => {{
        let params = leveled($level, $module::Params::new(), $module::Params::level)?
            .hash_length($length.unwrap_or($module::OUT_BYTES))?
            .key(&$inputs.key.0)?;
        params.hash(&$inputs.message.0).as_bytes().to_vec()
    }};
}

/// BLAKE2Xb or BLAKE2Xs.
macro_rules! extended {
    ($module:ident, $inputs:expr, $level:expr, $length:expr) => {{
        let mut out = vec![0; $length.unwrap_or(0)];
        let params = leveled($level, $module::Params::new(), $module::Params::level)?
            .output_length(out.len() as u64)?
            .key(&$inputs.key.0)?
            .salt(&$inputs.salt.0)?
            .personal(&$inputs.person.0)?;
        params.to_hasher().update(&$inputs.message.0).finalize().fill(&mut out)?;
        out
    }};
}

/// The output of a case. `stated` is the length of the output that the case states, which counts
/// where it has no `digest_size`; without both it is the longest, and for BLAKE2X there is none.
pub(super) fn answer(
    kind: &str,
    inputs: &Inputs,
    stated: Option<usize>,
    level: Option<Level>,
) -> Result<Answer, Failure> {
    let size = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
    let length = inputs.digest_size.map(size).or(stated);
    if kind.starts_with("blake2x") && length.is_some_and(|length| length > MAX_OUTPUT) {
        return Err(Failure::TooLarge(format!("an output of more than {MAX_OUTPUT} bytes")));
    }
    let refused = |error: Error| Failure::Refused(error.to_string());
    let out = compute(kind, inputs, length, level).map_err(refused)?.ok_or(Failure::Unsupported)?;
    Ok(Answer::bytes(&out))
}

fn compute(
    kind: &str,
    inputs: &Inputs,
    length: Option<usize>,
    level: Option<Level>,
) -> Result<Option<Vec<u8>>, Error> {
    Ok(Some(match kind {
        "blake2b" => sequential!(blake2b, inputs, level, length),
        "blake2s" => sequential!(blake2s, inputs, level, length),
        "blake2bp" => parallel!(blake2bp, inputs, level, length),
        "blake2sp" => parallel!(blake2sp, inputs, level, length),
        "blake2xb" => extended!(blake2xb, inputs, level, length),
        "blake2xs" => extended!(blake2xs, inputs, level, length),
        _ => return Ok(None),
    }))
}

/// Parameters at the level, if one is asked for.
fn leveled<P>(
    level: Option<Level>,
    params: P,
    set: impl FnOnce(P, Level) -> Result<P, Error>,
) -> Result<P, Error> {
    match level {
        Some(level) => set(params, level),
        None => Ok(params),
    }
}
