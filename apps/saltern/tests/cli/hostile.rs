//! Strings made to hurt: each has to end in one clear error, soon and without much memory.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use crate::program::{PASSWORD, YESCRYPT, assert_one_error, run, saltern, seen, stdout};

/// Far more than any of these takes, also on a busy machine, and far less than computing one would.
const SOON: Duration = Duration::from_secs(5);

#[track_caller]
fn refused_soon(args: &[&str], part: &str) {
    let start = Instant::now();
    assert_one_error(&run(args, PASSWORD), part);
    assert!(start.elapsed() < SOON, "{args:?} took {:?}", start.elapsed());
}

#[test]
fn costs_beyond_the_limit() {
    let tail = &YESCRYPT[YESCRYPT.rfind('$').unwrap()..];
    for (what, setting, part) in [
        ("N = 2^63", "$y$jkC.$abcd", "invalid N 9223372036854775808"),
        ("N = 2^54", "$y$jk3.$abcd", "--max-memory"),
        ("N = 2^32, r = 32", "$y$jTT$abcd", "--max-memory"),
        ("log2 N beyond 63", "$y$jzzzzzzT$abcd", "log2 of N"),
        ("r = 2^30", "$y$j9zyxvrD$abcd", "invalid r 1073741824"),
        ("r = 2^30 - 1", "$y$j9zyxvrC$abcd", "--max-memory"),
        ("p beyond 2^30", "$y$j9T.zzzzzz$abcd", "r * p below 2^30"),
        ("t beyond 2^30", "$y$j7T/zzzzzz$abcd", "--max-work"),
        ("a ROM of 2^63 blocks", "$y$j7T5kC$abcd", "ROM"),
        ("g = 1", "$y$j7T1.$abcd", "g 1"),
        ("scrypt, N = 2^63", "$7$z/..../....abcd", "invalid N 9223372036854775808"),
        ("scrypt, r = 2^30 - 1", "$7$Czzzzz/....abcd", "--max-memory"),
        ("scrypt, p = 2^30 - 1", "$7$C/....zzzzzabcd", "--beyond-crypt3"),
        ("scrypt, r = p = 0", "$7$C..........abcd", "invalid"),
        ("escrypt, N = 2^63", "$7X3$z/..../....abcd", "invalid N 9223372036854775808"),
        ("escrypt, r = 2^30 - 1", "$7X3$Czzzzz/....abcd", "--max-memory"),
        ("escrypt, p = 2^30 - 1", "$7X$C/....zzzzzabcd", "--beyond-crypt3"),
        ("escrypt, flags = 9", "$7X7$C6..../....abcd", "invalid flags 9"),
        ("escrypt, more p than N / 2", "$7X5$46.....1...abcd", "invalid p 192"),
        ("escrypt, N = 1", "$7X3$.6..../....abcd", "invalid N 1"),
    ] {
        eprintln!("{what}");
        refused_soon(&["verify", "--stdin", &format!("{setting}{tail}")], part);
        refused_soon(&["hash", "--stdin", "--setting", setting], part);
    }
}

#[test]
fn every_beginning_of_a_string() {
    for length in 0..YESCRYPT.len() {
        refused_soon(&["verify", "--stdin", &YESCRYPT[..length]], "");
    }
}

#[test]
fn a_megabyte() {
    for unit in ["$", "$y$j9T$", "$7$C6..../....", "a", "z"] {
        let long: String = unit.chars().cycle().take(100_000).collect();
        refused_soon(&["verify", "--stdin", &long], "");
        // The kernel takes no single argument of a megabyte; a file can hold it.
        let file = tempfile::NamedTempFile::new().unwrap();
        for prefix in ["", "$y$j9T$", "$7$C6..../....", "eve:"] {
            std::fs::write(&file, prefix.to_owned() + &unit.repeat((1 << 20) / unit.len()))
                .unwrap();
            let path = file.path().to_str().unwrap();
            let start = Instant::now();
            let output = run(&["verify", "--stdin", "--hash-file", path], PASSWORD);
            let (code, out, err) = seen(&output);
            assert!(code == Some(2) && out.len() < 500 && err.lines().count() == 1, "{out} {err}");
            assert!(start.elapsed() < SOON);
        }
    }
}

