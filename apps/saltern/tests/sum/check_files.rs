//! Check mode: verdicts, warnings, and check files made to do harm.

use proptest::prelude::*;

use super::{Bench, complaints, os, run, stdout, text};

/// BLAKE2b of `abc`, in all 512 bits and in 64.
const ABC: &str = "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1\
                   7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923";
const ABC_64: &str = "d8bb14d833d59559";

fn bench() -> Bench {
    Bench::with(&[
        ("a", b"abc"),
        ("b b", b"abc"),
        (" a", b"abc"),
        ("n\nl", b"abc"),
        ("other", b"xyz"),
    ])
}

#[test]
fn every_flag_with_every_kind_of_line() {
    let bench = bench();
    let wrong = ABC.replace('b', "c");
    let lists = [
        format!("{wrong}  a\n{ABC}  a\n{ABC}  nope\n{ABC}  /\njunk\n"),
        format!("{ABC}  nope\n"),
        format!("{ABC}  a\n"),
        format!("{ABC}  a\njunk\nmore junk\n"),
        format!("{wrong}  a\n{wrong}  b b\n{ABC}  x\n{ABC}  y y\n"),
        "junk\n".to_string(),
        String::new(),
    ];
    let flags = ["--ignore-missing", "--quiet", "--status", "--strict", "-w"];
    let mut count = 0;
    for list in &lists {
        bench.write(b"a list", list.as_bytes());
        for first in flags {
            for second in flags {
                bench.same(&["-c", first, second, "a list"], b"");
                bench.same(&["-c", first, second], list.as_bytes());
                count += 2;
            }
        }
    }
    assert_eq!(count, 7 * 25 * 2);
}

#[test]
fn several_lists_and_lists_that_cannot_be_read() {
    let bench = bench();
    bench.write(b"good", format!("{ABC}  a\n").as_bytes());
    bench.write(b"bad", format!("{ABC}  other\n").as_bytes());
    for line in [
        "-c good bad",
        "-c bad good",
        "-c nope good",
        "-c good nope",
        "-c / good",
        "-c . nope",
        "-c good - bad",
        "-c /dev/null",
        "-c -l 8 good",
        "-c -w /dev/null bad",
        "-c --status / nope",
        "-cw good --status bad",
        "-c -c good",
    ] {
        bench.same(&line.split(' ').collect::<Vec<_>>(), format!("{ABC} *b b\n").as_bytes());
    }
}

#[test]
fn tags_name_the_function_and_the_length() {
    let bench = bench();
    let mut list = Vec::new();
    for (algorithm, max) in
        [("blake2b", 512), ("blake2s", 256), ("blake2bp", 512), ("blake2sp", 256)]
    {
        for bits in [8, 128, max - 8, max] {
            let bits = bits.to_string();
            let args = ["--tag", "-a", algorithm, "-l", &bits, "a", "n\nl"];
            list.extend(stdout(bench.saltern(&args, b"")));
        }
    }
    let verdicts = text(&stdout(bench.saltern(&["-c", "--strict"], &list)));
    assert_eq!(verdicts, "a: OK\\n\n\\\\n\\\\nl: OK\\n\n".repeat(16));
    // With a function asked for, lines of the other three are no lines.
    let output = bench.saltern(&["-c", "-a", "blake2sp"], &list);
    assert_eq!(text(&output.stdout).lines().count(), 8);
    assert_eq!(complaints(&output), "b2sum: WARNING: 24 lines are improperly formatted\\n\n");
    assert_eq!(output.status.code(), Some(0));
    // An altered digest is found in each.
    let altered: Vec<u8> =
        list.split_inclusive(|&b| b == b'\n').flat_map(flip_last_digit).collect();
    let output = bench.saltern(&["-c"], &altered);
    assert_eq!(text(&output.stdout).matches(": FAILED").count(), 32);
    assert_eq!(output.status.code(), Some(1));
}

fn flip_last_digit(line: &[u8]) -> Vec<u8> {
    let mut line = line.to_vec();
    let at = line.len() - 2;
    line[at] = if line[at] == b'0' { b'1' } else { b'0' };
    line
}

