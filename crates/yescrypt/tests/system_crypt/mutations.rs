//! Settings as they should not be: what is accepted there is accepted here, with the same result,
//! and nothing else.
//!
//! `SALTERN_MUTATIONS=100000` tries as many as that.

use saltern_yescrypt::{Error, HashString, Hasher, Limits, Setting, Workspace};

use super::{Random, System, password, salt, setting};

/// How many are tried if the environment does not say.
const MUTATIONS: usize = 8_000;

/// As the strings of a costly mutation would take too long there, they are left out: above as much
/// work as this.
const MAX_WORK: u64 = 8 << 20;

/// What was found, each kind to be seen often enough.
#[derive(Default, Debug)]
struct Seen {
    accepted: usize,
    refused: usize,
    /// Refused by strictness alone: by the format they could be hashed with.
    strict: usize,
    costly: usize,
    foreign: usize,
    matches: usize,
}

/// Replaces, inserts, removes or repeats something, up to three times.
fn mutate(text: &mut Vec<u8>, random: &mut Random) {
    let digits = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for _ in 0..1 + random.below(3) {
        let at = 3 + random.below(text.len() as u64 - 2) as usize;
        let at = at.min(text.len());
        let byte = match random.below(4) {
            0 => 1 + random.below(255) as u8,
            1 => b"$$!*:;\\ ,~_{}="[random.below(14) as usize],
            _ => digits[random.below(64) as usize],
        };
        match random.below(12) {
            0..4 if at < text.len() => text[at] = byte,
            0..7 => text.insert(at, byte),
            7 | 8 if at < text.len() => _ = text.remove(at),
            9 => text.truncate(at),
            10 => {
                // Up to what is too long.
                let fill = [byte].repeat(random.below(400) as usize);
                text.splice(at..at, fill);
            }
            _ => text.push(b'$'),
        }
    }
}

/// Of the schemes of [`setting`], alone or as a complete hash.
fn original(random: &mut Random, hasher: &Hasher, workspace: &mut Workspace) -> Vec<u8> {
    let salt = salt(random.below(5) as usize, random);
    let text = setting(random.below(8) as usize, &salt, random);
    match random.below(2) {
        0 => text,
        _ => {
            let hash = hasher.hash_with_setting(workspace, b"password", &text);
            hash.expect("well-formed").into_bytes()
        }
    }
}

#[test]
fn what_is_accepted_there_is_accepted_here_and_nothing_else() {
    let Some(mut system) = System::start() else { return };
    let wanted = std::env::var("SALTERN_MUTATIONS").map_or(MUTATIONS, |n| n.parse().unwrap());
    // Costs are not what is compared.
    let mut limits = Limits::server();
    limits.max_p = u32::MAX;
    let hasher = Hasher::new().with_limits(limits);
    let wide = Hasher::new().with_limits(Limits::unlimited());
    let mut workspace = Workspace::new();
    let (mut random, mut seen) = (Random::new(22), Seen::default());
    for case in 0..wanted {
        let mut text = original(&mut random, &hasher, &mut workspace);
        // Some stay as they are.
        if case % 32 != 7 {
            mutate(&mut text, &mut random);
        }
        if !text.starts_with(b"$y$") && !text.starts_with(b"$7$") {
            seen.foreign += 1;
            continue;
        }
        let costly = |setting: Setting| setting.params().work() > MAX_WORK.into();
        if Setting::parse(&text).is_ok_and(costly) {
            seen.costly += 1;
            continue;
        }
        let mut secret = b"password".to_vec();
        if case % 16 == 0 {
            secret = password(1 + case / 16 % 5, &mut random);
            // One in a hundred is too long.
            secret.resize(secret.len() + usize::from(case % 96 == 0), b'x');
        }
        compare(&mut system, [&hasher, &wide], &mut workspace, (&secret, &text), &mut seen);
    }
    println!("{seen:?} of {wanted}");
    let of = |share: usize| wanted / 1000 * share;
    assert!(seen.accepted > of(150) && seen.refused > of(200), "{seen:?}");
    assert!(seen.strict > of(10) && seen.matches > of(10), "{seen:?}");
    assert!(seen.costly + seen.foreign < of(500), "{seen:?}");
}

fn compare(
    system: &mut System,
    [hasher, wide]: [&Hasher; 2],
    workspace: &mut Workspace,
    (password, text): (&[u8], &[u8]),
    seen: &mut Seen,
) {
    let shown = text.escape_ascii();
    let theirs = system.crypt(password, text);
    let ours = hasher.hash_with_setting(workspace, password, text).map(HashString::into_bytes);
    assert_eq!(ours.as_ref().ok(), theirs.as_ref(), "{shown}: {ours:?}");
    let verified = hasher.verify(workspace, password, text) == Ok(true);
    assert_eq!(verified, theirs.as_deref() == Some(text), "{shown}");
    if password.len() < 512 {
        let told = Setting::checksalt(text);
        assert_eq!(told.is_ok(), theirs.is_some(), "{shown}: {told:?}");
    }
    seen.matches += usize::from(verified);
    *if theirs.is_some() { &mut seen.accepted } else { &mut seen.refused } += 1;
    if matches!(ours, Err(Error::RefusedByCrypt { .. })) {
        // Unless it needs a ROM as well.
        seen.strict += usize::from(wide.hash_with_setting(workspace, password, text).is_ok());
    }
}
