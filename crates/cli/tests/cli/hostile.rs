//! Strings made to hurt: each has to end in one clear error, soon and without much memory.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use crate::program::{PASSWORD, YESCRYPT, assert_one_error, run, saltern, seen};

/// Far more than any of these takes, also on a busy machine, and far less than computing one would.
const SOON: Duration = Duration::from_secs(5);

#[track_caller]
fn refused_soon(args: &[&str]) {
    let start = Instant::now();
    assert_one_error(&run(args, PASSWORD), "");
    assert!(start.elapsed() < SOON, "{args:?} took {:?}", start.elapsed());
}

#[test]
fn costs_beyond_the_limit() {
    let tail = &YESCRYPT[YESCRYPT.rfind('$').unwrap()..];
    for start in [
        "$y$jyT$abcd",        // N = 2^63
        "$y$jzzzzzzT$abcd",   // log2 N beyond any number
        "$y$jTT$abcd",        // N = 2^32: 16 TiB
        "$y$j9y.....$abcd",   // r of millions
        "$y$j9zzzzzz$abcd",   // r beyond 2^30
        "$y$j9T.zzzzzz$abcd", // p beyond 2^30
        "$y$j7T/zzzzzz$abcd", // t of 2^30: years
        "$y$j7T5y$abcd",      // a ROM of 2^63 blocks
        "$7$x6..../....abcd", // $7$, N = 2^61
        "$7$Czzzzz/....abcd", // r = 2^30 - 1
        "$7$C6....zzzzzabcd", // p = 2^30 - 1
        "$7$C.........abcd",  // r = p = 0
    ] {
        let hash = format!("{start}{tail}");
        refused_soon(&["verify", "--stdin", &hash]);
        refused_soon(&["hash", "--stdin", "--setting", start]);
    }
}

#[test]
fn every_beginning_of_a_string() {
    for length in 0..YESCRYPT.len() {
        refused_soon(&["verify", "--stdin", &YESCRYPT[..length]]);
    }
}

#[test]
fn a_megabyte() {
    for unit in ["$", "$y$j9T$", "$7$C6..../....", "a", "z"] {
        let long: String = unit.chars().cycle().take(100_000).collect();
        refused_soon(&["verify", "--stdin", &long]);
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
            // `$7$` salts are raw bytes: such a setting is odd but not wrong.
            let odd = bytes.starts_with(b"$7$") && args[0] != "verify";
            assert!(code == Some(2) || odd && code == Some(0), "{args:?} {bytes:?}: {output:?}");
            assert!(output.stderr.is_ascii(), "the message shows no raw bytes: {output:?}");
        }
    }
}