#[test]
fn untagged_lines_are_of_the_function_asked_for() {
    let bench = bench();
    for algorithm in ["blake2b", "blake2s", "blake2bp", "blake2sp"] {
        for bits in ["8", "248", "256"] {
            let list = stdout(bench.saltern(&["-a", algorithm, "-l", bits, "a", "b b"], b""));
            stdout(bench.saltern(&["-c", "--strict", "-a", algorithm], &list));
            let other = if algorithm == "blake2s" { "blake2sp" } else { "blake2s" };
            let output = bench.saltern(&["-c", "-a", other], &list);
            assert_eq!(output.status.code(), Some(1), "{algorithm} {bits}");
        }
    }
    // A digest too long for the function is no digest.
    let output = bench.saltern(&["-c", "-a", "blake2s"], format!("{ABC}  a\n").as_bytes());
    assert_eq!(
        complaints(&output),
        "b2sum: 'standard input': no properly formatted checksum lines found\\n\n"
    );
}

#[test]
fn hostile_lines_are_only_malformed() {
    let bench = bench();
    let hostile: [Vec<u8>; 12] = [
        format!("{ABC}00  a\n").into(),
        format!("BLAKE2b ({}", ")".repeat(100_000)).into(),
        vec![b'a'; 50_000_000],
        vec![b'0'; 200_001],
        [b"BLAKE2b-".to_vec(), vec![b'9'; 60_000], format!(" (a) = {ABC}\n").into()].concat(),
        format!("BLAKE2s-512 (a) = {ABC}\n").into(),
        format!("BLAKE2bp-0 (a) = {ABC}\n").into(),
        format!("{ABC}  a\0b\n").into(),
        format!("BLAKE2b-064 (a) = {ABC_64}\nBLAKE2b-0x40 (a) = {ABC_64}\n").into(),
        vec![0; 1_000_000],
        vec![b'\\'; 70_000],
        [&b"\\"[..], ABC.as_bytes(), b"  a\\"].concat(),
    ];
    for list in hostile {
        let output = bench.saltern(&["-c"], &list);
        let shown = list[..list.len().min(40)].escape_ascii().to_string();
        assert_eq!(output.status.code(), Some(1), "{shown}");
        let message = "b2sum: 'standard input': no properly formatted checksum lines found\\n\n";
        assert_eq!(complaints(&output), message, "{shown}");
        assert!(output.stdout.is_empty(), "{shown}");
    }
}

#[test]
fn a_long_line_does_not_hide_the_next_one() {
    let bench = bench();
    let list = [&vec![b'x'; 300_000][..], b"\n", ABC.as_bytes(), b"  a\n"].concat();
    let output = bench.same(&["-c", "-w"], &list);
    assert_eq!(text(&output.stdout), "a: OK\\n\n");
}

/// What is in such a line nobody knows, so that not all is well.
#[test]
fn a_line_that_is_too_long_to_be_read_is_an_error() {
    let bench = bench();
    for long in [
        format!("{ABC}  {}\n", "x".repeat(10 << 20)),
        format!("BLAKE2b ({}) = {ABC}\n", "x".repeat(10 << 20)),
    ] {
        let list = format!("{ABC}  a\n{long}{ABC}  a\n");
        for args in [&["-c"][..], &["-c", "--quiet"], &["-c", "--status"]] {
            let output = bench.saltern(args, list.as_bytes());
            assert_eq!(output.status.code(), Some(1), "{args:?}");
            let message = "b2sum: 'standard input': 2: the line is longer than 131072 bytes\\n\n";
            assert_eq!(complaints(&output), message);
        }
    }
}

#[test]
fn a_line_may_be_as_long_as_a_path() {
    let bench = bench();
    let name = "./".repeat(2000) + "a";
    stdout(bench.same(&["-c", "--strict"], format!("{ABC}  {name}\n").as_bytes()));
    bench.same(&["-c"], format!("{ABC}  {}a\n", "./".repeat(2100)).as_bytes());
    bench.same(&["-c"], format!("{ABC}  {}\n", "x".repeat(300)).as_bytes());
}

/// A piece of a line: more often right than wrong.
fn digest() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just(ABC.to_string()),
        2 => Just(ABC_64.to_string()),
        1 => Just(ABC.to_uppercase()),
        1 => Just(ABC.replace('b', "c")),
        1 => "[0-9a-f]{0,9}",
        1 => "[0-9a-f]{125,131}",
        1 => "[0-9a-g ]{1,5}",
    ]
}

fn listed_name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(
        &[
            "a", "a", "a", "b b", " a", "n\\nl", "other", "nope", "no pe", "/", "-", "", "a)",
            "a\\", "a\\x", "\\\\", "*a", "a\r", "(a) = ", "\u{e9}", "a ", "\t", "*", " ",
        ][..],
    )
}

