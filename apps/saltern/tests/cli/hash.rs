//! `saltern hash`.

use std::fs;

use saltern_testing::chmod;

use crate::program::{
    ESCRYPT, PASSWORD, SCRYPT, YESCRYPT, assert_one_error, crypt3, run, saltern, seen, stderr,
    stdout,
};

#[track_caller]
fn hash(args: &[&str], password: &[u8]) -> String {
    let output = run(&[&["hash", "--stdin"], args].concat(), password);
    let (code, out, err) = seen(&output);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.ends_with('\n') && out.lines().count() == 1, "{out}");
    out.trim_end().to_owned()
}

#[track_caller]
fn verifies(hash: &str, args: &[&str], password: &[u8]) -> bool {
    let output = run(&[&["verify", "--stdin", hash], args].concat(), password);
    match seen(&output) {
        (Some(0), "match\n", "") => true,
        (Some(1), "mismatch\n", "") => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn known_answers() {
    let cut = |hash: &str| hash[..hash.rfind('$').unwrap()].to_owned();
    for known in [YESCRYPT, SCRYPT, ESCRYPT] {
        for setting in [known.to_owned(), cut(known), cut(known) + "$"] {
            assert_eq!(hash(&["--setting", &setting], PASSWORD.as_bytes()), known, "{setting}");
        }
    }
}

#[test]
fn defaults_and_costs() {
    for (args, prefix, length) in [
        (&[][..], "$y$j9T$", 73),
        (&["--cost", "1"], "$y$j75$", 73),
        (&["-R", "3"], "$y$j7T$", 73),
        (&["--rounds", "2"], "$y$j85$", 73),
        (&["--scheme", "scrypt", "--cost", "6"], "$7$BU..../....", 80),
        (&["-m", "scrypt"], "$7$CU..../....", 80),
        (&["--n", "1024", "--r", "4"], "$y$j71$", 73),
        (&["--n", "1024", "--r", "4", "--p", "2", "--t", "1"], "$y$j710..$", 76),
        (&["--n", "1024"], "$y$j7T$", 73),
        (&["--scheme", "scrypt", "--n", "16", "--r", "8", "--p", "2"], "$7$26....0....", 80),
    ] {
        let hash = hash(args, b"secret\n");
        assert!(hash.starts_with(prefix) && hash.len() == length, "{args:?}: {hash}");
        assert!(verifies(&hash, &[], b"secret") && !verifies(&hash, &[], b"Secret"), "{hash}");
    }
}

#[test]
fn salts_are_fresh() {
    assert_ne!(hash(&["--cost", "1"], b"x"), hash(&["--cost", "1"], b"x"));
}

#[test]
fn one_newline_goes_and_nothing_else() {
    let of = |input: &[u8]| hash(&["--setting", "$y$j75$abcd"], input);
    let plain = of(b"p\xe9 ss\xff");
    assert_eq!(of(b"p\xe9 ss\xff\n"), plain);
    assert_eq!(of(b"p\xe9 ss\xff\nsecond line\n"), plain);
    for other in [&b"p\xe9 ss\xff\r\n"[..], b"p\xe9 ss\xff ", b" p\xe9 ss\xff", b"p\xe9 ss"] {
        assert_ne!(of(other), plain);
    }
    let output = run(&["hash", "--stdin", "--cost", "1"], b"pw\r\n");
    assert!(stderr(&output).contains("carriage return"));
}

#[test]
fn an_empty_password_has_to_be_meant() {
    for input in ["\n", "\nx"] {
        assert_one_error(&run(&["hash", "--stdin", "--cost", "1"], input), "--allow-empty");
        let hash = hash(&["--cost", "1", "--allow-empty"], input.as_bytes());
        assert!(verifies(&hash, &[], b"\n"));
    }
    for args in [&["hash", "--stdin", "--allow-empty"][..], &["verify", "--stdin", YESCRYPT]] {
        assert_one_error(&run(args, ""), "ended before a password");
    }
}

#[test]
fn long_passwords() {
    let long = vec![b'x'; 4096];
    let cheap = ["hash", "--stdin", "--cost", "1"];
    assert_one_error(&run(&cheap, &long[..512]), "limit of 511");
    assert!(verifies(&hash(&["--cost", "1"], &long[..511]), &[], &long[..511]));
    let output = run(&[&cheap[..], &["--beyond-crypt3"]].concat(), &long[..512]);
    assert!(stderr(&output).contains("511 bytes"), "crypt(3) would refuse it");
    assert!(verifies(stdout(&output).trim_end(), &["--beyond-crypt3"], &long[..512]));
    assert!(!verifies(stdout(&output).trim_end(), &["--beyond-crypt3"], &long[..511]));
    assert_one_error(&run(&["hash", "--stdin"], vec![b'x'; (1 << 20) + 1]), "1048576 bytes");
}

#[test]
fn a_key_is_needed_to_verify() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let raw = file("raw", &[0xa5; 32]);
    let digits = file("digits", "a5".repeat(32).as_bytes());
    let other = file("other", "5A".repeat(32).as_bytes());
    let hash = hash(&["--cost", "1", "--assume-unnamed-key", &raw], b"secret");
    assert!(verifies_quietly(&hash, &digits) && !verifies_quietly(&hash, &other));
    assert!(!verifies(&hash, &[], b"secret"));
    for (name, content) in
        [("short", &[1; 31][..]), ("long", &[1; 33]), ("none", &[]), ("huge", &[b'a'; 999])]
    {
        let path = file(name, content);
        let output = run(&["hash", "--stdin", "--assume-unnamed-key", &path], "secret");
        assert!(stderr(&output).contains("32 bytes or 64 hexadecimal digits"), "{name}");
        assert_eq!(output.status.code(), Some(2));
    }
    let output = run(&["hash", "-s", "--scheme", "scrypt", "--assume-unnamed-key", &raw], "secret");
    assert!(stderr(&output).contains("yescrypt strings only") && output.status.code() == Some(2));
    assert_one_error(
        &run(&["hash", "-s", "--assume-unnamed-key", "/nowhere/key"], "x"),
        "/nowhere/key",
    );
}

/// As `verifies`, but with a warning about the mode of the key file on standard error.
fn verifies_quietly(hash: &str, key: &str) -> bool {
    let output =
        run(&["verify", "--stdin", hash, "--assume-unnamed-key", key, "--quiet"], "secret");
    assert_eq!(stdout(&output), "");
    output.status.code() == Some(0)
}

#[cfg(unix)]
#[test]
fn keys_that_others_can_read_are_noticed() {
    let key = tempfile::NamedTempFile::new().unwrap();
    fs::write(&key, [7; 32]).unwrap();
    let args = ["hash", "-s", "--cost", "1", "--assume-unnamed-key", key.path().to_str().unwrap()];
    for (mode, warned) in [(0o600, false), (0o640, true), (0o604, true)] {
        chmod(&key, mode);
        let output = run(&args, "x");
        assert_eq!(stderr(&output).contains("others can read"), warned, "{mode:o}");
        assert!(stderr(&output).contains("encrypted with a key") && output.status.success());
    }
}

#[cfg(unix)]
#[test]
fn seeds_that_others_can_read_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let [seed, rom] = ["seed", "site.rom"].map(|name| folder.path().join(name));
    fs::write(&seed, "a seed that is long enough").unwrap();
    let (path, rom) = (seed.to_str().unwrap(), rom.to_str().unwrap());
    let args = ["rom", "create", rom, "--size", "1MiB", "--seed-file", path, "--replace"];
    for (mode, warned) in [(0o600, false), (0o640, true), (0o604, true)] {
        chmod(&seed, mode);
        let output = run(&args, "");
        let warning = "warning: others can read or change the seed file";
        assert_eq!(stderr(&output).contains(warning), warned, "{mode:o}");
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn what_is_no_number_is_told_what_numbers_there_are() {
    let expect = |args: &[&str], part: &str| {
        let refused = run(args, PASSWORD);
        let (status, out, told) = seen(&refused);
        assert!((status, out) == (Some(2), "") && told.contains(part), "{told}");
    };
    for value in ["x", "", "0", "12", "99999999999999999999", "1.5"] {
        let cost = format!("--cost={value}");
        let told = format!("invalid value '{value}' for '--cost <COST>': expected a whole number");
        expect(&["hash", "--stdin", &cost], &format!("{told} from 1 to 11"));
    }
    expect(&["verify", "--jsonl", "--threads=x"], "expected a whole number from 1 to 1024");
    expect(&["census", "--field=0"], "expected a whole number from 1 to 65535");
    expect(&["key", "new", "a b", "/nowhere/key"], "at character 2: it must be a letter, a digit");
}

#[test]
fn options_that_contradict_are_refused() {
    for args in [
        &["--cost", "5", "--n", "1024"][..],
        &["--cost", "0"],
        &["--cost", "12"],
        &["--r", "8"],
        &["--setting", "$y$j75$", "--cost", "1"],
        &["--setting", "$y$j75$", "--scheme", "scrypt"],
        &["--setting", "$y$j75$", "--n", "1024"],
        &["--password-fd", "0", "--stdin"],
        &["--scheme", "scrypt", "--cost", "5"],
        &["--scheme", "scrypt", "--n", "1024", "--t", "1"],
        &["--n", "1000"],
        &["--n", "1024", "--p", "0"],
        &["--n", "1024", "--p", "1024"],
        &["--setting", "$6$salt"],
        &["--setting", ""],
        &["--level", "fast"],
        &["--cost", "11", "--max-memory", "512"],
        &["secret"],
    ] {
        let output = run(&[&["hash", "-s"], args].concat(), "x");
        assert_eq!(seen(&output).0, Some(2), "{args:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn crypt3_makes_the_same_string() {
    let password = "naïve ☃";
    let hashes = [
        &["--cost", "1"][..],
        &["-m", "scrypt", "--cost", "6"],
        &["--n", "64", "--r", "3", "--p", "4"],
    ]
    .map(|args| hash(args, password.as_bytes()));
    if let Some(made) = crypt3(password, &hashes.each_ref().map(String::as_str)) {
        assert_eq!(made, hashes);
    }
}

/// Where the system starts no thread (its limit is reached, or a sandbox forbids it), what one
/// password needs is computed in the thread that there is. A stack that nobody can have has every
/// thread refused.
#[cfg(target_os = "linux")]
#[test]
fn without_threads_a_password_is_hashed_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("saltern.toml");
    std::fs::write(&policy, "[params]\nn = 64\nr = 8\n[floor]\nn = 16\n").unwrap();
    let policy = policy.to_str().unwrap();
    let alone = |args: &[&str]| {
        let mut command = saltern(args);
        command.env("RUST_MIN_STACK", (1_u64 << 46).to_string()).write_stdin(PASSWORD);
        command.output().unwrap()
    };
    for how in [
        &["--n", "64", "--r", "8"][..],
        &["--n", "64", "--r", "8", "--p", "4"],
        &["--policy", policy],
    ] {
        let made = alone(&[&["hash", "--stdin"], how].concat());
        assert_eq!((made.status.code(), stderr(&made)), (Some(0), ""), "{how:?}");
        let stored = stdout(&made).trim_end();
        for more in [&[][..], &["--policy", policy, "--update"]] {
            let matches = alone(&[&["verify", "--stdin", stored], more].concat());
            assert_eq!(matches.status.code(), Some(0), "{how:?} {more:?}: {}", stderr(&matches));
        }
        let wrong = YESCRYPT.replace("HboGM6", "HboGM7");
        assert_eq!(alone(&["verify", "--stdin", &wrong]).status.code(), Some(1));
    }
}