#[cfg(unix)]
#[test]
fn bytes_that_are_no_text() {
    use std::os::unix::ffi::OsStringExt;
    for bytes in [&b"$y$j9T$ab\xffcd"[..], b"\xff", b"$y$\xfe9T$abcd", b"$7$C6..../....\x01\x02"] {
        for args in [&["verify", "--stdin"][..], &["inspect"], &["hash", "--stdin", "--setting"]] {
            let mut command = saltern(args);
            command.arg(OsString::from_vec(bytes.to_vec())).write_stdin(PASSWORD);
            let output = command.output().unwrap();
            let code = output.status.code();
            // `$7$` salts are raw bytes: such a setting is odd, but can be looked at.
            let odd = bytes.starts_with(b"$7$") && args[0] == "inspect";
            assert!(code == Some(2) || odd && code == Some(0), "{args:?} {bytes:?}: {output:?}");
            assert!(output.stderr.is_ascii(), "the message shows no raw bytes: {output:?}");
        }
    }
}

/// What crypt(3) refuses, one by one and in JSON lines alike, unless it is asked for.
#[test]
fn what_crypt3_refuses_is_refused_unless_wide() {
    let long = format!("$7$2/..../....{}", "a".repeat(326));
    for setting in [
        "$y$j15$abcd$x:y",
        "$y$j15$abcd$x y",
        "$y$j.5$abcd",
        "$7$2/..../....ab~",
        "$7$2/..../....ab:cd",
        "$7$2/..../....ab\ncd",
        "$7$2/..../....ab\u{e9}",
        &long,
    ] {
        let line = serde_json::json!({ "password": PASSWORD, "setting": setting }).to_string();
        refused_soon(&["hash", "--stdin", "--setting", setting], "crypt(3) refuses this");
        let output = run(&["hash", "--jsonl"], &line);
        assert!(seen(&output).0 == Some(2) && seen(&output).1.contains("crypt(3) refuses this"));
        let one = run(&["hash", "--stdin", "--beyond-crypt3", "--setting", setting], PASSWORD);
        let many = run(&["hash", "--jsonl", "--beyond-crypt3"], &line);
        assert_eq!((seen(&one).0, seen(&many).0), (Some(0), Some(0)), "{setting}");
        let answer: serde_json::Value = serde_json::from_str(seen(&many).1).unwrap();
        assert_eq!(answer["hash"].as_str(), Some(seen(&one).1.trim_end_matches('\n')));
        let told = run(&["checksalt", setting], "");
        assert!(seen(&told).0 == Some(1) && seen(&told).1.starts_with("refused: "), "{told:?}");
    }
    for password in ["x".repeat(512), "a\0b".to_owned()] {
        let line = serde_json::json!({ "password": password }).to_string();
        let hash = ["hash", "--jsonl", "--n", "16", "--r", "1"];
        assert_eq!(run(&hash, &line).status.code(), Some(2));
        assert_eq!(run(&[&hash[..], &["--beyond-crypt3"]].concat(), &line).status.code(), Some(0));
    }
    for unknown in ["$7X3$36..../....a", "$scrypt$ln=4,r=8,p=1$aM15713r3Xsvxbi31lqr1Q"] {
        let told = run(&["checksalt", unknown], "");
        assert!(seen(&told).0 == Some(1) && seen(&told).1.starts_with("refused: "), "{told:?}");
    }
    // Neither accepted nor refused: there is nothing to say about them here.
    for (unknown, part) in [
        ("$6$abc", "unknown: sha512crypt ($6$) is not checked here"),
        ("$argon2id$v=19$m=16", "unknown: Argon2id ($argon2id$) is not checked here"),
        ("$sha9$abc", "unknown: no scheme"),
        ("nonsense", "unknown: no scheme"),
    ] {
        let told = run(&["checksalt", unknown], "");
        let (code, out, err) = seen(&told);
        assert!((code, err) == (Some(2), "") && out.starts_with(part), "{out}");
        assert!(out.contains("$y$ and $7$"), "{out}");
        let both = run(&["checksalt", "$y$j9T$abcd", unknown, "$7$2/..../....ab~"], "");
        let first: Vec<_> = stdout(&both).lines().map(|line| line.split(':').next()).collect();
        let words = [Some("ok"), Some("unknown"), Some("refused")];
        assert_eq!((both.status.code(), &*first), (Some(2), &words[..]));
    }
    let fine = run(&["checksalt", YESCRYPT, "$y$j9T$abcd"], "");
    assert_eq!(seen(&fine), (Some(0), "ok\nok\n", ""));
}

/// What the program makes without being asked for more, the library verifies.
#[test]
fn program_and_library_have_the_same_limits() {
    for args in [["--cost", "10"], ["--n", "2"], ["--n", "1048576"]] {
        refused_soon(&[&["hash", "--stdin"][..], &args].concat(), "");
    }
    refused_soon(&["hash", "--stdin", "-m", "scrypt", "--cost", "9"], "--max-work 2");
}
