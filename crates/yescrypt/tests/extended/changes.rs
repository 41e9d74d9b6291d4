//! A site that changes: from one ROM and key to the next, and what becomes of those that are taken
//! out.

use super::*;

/// Whether a string is what this hasher makes, but for its salt.
fn made_by(hasher: &Hasher, stored: &str) -> bool {
    let stored = Setting::parse(stored).unwrap();
    let new = hasher.setting([0; 16]).unwrap();
    let parts = |of: &Setting| (of.scheme(), *of.params(), of.roms().to_vec(), of.key_id());
    parts(&stored) == parts(&new) && stored.rom_id() == new.rom_id()
}

#[test]
fn a_site_moves_from_one_rom_and_key_to_the_next() {
    let images = [image(b"old"), image(b"new")];
    let [(_, old), (new_id, new)] = images.each_ref().map(held);
    let mut workspace = Workspace::new();
    let before =
        Hasher::new().with_params(small(NROM)).with_rom(old.clone()).assuming_unnamed_key(key(1));
    let first = before.hash(&mut workspace, b"password").unwrap();
    assert!(first.starts_with("$y$") && made_by(&before, &first));

    // Names come in; what has none is still known.
    let mut roms = RomSet::new();
    roms.attach(new_id, new).unwrap();
    roms.assume_unnamed(old);
    roms.activate(new_id).unwrap();
    let mut keys = KeySet::new();
    keys.assume_unnamed(key(1));
    keys.add(id("2026"), key(2)).unwrap();
    keys.activate(id("2026")).unwrap();
    let after = before.clone().with_roms(roms.clone()).with_keys(keys);
    assert_eq!(answers(&after, &first), Ok(true));
    assert!(!made_by(&after, &first));

    // The key without the password; the ROM with it, at the next login.
    let rekeyed = after.rekey(first.as_bytes()).unwrap();
    assert!(rekeyed.starts_with("{key=2026+"), "{rekeyed}");
    assert_eq!(answers(&after, &rekeyed), Ok(true));
    assert!(!made_by(&after, &rekeyed));
    let second = after.hash(&mut workspace, b"password").unwrap();
    assert!(second.starts_with(&format!("{{rom={},key=2026+", new_id)));
    assert!(made_by(&after, &second));

    // Then the list: another scheme, other parameters, the same key.
    let listed = after.clone().with_params(small(0));
    let listed = listed.with_named_roms(&[NamedRom::new(new_id, NROM)]);
    assert!(!made_by(&listed, &second));
    let third = listed.hash(&mut workspace, b"password").unwrap();
    assert!(made_by(&listed, &third));
    let mut keys = KeySet::new();
    keys.add(id("2026"), key(2)).unwrap();
    keys.add(id("2027"), key(3)).unwrap();
    keys.activate(id("2027")).unwrap();
    let last = listed.clone().with_keys(keys);
    let rekeyed = last.rekey(third.as_bytes()).unwrap();
    assert!(rekeyed.contains(",key=2027+"), "{rekeyed}");
    assert_eq!(answers(&last, &rekeyed), Ok(true));

    // Without an active key, and for strings that cannot have one, there is nothing to move to.
    let refused = Hasher::new().rekey(second.as_bytes());
    assert!(matches!(refused, Err(Error::InvalidParameter { value: 0, .. })), "{refused:?}");
    let older = format!("$7X3$36..../....salt${}", ".".repeat(43));
    assert_eq!(last.rekey(older.as_bytes()), Err(Error::KeyNotApplicable));
    assert!(matches!(last.rekey(b"$7X3$36..../....salt"), Err(Error::Malformed { .. })));

    // The bare function does not touch what says which key it has.
    for stored in [&second, &third] {
        let refused = reencrypt(stored.as_bytes(), Some(&key(2)), None);
        assert_eq!(refused, Err(Error::KeyNotApplicable));
    }
    assert!(roms.detach(new_id) && roms.active().is_none() && !roms.detach(new_id));
}

/// The end of an image has its tag and digest, too: it does not take the place of the whole.
#[test]
fn a_part_of_a_rom_does_not_replace_it() {
    let image = image(b"whole");
    let (id, whole) = held(&image);
    let mut half = RomImage::zeroed(image.as_bytes().len() / 2).unwrap();
    half.as_bytes_mut().copy_from_slice(&image.as_bytes()[image.as_bytes().len() / 2..]);
    let end = Rom::new(half).unwrap();
    assert_eq!(end.digest(), whole.digest());
    let mut roms = RomSet::new();
    roms.attach(id, whole.clone()).unwrap();
    let refused = Err(Error::BufferLength { needed: whole.size(), actual: end.size() });
    assert_eq!(roms.attach(id, end), refused);
    assert_eq!(roms.rom(id), Ok(&whole));
    let (_, again) = held(&image);
    roms.attach(id, again.clone()).unwrap();
    assert!(roms.rom(id) == Ok(&again) && again != whole);
}

/// The memory of a ROM goes back when nothing has it any more, and not before.
#[test]
fn a_rom_that_was_taken_out_stays_until_its_last_hasher_is_gone() {
    let image = Arc::new(image(b"rotation"));
    let id = RomId::new(*b"rotation");
    let mut roms = RomSet::new();
    roms.attach(id, Rom::new(image.clone()).unwrap()).unwrap();
    roms.activate(id).unwrap();
    let before = Hasher::new().with_params(small(NROM)).with_roms(roms);
    let mut roms = before.roms().clone();
    assert!(roms.detach(id));
    let after = before.clone().with_roms(roms);
    assert_eq!(Arc::strong_count(&image), 2);
    let stored = before.hash(&mut Workspace::new(), b"password").unwrap();
    assert_eq!(answers(&before, &stored), Ok(true));
    assert_eq!(answers(&after, &stored), Err(Error::RomNotLoaded { id }));
    drop(before);
    assert_eq!(Arc::strong_count(&image), 1);
}
