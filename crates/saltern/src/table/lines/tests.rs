//! Where strings are found, and what becomes of their lines.

use std::io::Read;

use super::*;

/// The number, the account and the string of a line.
type Seen = (u64, String, String);

/// What is found in each line, whose string becomes `new`; what is written; which are bad.
fn seen(input: &[u8], format: &Format) -> (Vec<Seen>, Vec<u8>, Vec<u64>) {
    let (mut entries, mut output, mut bad) = (Vec::new(), Vec::new(), Vec::new());
    let operation = |entry: &Entry<'_>| {
        let account = String::from_utf8_lossy(entry.account.unwrap_or_default());
        entries.push((entry.number, account.into_owned(), entry.stored.to_owned()));
        Ok(Some("new".to_owned())).into()
    };
    each_line(input, &mut output, format, operation, |line, _| bad.push(line)).unwrap();
    (entries, output, bad)
}

fn entry(number: u64, account: &str, stored: &str) -> Seen {
    (number, account.to_owned(), stored.to_owned())
}

#[test]
fn lines_are_told_apart_by_what_they_look_like() {
    let input = b"$y$a:b\n# $y$a\r\n\nalice:$6$a:1\r\nbob::\n{key=a}$y$a\ncarol:\xff\nplain";
    let (entries, output, bad) = seen(input, &Format::Detect);
    let expected = [
        entry(1, "", "$y$a:b"),
        entry(4, "alice", "$6$a"),
        entry(6, "", "{key=a}$y$a"),
        entry(8, "", "plain"),
    ];
    assert_eq!(entries, expected);
    assert_eq!(bad, [7]);
    let written = b"new\n# $y$a\r\n\nalice:new:1\r\nbob::\nnew\ncarol:\xff\nnew";
    assert_eq!(output, written);
}

#[test]
fn comments_are_none_wherever_the_string_is() {
    let (entries, _, bad) =
        seen(b"# name:hash:x\nal:$y$a:x\n", &Format::Fields { stored: 1, account: 0 });
    assert_eq!((entries, bad), (vec![entry(2, "al", "$y$a")], Vec::new()));
    #[cfg(feature = "json")]
    {
        let (entries, _, bad) = seen(
            b"{\"h\":\"$y$a\"}\n#c\n",
            &Format::Json { stored: "h".to_owned(), account: None },
        );
        assert_eq!((entries, bad), (vec![entry(1, "", "$y$a")], Vec::new()));
    }
}

/// A string of ours that can be read.
const OURS: &str = "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";

#[test]
fn no_string_is_passed_over() {
    let lines = [
        format!("#alice:{OURS}:19000"),
        format!("# was: {OURS}"),
        format!("bob::{OURS}"),
        format!("#carol:!{{CRYPT}}{OURS}\r"),
        "userPassword:: e1NTSEF9MTIzNDU2".to_owned(),
        "# $y$, as crypt(5) has it, or {SSHA}".to_owned(),
        "dave::19000:0:99999".to_owned(),
        "#5ebe2294ecd0e0f08eab7690d2a6ee69".to_owned(),
    ];
    let input = lines.join("\n");
    let (entries, output, bad) = seen(input.as_bytes(), &Format::Detect);
    assert_eq!((entries, bad), (Vec::new(), vec![1, 2, 3, 4, 5]));
    assert_eq!(output, input.as_bytes());
    // A table whose lines lack the field is not the table that was meant.
    let (entries, output, bad) =
        seen(b"a:b:c\na:b\n\n# x\na:b:\n", &Format::Fields { stored: 2, account: 0 });
    assert_eq!((entries, bad), (vec![entry(1, "a", "c")], vec![2]));
    assert_eq!(output, b"a:b:new\na:b\n\n# x\na:b:\n");
}

