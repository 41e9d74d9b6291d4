//! Strings of Firebase: its published example, under a policy with the project's parameters.

use saltern::policy::{
    DecoyCost, Firebase, FirebaseParameters, Scheme, SignerKey, SignerKeySource,
};
use saltern::table::{Census, Table};
use saltern::{ErrorKind, Outcome, Passwords, Policy, Prepared};

use super::logins::cheap;

const KEY: &str =
    "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==";
const HASH: &str =
    "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==";
const SALT: &str = "42xEC+ixf3L2lw==";
const PASSWORD: &str = "user1password";

fn key() -> SignerKey {
    SignerKey::of_text(KEY).unwrap()
}

/// A policy with the parameters of the example, and its string.
fn example() -> (Policy, String) {
    let key = key();
    let id = key.id().unwrap();
    let parameters = FirebaseParameters { key: id, separator: vec![7], rounds: 8, mem_cost: 14 };
    let stored = parameters.string(SALT, HASH);
    let mut policy = cheap();
    policy.firebase = Some(Firebase { signer_key: SignerKeySource::Value(key), parameters });
    (policy, stored)
}

fn matches(passwords: &Passwords, password: &str, stored: &str) -> Result<bool, ErrorKind> {
    let outcome = passwords.verify("account", password, Some(stored)).wait();
    outcome.map(|outcome| outcome.is_match()).map_err(|error| error.kind())
}

#[test]
fn the_published_example_is_verified_and_wrapped() {
    let (policy, stored) = example();
    let kratos = format!("$firescrypt$ln=14,r=8,p=1${SALT}${HASH}$Bw==${KEY}");
    let other = HASH.replace('+', "-").replace('/', "_");
    let in_url = stored.replace(HASH, &other);
    let passwords = Passwords::new(policy.clone()).unwrap();
    for stored in [&stored, &kratos, &in_url] {
        assert_eq!(matches(&passwords, PASSWORD, stored), Ok(true), "{stored}");
        assert_eq!(matches(&passwords, "user2password", stored), Ok(false));
        assert_eq!(passwords.table().policy().schemes.len(), Scheme::ALL.len());
    }
    let wrapped = passwords.wrap(&stored).wait().unwrap().unwrap();
    let over = "{over=$firescrypt$ln=14,r=8,p=1$42xEC+ixf3L2lw==$Bw==}$y$";
    assert!(wrapped.starts_with(over), "{wrapped}");
    // From then on the signer key is not needed.
    let mut without = policy;
    without.firebase = None;
    let without = Passwords::new(without).unwrap();
    assert_eq!(matches(&without, PASSWORD, &wrapped), Ok(true));
    assert_eq!(matches(&without, "user2password", &wrapped), Ok(false));
    let Ok(Outcome::Match { outdated, .. }) =
        passwords.verify("account", PASSWORD, Some(&wrapped)).wait()
    else {
        panic!()
    };
    // 16 MiB of scrypt are more than these new hashes.
    assert!(!outdated.wrapped);
}

/// Without its signer key, or with another one, a right password is no mismatch.
#[test]
fn a_string_of_another_project_is_unavailable() {
    let (mut policy, stored) = example();
    let other = KEY.replace("jxspr8", "jxspr9");
    let of_other = format!("$firescrypt$ln=14,r=8,p=1${SALT}${HASH}$Bw==${other}");
    let passwords = Passwords::new(policy.clone()).unwrap();
    let unavailable = Err(ErrorKind::Unavailable);
    assert_eq!(matches(&passwords, PASSWORD, &of_other), unavailable);
    let wrapped = passwords.wrap(&of_other).wait();
    assert_eq!(wrapped.unwrap_err().kind(), ErrorKind::Unavailable);
    // The key is not the one that the policy describes.
    let project = policy.firebase.as_mut().unwrap();
    project.signer_key = SignerKeySource::Value(SignerKey::of_text(&other).unwrap());
    let error = Passwords::new(policy.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(!format!("{error} {error:?} {policy:?}").contains(&other[..20]));
    policy.firebase = None;
    let prepared = Prepared::new(policy.clone()).unwrap();
    assert_eq!(prepared.can_verify(&stored).unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(matches(&Passwords::new(policy).unwrap(), PASSWORD, &stored), unavailable);
}

/// What a census counts can be a decoy; it needs no key.
#[test]
fn an_unknown_account_costs_what_a_user_of_firebase_costs() {
    let (mut policy, stored) = example();
    let mut census = Census::default();
    Table::open(&policy).unwrap().count(&stored, &mut census).unwrap();
    assert_eq!((census.schemes[&Scheme::Firebase], census.refused), (1, 0));
    policy.firebase = None;
    for costs in [census.costs(1), vec![DecoyCost { like: stored, share: 1 }]] {
        assert_eq!(costs.len(), 1);
        policy.decoy.costs = costs;
        let passwords = Passwords::new(policy.clone()).unwrap();
        let outcome = passwords.verify("nobody", PASSWORD, None).wait();
        assert_eq!(outcome, Ok(Outcome::Mismatch));
    }
}

/// The cost is that of scrypt, and is refused before anything is spent; so is what is none.
#[test]
fn extreme_costs_are_refused() {
    let (policy, stored) = example();
    let passwords = Passwords::new(policy).unwrap();
    let with = |costs: &str| matches(&passwords, PASSWORD, &stored.replace("ln=14,r=8,p=1", costs));
    for costs in ["ln=22,r=8,p=1", "ln=14,r=4096,p=1", "ln=14,r=8,p=1000", "ln=40,r=8,p=1"] {
        assert_eq!(with(costs), Err(ErrorKind::OverLimit), "{costs}");
    }
    for costs in [
        "ln=64,r=8,p=1",
        "ln=0,r=8,p=1",
        "ln=14,r=0,p=1",
        "ln=14,r=8,p=0",
        "ln=014,r=8,p=1",
        "ln=14,r=4294967295,p=4294967295",
        "ln=4294967295,r=8,p=1",
        "r=8,ln=14,p=1",
    ] {
        assert_eq!(with(costs), Err(ErrorKind::BadInput), "{costs}");
    }
}

#[test]
fn a_policy_names_the_file_of_the_signer_key() {
    let folder = tempfile::tempdir().unwrap();
    let (mut policy, stored) = example();
    assert!(policy.to_toml().unwrap_err().to_string().contains("firebase.signer_key"));
    let project = policy.firebase.as_mut().unwrap();
    for content in [KEY.to_owned(), format!("{KEY}\n"), format!("{KEY}\r\n")] {
        let file = folder.path().join("firebase.key");
        std::fs::write(&file, content).unwrap();
        project.signer_key = SignerKeySource::File(file);
    }
    let text = policy.to_toml().unwrap();
    assert!(!text.contains(&KEY[..20]), "{text}");
    let read = Policy::parse(&text, "").unwrap();
    let parameters = |policy: &Policy| policy.firebase.as_ref().unwrap().parameters.clone();
    assert_eq!(parameters(&read), parameters(&policy));
    assert_eq!(matches(&Passwords::new(read.clone()).unwrap(), PASSWORD, &stored), Ok(true));
    for wrong in ["", "\n", &KEY[..84], &"0".repeat(64), &format!("{KEY}\n\n")] {
        std::fs::write(folder.path().join("firebase.key"), wrong).unwrap();
        let error = Passwords::new(read.clone()).unwrap_err();
        assert!(error.to_string().contains("it must hold base 64 of 64 bytes"), "{error}");
    }
}
