//! Policies in files: what is wrong is said with its place.

use std::time::Duration;

use proptest::prelude::*;
use saltern::policy::{DecoyCost, Key, KeySource, Params, Scheme, Secret, fingerprint_path};
use saltern::{ErrorKind, Passwords, Policy};
use saltern_pool::WipePolicy;
use saltern_yescrypt::hazmat::Pages;
use saltern_yescrypt::params::{FlavorPolicy, Syntax};

/// A text, and what is said of it.
const WRONG: [(&str, &str); 61] = [
    (
        "x = 1",
        "1: x = 1: expected a known key: one of assume_unnamed_key, assume_unnamed_rom, check_roms, decoy, firebase, floor, keys, limits, params, pool, remember, replace, roms, schemes, seal",
    ),
    ("schemes = []", "1: schemes: expected a list with \"yescrypt\": new hashes are of"),
    ("[pool]\nthread = 1", "2: pool.thread = 1: expected a known key: one of deadline,"),
    ("[pools]\nthreads = 1", "1: pools: expected a known key: one of assume_unnamed_key,"),
    ("[pool.more]\nx = 1", "1: pool.more: expected a known key: one of deadline,"),
    ("[pool]\n\nthreads = 0", "3: pool.threads = 0: expected 1 to 1024"),
    ("[pool]\nthreads = -1", "2: pool.threads = -1: expected 1 to 1024"),
    ("[pool]\nthreads = \"two\"", "2: pool.threads = \"two\": expected 1 to 1024"),
    (
        "[pool]\nmemory = \"1MB\"",
        "2: pool.memory = \"1MB\": expected bytes, or a size such as \"256MiB\"",
    ),
    (
        "[pool]\nthreads = 8\nprepare = true\nmemory = \"64MiB\"",
        "4: pool.memory = \"64MiB\": expected at least 13",
    ),
    ("[pool]\nmemory = \"1MiB\"", "2: pool.memory = \"1MiB\": expected at least 18"),
    ("[pool]\ndeadline = 2", "2: pool.deadline = 2: expected a time such as"),
    ("[pool]\ndeadline = \"0s\"", "2: pool.deadline = \"0s\": expected a time above zero"),
    ("[pool]\nqueue = 0", "2: pool.queue = 0: expected at least 1"),
    ("[pool]\nwipe = \"never\"", "2: pool.wipe = \"never\": expected \"on-drop\","),
    ("pool = 1", "1: pool = 1: expected a table"),
    ("pool = []", "1: pool: expected a table"),
    ("[params]\ncost = 12", "2: params.cost = 12: expected 1 to 11"),
    ("[params]\ncost = 0", "2: params.cost = 0: expected 1 to 11"),
    ("[params]\ncost = 5\nt = 1", "3: params.t = 1: expected params.cost alone"),
    (
        "[params]\nn = 1000",
        "1: params = n 1000, r 32, p 1, t 0: expected a cost that [limits] admits",
    ),
    (
        "# above\n[params]\ncost = 10",
        "2: params = n 131072, r 32, p 1, t 0: expected a cost that [limits] admits",
    ),
    (
        "[limits]\nmemory = \"8MiB\"",
        "policy: params = n 4096, r 32, p 1, t 0: expected a cost that [limits] admits",
    ),
    (
        "[floor]\ncost = 6",
        "1: floor = n 8192, r 32, p 1, t 0: expected at most the cost of [params]",
    ),
    ("[floor]\nsalt = 17", "2: floor.salt = 17: expected 0 to 16"),
    ("schemes = [\"bcrypt\"]", "1: schemes = bcrypt: expected a list with \"yescrypt\""),
    (
        "schemes = [\"yescrypt\", \"md4\"]",
        "1: schemes[1] = \"md4\": expected \"yescrypt\", \"scrypt\",",
    ),
    (
        "schemes = [\"yescrypt\", \"yescrypt\"]",
        "1: schemes[1] = \"yescrypt\": expected each scheme once",
    ),
    ("replace = \"all\"", "1: replace = \"all\": expected \"weaker\", \"others\" or a list of"),
    ("replace = []", "1: replace: expected \"weaker\", \"others\" or a list of schemes"),
    ("replace = true", "1: replace = true: expected \"weaker\", \"others\" or a list"),
    ("replace = [\"md5\"]", "1: replace[0] = \"md5\": expected \"yescrypt\", \"scrypt\","),
    ("replace = [\"yescrypt\"]", "1: replace[0] = \"yescrypt\": expected another scheme than"),
    ("replace = [\"bcrypt\"]", "1: replace[0] = \"bcrypt\": expected one of `schemes`"),
    (
        "schemes = ['yescrypt', 'hex']\nreplace = ['hex', 'hex']",
        "2: replace[1] = 'hex': expected each scheme once",
    ),
    ("[firebase]", "1: firebase.signer_key: expected the name of a file; it is missing"),
    (
        "[firebase]\nsigner_key = 'a'\nfingerprint = 'abc'",
        "3: firebase.fingerprint = 'abc': expected 16 digits",
    ),
    (
        "[firebase]\nsigner_key = 'a'\nfingerprint = '0123456789abcdef'\n\
         salt_separator = 'B'\nrounds = 8\nmem_cost = 14",
        "4: firebase.salt_separator = 'B': expected base 64",
    ),
    (
        "[firebase]\nsigner_key = 'a'\nfingerprint = '0123456789abcdef'\n\
         salt_separator = 'Bw=='\nrounds = 8\nmem_cost = 64",
        "6: firebase.mem_cost = 64: expected a cost that [limits] admits",
    ),
    ("schemes = \"yescrypt\"", "1: schemes = \"yescrypt\": expected a list"),
    ("[[keys]]\nname = \"a b\"", "2: keys[0].name = \"a b\": expected a name of 1 to 32"),
    ("[[keys]]\nname = \"a\"", "1: keys[0].fingerprint: expected 16 digits"),
    (
        "[[decoy.costs]]\nlike = \"$9$x\"\nshare = 1",
        "2: decoy.costs[0].like = \"$9$x\": expected a string that this policy can verify",
    ),
    ("[[decoy.costs]]\nlike = \"$y$j9T$abcd\"", "1: decoy.costs[0].share = 0: expected 1 to 2^48"),
    ("a = [", "1: "),
    (
        concat!(
            "[[keys]]\nname = \"a\"\nfile = \"a\"\nfingerprint = \"0011223344556677\"\n",
            "[[keys]]\nname = \"a\"\nfile = \"b\"\nfingerprint = \"8899aabbccddeeff\"\n",
        ),
        "6: keys[1].name = \"a\": expected each name once",
    ),
    (
        concat!(
            "[[keys]]\nname = \"a\"\nfile = \"a\"\nfingerprint = \"0011223344556677\"\n",
            "active = true\n[[keys]]\nname = \"b\"\nfile = \"b\"\n",
            "fingerprint = \"8899aabbccddeeff\"\nactive = true",
        ),
        "10: keys[1].active = true: expected true for one key only",
    ),
    ("[pool]\nthreads = 1\nthreads = 2", "3: "),
    ("check_roms = \"0s\"", "1: check_roms = \"0s\": expected a time above zero"),
    (
        "[[decoy.costs]]\nlike = \"$2b$12$......................\"\nshare = 1",
        "2: decoy.costs[0].like = \"$2b$12$......................\": expected a string that this \
         policy can verify (the policy does not accept bcrypt",
    ),
    (
        "schemes = ['yescrypt', 'bcrypt']\n[[decoy.costs]]\n\
         like = '$2b$31$......................'\nshare = 1",
        "3: decoy.costs[0].like = '$2b$31$......................': expected a string that this \
         policy can verify (work 38",
    ),
    (
        "[pool]\nmemory = '20MiB'\n[[decoy.costs]]\nlike = '$y$jBT$abcd'\nshare = 1",
        "4: decoy.costs[0].like = '$y$jBT$abcd': expected a cost within pool.memory",
    ),
    (
        "schemes = ['yescrypt', 'argon2']\n[pool]\nmemory = '20MiB'\n[[decoy.costs]]\n\
         like = '$argon2id$v=19$m=65536,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$32'\nshare = 1",
        "5: decoy.costs[0].like = '$argon2id$v=19$m=65536,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$32': \
         expected a cost within pool.memory",
    ),
    (
        "[[decoy.costs]]\nlike = '$y$j75$abcd'\nshare = 1\n\
         [[decoy.costs]]\nlike = '$y$j9T$abcd'\nshare = 1",
        "1: decoy.key: expected a key file if there are several costs",
    ),
    (
        "[[decoy.costs]]\nlike = '!$y$j75$abcd'\nshare = 1",
        "2: decoy.costs[0].like = '!$y$j75$abcd': expected a string that this policy can verify",
    ),
    ("[seal]\nrequired = true", "2: seal.required = true: expected false while no key"),
    ("[[seal.keys]]\nname = \"a\"", "1: seal.keys[0].fingerprint: expected 16 digits"),
    (
        concat!(
            "[[seal.keys]]\nname = \"a\"\nfile = \"a\"\nfingerprint = \"0011223344556677\"\n",
            "[[seal.keys]]\nname = \"a\"\nfile = \"b\"\nfingerprint = \"8899aabbccddeeff\"\n",
        ),
        "6: seal.keys[1].name = \"a\": expected each name once",
    ),
    ("[limits]\nmemory = \"1e9\"", "2: limits.memory = \"1e9\": expected bytes"),
    ("[limits]\npassword = -1", "2: limits.password = -1: expected a number, at least 0"),
    ("\"pool.threads\" = 1", "1: \"pool.threads\" = 1: expected"),
];

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, said) in WRONG {
        let invalid = Policy::parse(text, "").expect_err(text);
        let shown = invalid.to_string();
        let expected =
            if said.starts_with("policy") { said.to_owned() } else { format!("policy:{said}") };
        assert!(shown.starts_with(&expected), "{text:?}\n{shown}\n{expected}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("site.toml");
    std::fs::write(&path, "[pool]\nthreads = 0\n").unwrap();
    let error = Policy::read(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadInput);
    let place = format!("{}:2: pool.threads = 0: expected 1 to 1024", path.display());
    assert_eq!(error.to_string(), place);
    let missing = Policy::read(folder.path().join("other.toml")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Unavailable);
    let no_text = folder.path().join("bytes.toml");
    std::fs::write(&no_text, b"a = '\xff'").unwrap();
    assert_eq!(Policy::read(&no_text).unwrap_err().kind(), ErrorKind::Unavailable);
    let long = folder.path().join("long.toml");
    std::fs::write(&long, "# long\n".repeat(1 << 18)).unwrap();
    assert!(Policy::read(&long).unwrap_err().to_string().contains("expected at most 1 MiB"));
    let device = Policy::read("/dev/zero").unwrap_err().to_string();
    assert!(device.contains("not a regular file"), "{device}");
}

#[test]
fn a_whole_policy_is_read_and_its_files_are_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, [5; 32]).unwrap();
    let bytes = saltern_yescrypt::keys::HashKey::new([5; 32]);
    let policy = |fingerprint: &str| {
        let text = format!(
            "schemes = ['yescrypt', 'bcrypt', 'hex']\n\
             [params]\nn = 256\nr = 8\n[floor]\nn = 64\nr = 8\nsalt = 4\n\
             [limits]\nmemory = '8MiB'\nwork = '1GiB'\npassword = 100\nt = 5\nrom = true\n\
             [[keys]]\nname = '2026'\nfile = 'key'\nfingerprint = '{fingerprint}'\nactive = true\n\
             [pool]\nthreads = 1\nmemory = '32 MiB'\nqueue = 10\ndeadline = '10s'\nprepare = true\n\
             [decoy]\nkey = 'key'\n\
             [[decoy.costs]]\nlike = '$2b$04$......................'\nshare = 1\n\
             [[decoy.costs]]\nlike = '$y$j75$......................'\nshare = 9\n"
        );
        Policy::parse(&text, folder.path()).unwrap()
    };
    let right = policy(&bytes.fingerprint().to_string());
    assert_eq!((right.params, right.min_salt), (Params::yescrypt(256, 8), 4));
    assert_eq!(right.schemes, [Scheme::Yescrypt, Scheme::Bcrypt, Scheme::Hex]);
    assert_eq!((right.limits.max_password, right.pool.max_waiting), (100, 10));
    let passwords = Passwords::new(right.clone()).unwrap();
    let stored = passwords.hash("secret").wait().unwrap();
    assert!(stored.starts_with("{key=2026+"));
    let wrong = Passwords::new(policy("0011223344556677")).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Unavailable, "another key in the file: {wrong}");
    let said = format!("holds the key {}", right.keys[0].name);
    assert!(wrong.to_string().contains(&said), "{wrong}");
    std::fs::write(fingerprint_path(&key), "0011223344556677\n").unwrap();
    assert_eq!(Passwords::new(right.clone()).unwrap_err().kind(), ErrorKind::Unavailable);
    std::fs::remove_file(key).unwrap();
    assert_eq!(Passwords::new(right).unwrap_err().kind(), ErrorKind::Unavailable);
}