/// The same places as those of [`each_line`], and in the same order what is not there.
#[test]
fn rows_are_what_is_in_the_lines() {
    let long = "x".repeat(2 * MAX_LINE);
    let input = format!("# a\n\nalice:{OURS}:1\nbob::\ncarol::{OURS}\neve:{long}\n{OURS}");
    let rows: Vec<_> = rows(input.as_bytes(), &Format::Detect).collect::<Result<_, _>>().unwrap();
    let row = |number, account: Option<&str>, stored: Option<&str>| {
        (number, account.map(|account| account.as_bytes().to_vec()), stored.map(str::to_owned))
    };
    let expected = [
        row(3, Some("alice"), Some(OURS)),
        row(4, Some("bob"), Some("")),
        row(5, Some("carol"), None),
        row(6, Some("eve"), None),
        row(7, None, Some(OURS)),
    ];
    assert_eq!(rows.len(), expected.len());
    for (row, expected) in rows.into_iter().zip(expected) {
        assert_eq!((row.number, row.account, row.stored.ok()), expected);
    }
}

#[cfg(feature = "json")]
#[test]
fn no_string_of_json_is_passed_over() {
    let escaped = OURS.replace('/', "\\/").replacen('$', "\\u0024", 1);
    let lines = [
        format!("{{\"password\":\"{escaped}\"}}"),
        format!("{{\"hash\":null,\"old\":[1,{{\"is\":\"{escaped}\"}}]}}"),
        format!("{{\"hash\":\"{OURS}\",\"h\\u0061sh\":\"x\"}}"),
        "{\"id\":1,\"id\":2,\"hash\":\"x\"}".to_owned(),
        format!("{{\"hash\":{{\"hash\":\"{OURS}\"}}}}"),
        "{\"hash\":null,\"etag\":\"5ebe2294ecd0e0f08eab7690d2a6ee69\"}".to_owned(),
        "{\"hash\":\"\"}".to_owned(),
    ];
    let input = lines.join("\n");
    let (entries, output, bad) = seen(input.as_bytes(), &Format::Detect);
    assert_eq!((entries, bad), (Vec::new(), vec![1, 2, 3, 4, 5]));
    assert_eq!(output, input.as_bytes());
}

#[cfg(feature = "json")]
#[test]
fn json_is_changed_in_its_place() {
    let input =
        b"{\"a\" : 1.0,\"hash\" : \"$\\u0079$\" }\n{\"hash\":null}\n{}\n{\"hash\":1}\n{\"\n";
    let (entries, output, bad) = seen(input, &Format::Detect);
    assert_eq!(entries, [entry(1, "", "$y$")]);
    assert_eq!(bad, [4, 5]);
    let written = b"{\"a\" : 1.0,\"hash\" : \"new\" }\n{\"hash\":null}\n{}\n{\"hash\":1}\n{\"\n";
    assert_eq!(output, written);
}

/// What an operation makes of a string may have to be escaped: salts can have quotes.
#[cfg(feature = "json")]
#[test]
fn json_stays_json() {
    let (input, mut output) = (b"{\"hash\":\"a\\\"b\\\\c\"}\n", Vec::new());
    let operation = |entry: &Entry<'_>| {
        assert_eq!(entry.stored, "a\"b\\c");
        Ok(Some(format!("new {}", entry.stored))).into()
    };
    each_line(&input[..], &mut output, &Format::Detect, operation, |_, _| {}).unwrap();
    assert_eq!(output, b"{\"hash\":\"new a\\\"b\\\\c\"}\n");
}

#[test]
fn long_lines_pass_and_are_bad() {
    for length in [MAX_LINE - 1, MAX_LINE, MAX_LINE + 1, 3 * MAX_LINE, 3 * MAX_LINE + 1] {
        let long = "x".repeat(length);
        let input = format!("a\n{long}\nb\n");
        let (entries, output, bad) = seen(input.as_bytes(), &Format::Bare);
        let fits = length <= MAX_LINE;
        assert_eq!(entries.last().unwrap().0, 3);
        assert_eq!((entries.len(), bad.len()), if fits { (3, 0) } else { (2, 1) }, "{length}");
        let middle = if fits { "new" } else { &long };
        assert!(output == format!("new\n{middle}\nnew\n").into_bytes(), "{length}");
    }
}

/// An input that ends in an error, with half a line before it.
#[test]
fn what_was_read_is_written_before_an_error() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    let input = io::BufReader::new((&b"a\nb\nhal"[..]).chain(Broken));
    let mut output = Vec::new();
    let same = |_: &Entry<'_>| Ok(None).into();
    let result = each_line(input, &mut output, &Format::Bare, same, |_, _| {});
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(output, b"a\nb\n");
}
