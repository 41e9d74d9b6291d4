//! `--keyed`: where the key comes from, and what is refused.

use super::{Bench, complaints, stdout, text};

#[test]
fn the_key_comes_from_a_file_or_from_standard_input() {
    let bench = Bench::with(&[("a", b"abc"), ("key", b"secret\n")]);
    let from_file = stdout(bench.saltern(&["--keyed", "--key-file", "key", "a"], b""));
    assert_eq!(stdout(bench.saltern(&["--keyed", "a"], b"secret\n")), from_file);
    assert_eq!(stdout(bench.saltern(&["--key-file", "key", "a"], b"")), from_file);
    assert_eq!(stdout(bench.saltern(&["--keyed", "--key-file", "-", "a"], b"secret\n")), from_file);
    // The newline is part of the key.
    assert_ne!(stdout(bench.saltern(&["--keyed", "a"], b"secret")), from_file);
    let piped = stdout(bench.saltern(&["--key-file", "key"], b"abc"));
    assert_eq!(piped[..128], from_file[..128]);
}

#[test]
fn keyed_lists_are_checked_with_the_key_only() {
    let bench = Bench::with(&[("a", b"abc"), ("key", b"secret"), ("other", b"Secret")]);
    for algorithm in ["blake2b", "blake2s", "blake2bp", "blake2sp"] {
        for tag in [&[][..], &["--tag"]] {
            let args = [&["-a", algorithm, "--key-file", "key", "a"], tag].concat();
            bench.write(b"list", &stdout(bench.saltern(&args, b"")));
            let check = ["-a", algorithm, "-c", "list"];
            let with = |key: &'static str| [&check[..], &["--key-file", key]].concat();
            assert_eq!(text(&stdout(bench.saltern(&with("key"), b""))), "a: OK\\n\n");
            assert_eq!(bench.saltern(&with("other"), b"").status.code(), Some(1));
            assert_eq!(bench.saltern(&check, b"").status.code(), Some(1));
            stdout(bench.saltern(&[&check[..], &["--keyed"]].concat(), b"secret"));
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let bench = Bench::with(&[("a", b"abc"), ("long", &[1; 65]), ("none", b""), ("k33", &[1; 33])]);
    let try_help = "Try 'b2sum --help' for more information.\\n\n";
    let both = format!(
        "b2sum: the key and the data cannot both come from standard input; use --key-file\\n\n{try_help}"
    );
    for (line, message) in [
        ("--keyed", both.as_str()),
        ("--keyed a -", &both),
        ("--keyed -c", &both),
        ("--keyed -c a -", &both),
        (
            "--keyed a",
            "b2sum: the key from standard input is empty; BLAKE2b takes 1 to 64 bytes\\n\n",
        ),
        (
            "--key-file none a",
            "b2sum: the key from none is empty; BLAKE2b takes 1 to 64 bytes\\n\n",
        ),
        (
            "--key-file long a",
            "b2sum: the key from long is too long; BLAKE2b takes 1 to 64 bytes\\n\n",
        ),
        (
            "-a blake2s --key-file k33 a",
            "b2sum: the key from k33 is too long; BLAKE2s takes 1 to 32 bytes\\n\n",
        ),
        ("--key-file / a", "b2sum: cannot read the key from /: Is a directory\\n\n"),
        (
            "--key-file nope a",
            "b2sum: cannot read the key from nope: No such file or directory\\n\n",
        ),
    ] {
        let output = bench.saltern(&line.split(' ').collect::<Vec<_>>(), b"");
        assert_eq!(complaints(&output), message, "{line}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{line}");
    }
    stdout(bench.saltern(&["--key-file", "k33", "a"], b""));
    // A line that names standard input is no good once the key was read from it.
    let list = stdout(bench.saltern(&["--key-file", "k33", "-"], b"abc"));
    bench.write(b"list", &list);
    stdout(bench.saltern(&["--key-file", "k33", "-c", "list"], b"abc"));
    assert_eq!(bench.saltern(&["--keyed", "-c", "list"], &[1; 33]).status.code(), Some(1));
}
