//! Flags, lines, messages and exit codes, byte for byte those of GNU `b2sum`.

use std::ffi::OsString;

use proptest::prelude::*;

use super::{Bench, os, stdout, text};

/// Names that a line, a shell or a flag parser could trip over.
const ODD_NAMES: [&[u8]; 25] = [
    b"plain",
    b"two words",
    b" lead",
    b"trail ",
    b"*star",
    b"-dash",
    b"--",
    b"--tag",
    b"new\nline",
    b"\n",
    b"cr\rcr",
    b"crlf\r\n",
    b"back\\slash",
    b"\\n",
    b"end\\",
    b"tab\t",
    b"not-utf8\xff\xfe",
    b"\xc3\xa9t\xc3\xa9",
    b"a)b",
    b"(a) = 00",
    b"#hash",
    b"co:lon",
    b"it's",
    b"\"q\"",
    b"BLAKE2b (x",
];

fn bench_of_odd_names() -> (Bench, Vec<OsString>) {
    let bench = Bench::new();
    for (at, name) in ODD_NAMES.iter().enumerate() {
        bench.write(name, format!("content {at}").as_bytes());
    }
    (bench, ODD_NAMES.iter().map(|name| os(name)).collect())
}

fn args<'a>(flags: &[&'a str], names: &'a [OsString]) -> Vec<OsString> {
    let flags = flags.iter().map(OsString::from);
    flags.chain([OsString::from("--")]).chain(names.iter().cloned()).collect()
}

#[test]
fn lines_are_the_same_for_odd_names() {
    let (bench, names) = bench_of_odd_names();
    for flags in [
        &[][..],
        &["-b"],
        &["-t"],
        &["--tag"],
        &["-z"],
        &["-zb"],
        &["-z", "--tag"],
        &["-l", "8"],
        &["-l256", "--tag"],
        &["--length=0"],
        &["-l", "512", "--tag"],
        &["-b", "-t"],
        &["-t", "-b"],
        &["-t", "--tag"],
        &["--tag", "-b"],
        &["-l", " 16"],
        &["-l", "+16"],
        &["-l", "8", "-l", "24"],
    ] {
        let lines = stdout(bench.same(&args(flags, &names), b""));
        let count = lines.iter().filter(|&&byte| byte == b'\n' || byte == 0).count();
        assert!(count >= ODD_NAMES.len(), "{flags:?}");
    }
}

#[test]
fn each_checks_what_the_other_wrote() {
    let (bench, names) = bench_of_odd_names();
    for flags in [&[][..], &["-b"], &["--tag"], &["-l", "8"], &["-l", "504", "--tag"]] {
        let lines = stdout(bench.saltern(&args(flags, &names), b""));
        bench.write(b"list", &lines);
        for check in [&["-c", "list"][..], &["-c", "--strict", "list"], &["--quiet", "-c", "list"]]
        {
            stdout(bench.same(check, b""));
        }
        let verdicts = stdout(bench.saltern(&["-c", "-w"], &lines));
        let good = text(&verdicts).lines().filter(|line| line.ends_with(": OK\\n")).count();
        assert_eq!(good, ODD_NAMES.len(), "{flags:?}");
    }
}

#[test]
fn complaints_about_missing_files_are_the_same() {
    let bench = Bench::new();
    let mut names: Vec<_> = ODD_NAMES.iter().map(|name| os(name)).collect();
    for name in
        ["", "{", "}", "{}", "#", "a#", "~", "a~", "a?b", "a\\b", "a b'c", "a'b$c", "\u{1}\u{2}x"]
    {
        names.push(name.into());
    }
    assert_eq!(bench.same(&args(&[], &names), b"").status.code(), Some(1));
    bench.same(&["nope", "-", "/", "."], b"stdin");
}

