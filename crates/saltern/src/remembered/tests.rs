use super::*;

fn table(entries: usize, time: Duration) -> Remembered {
    Remembered::new(&Remember { time, entries }).unwrap()
}

const DAY: Duration = Duration::from_secs(86_400);
const CURRENT: Known = Known {
    outdated: Reasons {
        scheme: false,
        cost: false,
        floor: false,
        salt: false,
        key: false,
        rom: false,
        wrapped: false,
        seal: false,
    },
    update_due: false,
};

#[test]
fn every_part_of_a_login_and_its_place_count() {
    let table = table(1000, DAY);
    table.keep(table.tag(b"alice", "$y$a", b"secret"), CURRENT);
    let known = |account: &str, stored: &str, password: &str| {
        table.find(table.tag(account.as_bytes(), stored, password.as_bytes())).is_some()
    };
    assert!(known("alice", "$y$a", "secret"));
    for (account, stored, password) in [
        ("alic", "$y$a", "secret"),
        ("alice", "$y$b", "secret"),
        ("alice", "$y$a", "Secret"),
        ("alice", "$y$a", ""),
        ("alice$", "y$a", "secret"),
        ("alice", "$y$as", "ecret"),
        ("", "alice$y$a", "secret"),
    ] {
        assert!(!known(account, stored, password), "{account} {stored} {password}");
    }
}

#[test]
fn another_table_has_another_key() {
    let [one, other] = [table(8, DAY), table(8, DAY)];
    let tags = [&one, &other].map(|table| table.tag(b"alice", "$y$a", b"secret"));
    assert_ne!(tags[0].tag, tags[1].tag);
}

#[test]
fn a_login_is_forgotten_when_its_time_has_passed() {
    let table = table(8, Duration::from_millis(1));
    let tag = table.tag(b"alice", "$y$a", b"secret");
    table.keep(tag, CURRENT);
    std::thread::sleep(Duration::from_millis(2));
    assert!(table.find(tag).is_none());
}

/// One set, so that the order is known.
#[test]
fn the_login_that_was_not_used_for_longest_makes_room() {
    let table = table(WAYS, DAY);
    let tags: Vec<Tag> =
        (0..=WAYS).map(|at| table.tag(&at.to_le_bytes(), "$y$a", b"secret")).collect();
    for tag in &tags[..WAYS] {
        table.keep(*tag, CURRENT);
    }
    assert!(table.find(tags[0]).is_some());
    // Again, which takes no second entry.
    table.keep(tags[2], CURRENT);
    table.keep(tags[WAYS], CURRENT);
    let left: Vec<bool> = tags.iter().map(|tag| table.find(*tag).is_some()).collect();
    assert_eq!(left.iter().filter(|left| !**left).count(), 1);
    assert!(!left[1], "the second was not used since");
}

#[test]
fn the_memory_is_that_of_the_policy() {
    for entries in [1, 8, 9, 100_000] {
        let table = table(entries, DAY);
        let bytes = size_of_val(&*table.sets);
        assert!(bytes <= entries.next_multiple_of(WAYS) * 50, "{entries}: {bytes}");
        for number in 0..2 * entries as u64 {
            table.keep(table.tag(&number.to_le_bytes(), "", b""), CURRENT);
        }
        assert_eq!(size_of_val(&*table.sets), bytes);
    }
}

/// Each login differs from one that is remembered in one place of one part.
#[test]
fn a_million_changed_logins_are_not_remembered() {
    let table = table(1 << 16, DAY);
    let mut random = saltern_testing::Random::new(7);
    let mut remembered = 0;
    let mut known = 0;
    while known < 1_000_000 {
        let mut parts = [8, 60, 12].map(|length| {
            (0..length).map(|_| b'a' + (random.below(26) as u8)).collect::<Vec<u8>>()
        });
        let tag = |parts: &[Vec<u8>; 3]| {
            table.tag(&parts[0], std::str::from_utf8(&parts[1]).unwrap(), &parts[2])
        };
        let login = tag(&parts);
        table.keep(login, CURRENT);
        remembered += u32::from(table.find(login).is_some());
        for _ in 0..100 {
            let part = random.below(3) as usize;
            let at = random.below(parts[part].len() as u64) as usize;
            let old = parts[part][at];
            parts[part][at] = b'A' + (random.below(26) as u8);
            assert!(table.find(tag(&parts)).is_none(), "{parts:?}");
            parts[part][at] = old;
            known += 1;
        }
    }
    assert_eq!(remembered, 10_000);
}