/// What a file can say of a policy, as numbers choose it.
fn any_policy(one: u64, two: u64, flags: u16) -> Policy {
    let is = |bit: u16| flags >> bit & 1 == 1;
    let part = |shift: u32, below: u64| two.rotate_right(shift) % below;
    let mut policy = Policy::default();
    policy.params = Params::yescrypt(1 << (4 + one % 8), 1 + (one >> 8) as u32 % 32);
    (policy.params.p, policy.params.t) = (1 + (one >> 16) as u32 % 3, (one >> 24) as u32 % 4);
    policy.floor = if is(0) { policy.params } else { Params::yescrypt(4, 1) };
    policy.min_salt = part(0, 17) as usize;
    policy.check_roms = Duration::from_millis(1 + part(5, 1 << 40));
    policy.schemes.extend(is(1).then_some(Scheme::Bcrypt));
    let limits = &mut policy.limits;
    limits.max_memory = if is(2) { u64::MAX } else { (64 << 20) + part(7, 1 << 40) };
    limits.max_work = if is(3) { u64::MAX } else { (8 << 30) + part(11, 1 << 40) };
    let most = |bit: u16, limit: u32| if is(bit) { u32::MAX } else { limit };
    (limits.max_r, limits.max_p) = (most(4, 64), most(5, 64));
    limits.max_t = most(6, 9);
    limits.max_n = if is(7) { u64::MAX } else { 1 << 20 };
    limits.max_password = part(13, 1 << 32) as usize;
    limits.flavors = [FlavorPolicy::DefaultOnly, FlavorPolicy::Any][usize::from(is(8))];
    limits.syntax = [Syntax::Crypt3, Syntax::Wide][usize::from(is(9))];
    let source = KeySource::File(format!("/keys/\"{two}\\\t").into());
    let name = format!("{}+{one:016x}", part(17, 1000)).parse().unwrap();
    policy.keys.push(Key { name, source: source.clone(), active: is(10) });
    policy.assume_unnamed_key = is(11).then(|| source.clone());
    #[cfg(feature = "rom")]
    {
        use saltern::policy::{Access, RomHash, RomSource, SiteRom};
        let hash: RomHash = format!("{one:016x}{}", "07".repeat(24)).parse().unwrap();
        let access = [None, Some(Access::Map)][usize::from(is(12))];
        let source = RomSource::Image { path: "/image".into(), hash, access };
        policy.roms.push(SiteRom { id: hash.id(), source, active: is(13) });
        policy.assume_unnamed_rom = is(12).then(|| hash.id());
    }
    let pool = &mut policy.pool;
    (pool.threads, pool.in_flight) = (1 + part(19, 1024) as usize, 1 + part(23, 256) as usize);
    // Enough for what 1024 threads prepare, within the least memory limit.
    (pool.memory, pool.max_waiting) = ((1 << 37) + part(29, 1 << 40), 1 + part(31, 9999) as usize);
    pool.patience = Duration::from_millis(part(37, 1 << 40));
    pool.wipe = [WipePolicy::OnDrop, WipePolicy::AfterEach][usize::from(is(14))];
    pool.pages = [Pages::Standard, Pages::Huge][usize::from(is(15))];
    pool.prepare = is(14).then(|| policy.params.check(&policy.limits).unwrap());
    pool.processors = (0..part(41, 4) as usize).collect();
    policy.deadline = is(15).then(|| Duration::from_millis(1 + part(43, 1 << 40)));
    policy.decoy.key = Some(source);
    let like = "$y$j75$......................".to_owned();
    policy.decoy.costs =
        vec![DecoyCost { like, share: 1 + part(47, 1 << 48) }; part(53, 3) as usize];
    policy
}