#[test]
fn wrong_flags_are_refused_in_the_same_words() {
    let bench = Bench::with(&[("a", b"abc")]);
    for line in [
        "-l 7 a",
        "-l 520 a",
        "-l x a",
        "-l -8 a",
        "-l 0x10 a",
        "-l 010 a",
        "-l 16k a",
        "-l 1 -c a",
        "-l 1024 --tag -t a",
        "--tag -t a",
        "--tag -b -t a",
        "--tag -c a",
        "-c -z a",
        "-c -b a",
        "-c -t a",
        "--status a",
        "--quiet a",
        "-w a",
        "--strict a",
        "--ignore-missing a",
        "--status --quiet a",
        "--quiet -w a",
        "--ignore-missing --status --strict -w a",
        "-c --tag -z a",
        "-b -c --status a",
    ] {
        let output = bench.same(&line.split(' ').collect::<Vec<_>>(), b"");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{line}");
    }
    assert_eq!(bench.same(&["-l", "", "a"], b"").status.code(), Some(1));
    // Here the words differ, for the flag parser is another one; the exit code does not.
    for line in ["--foo", "-Q", "-l", "--tag=x", "-l 99999999999999999999999 a"] {
        let args: Vec<_> = line.split(' ').collect();
        let (ours, theirs) = (bench.saltern(&args, b""), bench.b2sum(&args, b""));
        assert_eq!((ours.status.code(), theirs.status.code()), (Some(1), Some(1)), "{line}");
        assert!(ours.stdout.is_empty() && !ours.stderr.is_empty(), "{line}");
    }
}

#[test]
fn standard_input_is_the_same() {
    let bench = Bench::with(&[("a", b"abc")]);
    let long = vec![7; 3_000_001];
    for args in
        [&[][..], &["-"], &["a", "-", "a"], &["-", "-"], &["--tag", "-"], &["-z"], &["-b", "-"]]
    {
        bench.same(args, b"");
        bench.same(args, &long);
    }
}

#[test]
fn letters_are_shown_where_the_locale_has_them() {
    let bench = Bench::new();
    let names = ["\u{e9}t\u{e9}", "\u{6f22} \u{5b57}", "it's \u{e9}", "\u{7}\u{e9}", "e\u{301}"];
    let run = |program: &str, first: &[&str]| {
        let mut command = bench.command(program);
        super::run(command.env("LC_ALL", "C.UTF-8").args(first).args(names), b"")
    };
    let (ours, theirs) = (run(env!("CARGO_BIN_EXE_saltern"), &["sum"]), run("b2sum", &[]));
    assert_eq!(super::complaints(&ours), text(&theirs.stderr));
    assert_eq!(theirs.stderr.iter().filter(|&&byte| byte == b'\n').count(), names.len());
}

/// A name of bytes that a file can have.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => any::<u8>(),
        2 => b'a'..=b'z',
        1 => prop::sample::select(&b"\n\r\\ *():-#"[..]),
    ];
    let name =
        prop::collection::vec(byte.prop_filter("no name", |b| !matches!(b, 0 | b'/')), 1..40);
    name.prop_filter("a directory", |name| name != b"." && name != b"..")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_names_go_both_ways(
        names in prop::collection::btree_set(name(), 1..12),
        tag: bool,
        bytes in 1_usize..=64,
    ) {
        let bench = Bench::new();
        for name in &names {
            bench.write(name, name);
        }
        let operands: Vec<_> = names.iter().map(|name| os(&[b"./", &name[..]].concat())).collect();
        let length = format!("-l{}", 8 * bytes);
        let flags: &[&str] = if tag { &["--tag", &length] } else { &[&length] };
        let lines = stdout(bench.same(&args(flags, &operands), b""));
        let verdicts = stdout(bench.same(&["-c", "--strict", "-w"], &lines));
        // Ours alone says how many: a name may hold anything, even ": OK".
        prop_assert!(verdicts.iter().filter(|&&byte| byte == b'\n').count() >= names.len());
    }

    #[test]
    fn any_names_are_quoted_alike(names in prop::collection::vec(name(), 1..12)) {
        // With an apostrophe, b2sum opens an empty pair of quotes too many after an escape.
        let operands: Vec<_> =
            names.iter().filter(|name| !name.contains(&b'\'')).map(|name| os(name)).collect();
        Bench::new().same(&args(&[], &operands), b"");
    }
}
