//! The vectors for the whole field (`lab/vectors/field`), with this crate as one of those tested.

#[path = "field/counts.rs"]
mod counts;

use counts::FILES;
use saltern_testing::vectors::{bytes, field, field_text, text};
use saltern_yescrypt::{Error, HashString, Hasher, Limits, Workspace, params::FlavorPolicy};

/// Two hashers: one that computes all that the format defines, and one that is as strict as
/// crypt(3) for any cost.
fn hashers() -> [Hasher; 2] {
    let mut wide = Limits::unlimited();
    wide.flavors = FlavorPolicy::Encodable;
    let mut strict = Limits::server();
    strict.max_p = u32::MAX;
    [wide, strict].map(|limits| Hasher::new().with_limits(limits))
}

#[test]
fn what_is_valid_is_computed_and_what_is_invalid_refused() {
    let [wide, strict] = hashers();
    let mut workspace = Workspace::new();
    let (mut hashes, mut refused, mut verdicts) = (0, 0, 0);
    for (file, counts) in FILES {
        for (kind, test) in field(file, counts) {
            let shown = format!("{file} {}", test["tcId"]);
            let (password, result) = (bytes(&test, "password"), text(&test, "result"));
            let hash = field_text(&test, "hash");
            if kind == "CryptVerify" {
                let verdict = strict.verify(&mut workspace, &password, hash.unwrap());
                assert_eq!(verdict == Ok(true), result == "valid", "{shown}: {verdict:?}");
                verdicts += 1;
                continue;
            }
            let setting = field_text(&test, "setting").unwrap();
            let mut compute = |hasher: &Hasher| {
                let hash = hasher.hash_with_setting(&mut workspace, &password, &setting);
                hash.map(HashString::into_bytes)
            };
            if result == "invalid" {
                let answers = [compute(&wide), compute(&strict)];
                assert!(answers.iter().all(Result::is_err), "{shown}: {answers:?}");
                refused += 1;
                continue;
            }
            let strictly = compute(&strict);
            if result == "valid" {
                assert_eq!(strictly.ok(), hash, "{shown}");
            } else {
                assert!(strictly.is_err(), "{shown}: {strictly:?}");
            }
            match compute(&wide) {
                // Zeros in passwords are refused under any limits.
                Err(Error::RefusedByCrypt { .. }) => assert!(password.contains(&0), "{shown}"),
                answer => assert_eq!(answer, Ok(hash.unwrap()), "{shown}"),
            }
            hashes += 1;
        }
    }
    assert_eq!((hashes, refused, verdicts), (911, 375, 456));
}
