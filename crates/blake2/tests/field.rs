//! The vectors for the whole field (`lab/vectors/field`), with this crate as one of those tested.

use saltern_blake2::{Error, blake2b, blake2bp, blake2s, blake2sp, blake2xb, blake2xs};
use saltern_testing::vectors::{bytes, field, text};
use serde_json::Value;

/// A number of a test as a type that may be too small for it; the methods refuse what is beyond a
/// field's range, if its type does not.
fn number<T: TryFrom<u64>>(test: &Value, name: &str) -> Option<T> {
    let value = match &test[name] {
        Value::String(digits) => digits.parse().ok()?,
        value => value.as_u64()?,
    };
    value.try_into().ok()
}

/// What a test comes to; `None` if a number does not fit its type or the crate refuses it.
fn answer(test: &Value) -> Option<Vec<u8>> {
    let [message, key] = ["message", "key"].map(|name| bytes(test, name));
    macro_rules! node {
        ($module:ident) => {{
            let [salt, personal] = ["salt", "personal"].map(|name| bytes(test, name));
            let (fanout, depth) = (number(test, "fanout")?, number(test, "maxDepth")?);
            let (leaf, node_depth) = (number(test, "leafLength")?, number(test, "nodeDepth")?);
            let (offset, inner) = (number(test, "nodeOffset")?, number(test, "innerLength")?);
            let length = number(test, "digestLength")?;
            let params = || -> Result<_, Error> {
                let params = $module::Params::new().hash_length(length)?.key(&key)?;
                let params = params.salt(&salt)?.personal(&personal)?.node_offset(offset)?;
                let params = params.inner_hash_length(inner)?.node_depth(node_depth);
                Ok(params.fanout(fanout).max_depth(depth).max_leaf_length(leaf))
            };
            let params = params().ok()?.last_node(test["lastNode"].as_bool()?);
            params.hash(&message).as_bytes().to_vec()
        }};
    }
    macro_rules! parallel {
        ($module:ident) => {{
            let params = $module::Params::new().hash_length(bytes(test, "digest").len()).ok()?;
            params.key(&key).ok()?.hash(&message).as_bytes().to_vec()
        }};
    }
    macro_rules! extended {
        ($module:ident) => {{
            let mut out = vec![0; bytes(test, "digest").len()];
            let params = $module::Params::new().output_length(out.len() as u64).ok()?;
            let mut hasher = params.key(&key).ok()?.to_hasher();
            hasher.update(&message).finalize().fill(&mut out).ok()?;
            out
        }};
    }
    Some(match text(test, "function") {
        "blake2b" => node!(blake2b),
        "blake2s" => node!(blake2s),
        "blake2bp" => parallel!(blake2bp),
        "blake2sp" => parallel!(blake2sp),
        "blake2xb" => extended!(blake2xb),
        "blake2xs" => extended!(blake2xs),
        other => panic!("unknown function {other}"),
    })
}

#[test]
fn what_is_valid_is_computed_and_what_is_invalid_refused() {
    let counts = [
        ("BLAKE2Node", "valid", 287),
        ("BLAKE2Node", "acceptable", 14),
        ("BLAKE2Node", "invalid", 29),
        ("BLAKE2Parallel", "valid", 54),
        ("BLAKE2X", "valid", 32),
    ];
    let (mut computed, mut refused) = (0, 0);
    for (_, test) in field("blake2_tree", &counts) {
        let answer = answer(&test);
        if text(&test, "result") == "invalid" {
            assert_eq!(answer, None, "{}", test["tcId"]);
            refused += 1;
        } else {
            assert_eq!(answer, Some(bytes(&test, "digest")), "{}", test["tcId"]);
            computed += 1;
        }
    }
    assert_eq!((computed, refused), (387, 29));
}