#[test]
fn what_no_file_can_say_is_not_written() {
    fn said(change: impl Fn(&mut Policy)) -> String {
        let mut policy = Policy::default();
        change(&mut policy);
        policy.to_toml().unwrap_err().to_string()
    }
    let key = |name: &str, source: &KeySource| Key {
        name: name.parse().unwrap(),
        source: source.clone(),
        active: true,
    };
    let (value, file) = (KeySource::Value(Secret::new([7; 32])), KeySource::File("key".into()));
    assert!(said(|policy| policy.pool.threads = 0).contains("1 to 1024"));
    assert!(
        said(|policy| policy.keys = vec![key("a+0011223344556677", &value)])
            .starts_with("policy: keys[0].file: expected the name of a file")
    );
    assert!(said(|policy| policy.keys = vec![key("a", &file)]).contains("keys[0].fingerprint"));
    assert!(said(|policy| policy.decoy.key = Some(value.clone())).contains("decoy.key"));
    #[cfg(feature = "rom")]
    {
        use saltern::policy::{Access, RomHash, RomSource, SiteRom};
        let hash: RomHash = "07".repeat(32).parse().unwrap();
        let source = RomSource::Image { path: "/image".into(), hash, access: Some(Access::Memfd) };
        let rom = SiteRom { id: hash.id(), source, active: true };
        let error = said(|policy| policy.roms = vec![rom.clone()]);
        assert!(error.contains("roms[0].access") && error.contains("\"direct\""), "{error}");
    }
}