fn line() -> impl Strategy<Value = String> {
    let start = || prop::sample::select(&["", "", "", "", "\\", " ", "\t ", "#", " \\", "\\ "][..]);
    let blanks = prop::sample::select(
        &["  ", "  ", "  ", " *", " *", " ", "\t", " \t", "", "   ", "**"][..],
    );
    let ends = || prop::sample::select(&["\n", "\n", "\n", "\r\n", "\r\r\n", "\n\n", " \n"][..]);
    let untagged = (start(), digest(), blanks, listed_name(), ends()).prop_map(
        |(start, digest, blanks, name, end)| format!("{start}{digest}{blanks}{name}{end}"),
    );
    let function = prop::sample::select(
        &[
            "BLAKE2b ",
            "BLAKE2b ",
            "BLAKE2b-64 ",
            "BLAKE2b-512 ",
            "BLAKE2b",
            "BLAKE2b-64",
            "BLAKE2b  ",
            "BLAKE2",
            "blake2b ",
            "BLAKE2b-",
            "BLAKE2b-65 ",
            "BLAKE2b-520 ",
            "BLAKE2b-0 ",
            "BLAKE2b-64k ",
            "BLAKE2b--64 ",
            "MD5 ",
            "BLAKE2b-99999999999999999999999 ",
            "BLAKE2b-8 ",
        ][..],
    );
    let equals =
        prop::sample::select(&[" = ", " = ", " = ", "=", "\t=\t ", " ", "= ", " == ", " x= "][..]);
    let tagged = (start(), function, listed_name(), equals, digest(), ends()).prop_map(
        |(start, function, name, equals, digest, end)| {
            format!("{start}{function}({name}){equals}{digest}{end}")
        },
    );
    // coreutils 9.1 misquotes a name that holds an apostrophe and ends in a control character:
    // TAB ' TAB becomes '\t'\'''$'\t', in which a shell reads a backslash and a `t` first.
    let misquoted = |line: &String| line.contains('\'') && line.contains('\t');
    let text =
        "[ -~\t]{0,20}\r?\n".prop_filter("misquoted by coreutils", move |line| !misquoted(line));
    prop_oneof![4 => untagged, 4 => tagged, 1 => text]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_list_is_judged_alike(
        lines in prop::collection::vec(line(), 0..7),
        flags in prop::sample::subsequence(vec!["--strict", "--ignore-missing", "--quiet", "--status"], 0..=4),
        warn: bool,
        cut in any::<prop::sample::Index>(),
    ) {
        let bench = bench();
        let mut list = lines.concat().into_bytes();
        if warn {
            // The last line without its end, or cut anywhere.
            list.truncate(list.len() - cut.index(list.len() + 1).min(200));
        }
        bench.write(b"list", &list);
        let mut args = vec![os(b"-c"), os(b"list")];
        args.extend(flags.iter().map(|flag| os(flag.as_bytes())));
        if warn {
            args.push(os(b"-w"));
        }
        bench.same(&args, b"abc");
    }

    #[test]
    fn a_shell_reads_quoted_names_back(
        name in prop::collection::vec(
            prop_oneof![prop::sample::select(&b"'\"!$\t\n\\#~{} a"[..]), 1..=u8::MAX],
            1..12,
        ),
    ) {
        let name: Vec<u8> = name.into_iter().filter(|&byte| byte != b'/').collect();
        prop_assume!(!matches!(name[..], [] | [b'-', ..] | [b'.'] | [b'.', b'.']));
        let bench = bench();
        prop_assume!(!bench.path().join(os(&name)).exists());
        let output = bench.saltern(&[os(&name)], b"");
        let quoted = output.stderr.strip_prefix(b"saltern sum: ");
        let quoted = quoted.and_then(|rest| rest.strip_suffix(b": No such file or directory\n"));
        let quoted = quoted.unwrap_or_else(|| panic!("{:?}", text(&output.stderr)));
        let script = os(&[b"printf %s ", quoted].concat());
        let read = run(bench.command("bash").args([os(b"-c"), script]), b"");
        prop_assert_eq!(text(&read.stdout), text(&name), "quoted as {:?}", text(quoted));
    }

    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>, at in any::<prop::sample::Index>()) {
        let bench = bench();
        let mut list = format!("BLAKE2bp-64 (a) = {ABC_64}\n{ABC} *b b\n\\{ABC}  n\\nl\n").into_bytes();
        let at = at.index(list.len());
        list.splice(at..at, bytes);
        let output = bench.saltern(&["-c", "-w"], &list);
        prop_assert!(matches!(output.status.code(), Some(0 | 1)), "{:?}", output.status);
        prop_assert!(!text(&output.stderr).contains("panicked"));
    }
}
