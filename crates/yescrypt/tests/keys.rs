//! Keys with names and fingerprints.

use saltern_yescrypt::{
    Error, HashString, Hasher, Params, Workspace,
    hazmat::reencrypt,
    keys::{HashKey, KeyId, KeySet},
    rom::RomId,
};

fn id(text: &str) -> KeyId {
    text.parse().unwrap()
}

fn hasher(named: &[(&str, u8)]) -> Hasher {
    let mut keys = KeySet::new();
    for &(name, byte) in named {
        keys.add(id(name), HashKey::new([byte; 32])).unwrap();
    }
    if let Some((name, _)) = named.first() {
        keys.activate(id(name)).unwrap();
    }
    Hasher::new().with_params(Params::yescrypt(16, 1)).with_keys(keys)
}

/// Computed with `hashlib.sha256(b"saltern hash key fingerprint 1" + key).hexdigest()[:16]`.
#[test]
fn known_fingerprints() {
    for (byte, expected) in [(0, "bc929f82cc811fd0"), (7, "375517c7da22b70b")] {
        assert_eq!(HashKey::new([byte; 32]).fingerprint().to_string(), expected);
    }
}

#[test]
fn another_key_under_the_right_name_is_unavailable() {
    let mut workspace = Workspace::new();
    let right = hasher(&[("2026", 1)]);
    let stored = right.hash(&mut workspace, b"password").unwrap();
    let full = id("2026").with_fingerprint(HashKey::new([1; 32]).fingerprint());
    assert!(stored.starts_with(&format!("{{key={full}}}$y$")), "{stored}");
    assert_eq!(right.verify(&mut workspace, b"password", stored.as_bytes()), Ok(true));
    assert_eq!(right.verify(&mut workspace, b"Password", stored.as_bytes()), Ok(false));
    let wrong = hasher(&[("2026", 2)]);
    let unavailable = Error::KeyNotLoaded { id: full };
    assert_eq!(wrong.verify(&mut workspace, b"password", stored.as_bytes()), Err(unavailable));
    assert_eq!(wrong.rekey(stored.as_bytes()), Err(unavailable));
    assert_eq!(wrong.without_key(stored.as_bytes()), Err(unavailable));
    // A key that was asked for in full is checked at once.
    assert_eq!(KeySet::new().add(full, HashKey::new([2; 32])), Err(unavailable));
    assert_eq!(KeySet::new().add(full, HashKey::new([1; 32])), Ok(()));
    // A name alone, as an administrator may have put it there, is that of whatever key has it.
    let alone = stored.replace(&full.to_string(), "2026");
    assert_eq!(right.verify(&mut workspace, b"password", alone.as_bytes()), Ok(true));
    assert_eq!(right.rekey(alone.as_bytes()).as_ref(), Ok(&stored));
}

#[test]
fn nothing_is_encrypted_twice() {
    let mut workspace = Workspace::new();
    let plain = hasher(&[]).hash(&mut workspace, b"password").unwrap();
    let both = hasher(&[("b", 2), ("a", 1)]);
    let once = both.rekey(plain.as_bytes()).unwrap();
    assert_eq!(both.rekey(once.as_bytes()).as_ref(), Ok(&once));
    let at_a = hasher(&[("a", 1), ("b", 2)]).rekey(once.as_bytes()).unwrap();
    assert!(at_a != once && at_a.starts_with("{key=a+"));
    for stored in [&plain, &once, &at_a] {
        assert_eq!(both.verify(&mut workspace, b"password", stored.as_bytes()), Ok(true));
        assert_eq!(both.without_key(stored.as_bytes()).as_ref(), Ok(&plain));
    }
    // Without a name the result could not be told from what it was made of: the next time it would
    // be decrypted again.
    let assuming = both.clone().assuming_unnamed_key(HashKey::new([3; 32]));
    assert_eq!(assuming.without_key(&plain), Err(Error::KeyNotApplicable));
    // Nor can what names a key be made plain: it would be taken to be encrypted with the other.
    assert_eq!(assuming.without_key(&once), Err(Error::KeyNotApplicable));
    assert_eq!(assuming.rekey(&once).as_ref(), Ok(&once));
    // What is moved without names cannot be told from what was not.
    let key = HashKey::new([1; 32]);
    let moved = |text: &str| reencrypt(text, None, Some(&key)).unwrap();
    assert_ne!(moved(&moved(&plain)), moved(&plain));
}

#[test]
fn names_with_fingerprints_have_one_spelling() {
    let text = "2026-01.x+00ff1122334455aa";
    assert_eq!((id(text).to_string(), id(text).as_str()), (text.to_owned(), "2026-01.x"));
    let longest = format!("{}+0123456789abcdef", "n".repeat(32));
    let rom: RomId = "00ff1122334455aa".parse().unwrap();
    let stored = format!("{{rom={rom},key={longest}}}$y$j1152$n34Po/");
    let mut workspace = Workspace::new();
    let error = hasher(&[]).hash_with_setting(&mut workspace, b"", stored.as_bytes());
    assert_eq!(error, Err(Error::KeyNotLoaded { id: id(&longest) }));
    for wrong in [
        "a+",
        "+00ff1122334455aa",
        "a+00FF1122334455aa",
        "a+00ff1122334455a",
        "a+00ff1122334455aab",
        "a+00ff1122334455aa+00ff1122334455aa",
        "a 00ff1122334455aa",
    ] {
        assert!(wrong.parse::<KeyId>().is_err(), "{wrong}");
    }
}

#[test]
fn what_debugging_shows_holds_no_salt() {
    let text = "{key=a}$y$j75$SalineSolutio.$n9K3MJBOK7rb5ZnDPVRaLq0Z1x8.y.eGWQknIyYN/.8";
    let stored = HashString::parse(text.as_bytes()).unwrap();
    let shown = format!("{stored:?} {:?}", stored.setting());
    assert!(shown.contains("KeyId(a)") && shown.contains("n: 1024"), "{shown}");
    let salt = format!("{:?}", stored.setting().salt());
    for secret in ["Saline", "n9K3", &salt, salt.trim_matches(['[', ']'])] {
        assert!(!shown.contains(secret), "{shown}");
    }
}