proptest! {
    /// A policy that is written is read as it was.
    #[test]
    fn a_text_says_what_the_policy_says(one: u64, two: u64, flags: u16) {
        let policy = any_policy(one, two, flags);
        let text = policy.to_toml().unwrap();
        let read = Policy::parse(&text, "/elsewhere").unwrap();
        prop_assert_eq!(format!("{read:?}"), format!("{policy:?}"), "{}", text);
        prop_assert_eq!(read.to_toml().unwrap(), text);
    }

    /// Whatever the text is, it is a policy or what is wrong is said; a policy makes strings that
    /// it takes.
    #[test]
    fn no_text_does_harm(
        n in 0_u32..20, r in 0_u32..40, memory in 0_u64..1 << 26, cost in 0_u32..13, text in ".{0,80}",
    ) {
        let _ = Policy::parse(&text, "");
        let params = format!("[params]\nn = {}\nr = {r}\n", 1_u64 << n);
        let params = if cost > 0 && n < 2 { format!("[params]\ncost = {cost}\n") } else { params };
        let text = format!("{params}[limits]\nmemory = {memory}\n[pool]\nthreads = 1\n");
        if let Ok(policy) = Policy::parse(&text, "")
            && policy.params.memory() < 1 << 22
        {
            let passwords = Passwords::new(policy).unwrap();
            let stored = passwords.hash("secret").wait().unwrap();
            prop_assert!(passwords.verify("a", "secret", Some(&stored)).wait().unwrap().is_match());
            prop_assert!(!passwords.table().needs_rehash(&stored).unwrap().any());
        }
    }
}
