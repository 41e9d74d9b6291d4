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

/// What becomes of a line when its string becomes `new`.
#[cfg(feature = "json")]
fn rewritten(line: &str, format: &Format) -> (Vec<Seen>, String, Vec<u64>) {
    let (entries, output, bad) = seen(line.as_bytes(), format);
    (entries, String::from_utf8(output).unwrap(), bad)
}

#[cfg(feature = "json")]
#[test]
fn a_pointer_leads_through_objects_arrays_and_texts() {
    let pointer = Format::Json { stored: "/a/1/b~1c/d".to_owned(), account: None };
    // The same as objects, in a text, and in a text in a text.
    let inner = r#"{"d" : "$y$\u0061\/\"\\\ud83d\ude00"}"#;
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let array = format!(r#"[0,{{"b/c": {inner}}}]"#);
    let within = format!(r#"[0,{{"b/c":{}}}]"#, quoted(inner).replace('$', "\\u0024"));
    for written in [array.clone(), quoted(&array), within.clone(), quoted(&within)] {
        let line = format!(r#"{{"x":"é\n","a": {written} ,"y":1.0}}"#);
        let (entries, output, bad) = rewritten(&line, &pointer);
        assert_eq!(entries, [entry(1, "", "$y$a/\"\\\u{1f600}")], "{line}");
        assert!(bad.is_empty());
        let found = find(output.as_bytes(), &pointer).unwrap().unwrap();
        assert_eq!(found.stored(output.as_bytes()).unwrap(), "new");
        let place = find(line.as_bytes(), &pointer).unwrap().unwrap().range;
        assert_eq!(output, format!("{}new{}", &line[..place.start], &line[place.end..]));
    }
    for (line, is_bad) in [
        (r#"{"a":[0,{"b/c":{"d":null}}]}"#, false),
        (r#"{"a":[0,{"b/c":{}}]}"#, false),
        (r#"{"a":[0]}"#, false),
        (r#"{"a":null}"#, false),
        ("{}", false),
        ("", false),
        (r#"{"a":[0,{"b/c":{"d":1}}]}"#, true),
        (r#"{"a":[0,{"b/c":{"d":"x","d":"y"}}]}"#, true),
        (r#"{"a":[0,{"b/c":7}]}"#, true),
        (r#"{"a":"no JSON"}"#, true),
        (r#"{"a":"[0,{\"b/c\":"}"#, true),
    ] {
        let (entries, output, bad) = rewritten(line, &pointer);
        assert_eq!(
            (entries, output, bad.len()),
            (Vec::new(), line.to_owned(), usize::from(is_bad))
        );
    }
}

#[cfg(feature = "json")]
#[test]
fn credentials_of_keycloak_are_put_together_and_taken_apart() {
    let secret =
        r#"{"value":"AAECAwQFBgcICQoLDA0ODw==","salt":"c2FsdA==","additionalParameters":{}}"#;
    let data = r#"{"hashIterations":27500,"algorithm":"pbkdf2-sha256","additionalParameters":{}}"#;
    let argon2 = r#"{"hashIterations":5,"algorithm":"argon2","additionalParameters":{"hashLength":["32"],"memory":["7168"],"type":["id"],"version":["1.3"],"parallelism":["1"]}}"#;
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let row = |data: &str| {
        format!(
            r#"{{"id":"1","type":"password","secret_data":{},"credential_data":{}}}"#,
            quoted(secret),
            quoted(data)
        )
    };
    let phc = "$pbkdf2-sha256$i=27500,l=16$c2FsdA$AAECAwQFBgcICQoLDA0ODw";
    let (entries, output, bad) = rewritten(&row(data), &Format::Keycloak);
    assert_eq!((entries, bad), (vec![entry(1, "", phc)], Vec::new()));
    let expected = row(&data.replace("pbkdf2-sha256", "saltern"))
        .replace("AAECAwQFBgcICQoLDA0ODw==", "new")
        .replace("c2FsdA==", "");
    assert_eq!(output, expected);
    // A second run finds the new string.
    assert_eq!(rewritten(&output, &Format::Keycloak).0, [entry(1, "", "new")]);
    let history = row(data).replace(r#""password""#, r#""password-history""#);
    assert_eq!(
        rewritten(&history, &Format::Keycloak).1,
        expected.replace(r#""password""#, r#""password-history""#)
    );
    let (entries, ..) = rewritten(&row(argon2), &Format::Keycloak);
    let phc = "$argon2id$v=19$m=7168,t=5,p=1$c2FsdA$AAECAwQFBgcICQoLDA0ODw";
    assert_eq!(entries, [entry(1, "", phc)]);
    // A user of an export, whose first credential is an earlier password, and documents as objects.
    let user = format!(
        r#"{{"username":"alice","credentials":[{{"type":"password-history","secretData":{secret},"credentialData":{argon2}}},{{"type":"password","secretData":{secret},"credentialData":{data}}}]}}"#
    );
    let (entries, output, _) = rewritten(&user, &Format::Keycloak);
    assert_eq!((&*entries[0].1, entries[0].2.starts_with("$pbkdf2")), ("alice", true));
    assert!(output.contains(r#""algorithm":"saltern""#) && output.contains(r#""value":"new""#));
    for line in
        [row(data).replace("password", "otp"), "{}".to_owned(), r#"{"credentials":[]}"#.to_owned()]
    {
        assert_eq!(rewritten(&line, &Format::Keycloak), (Vec::new(), line.clone(), Vec::new()));
    }
    for damaged in ["hashIterations", "algorithm", "salt", "value"] {
        let (entries, _, bad) = rewritten(&row(data).replace(damaged, "other"), &Format::Keycloak);
        assert_eq!((entries, bad), (Vec::new(), vec![1]), "{damaged}");
    }
}

#[cfg(feature = "json")]
#[test]
fn users_of_firebase_are_put_together_and_taken_apart() {
    let key = "firebase+0123456789abcdef".parse().unwrap();
    let parameters =
        crate::policy::FirebaseParameters { key, separator: vec![7], rounds: 8, mem_cost: 14 };
    let format = Format::Firebase(parameters);
    let user = r#"{"localId":"a1","email":"a@b","passwordHash":"AAA\/","salt":"Bw==","mfa":[]}"#;
    let (entries, output, bad) = rewritten(user, &format);
    let string = "$firescrypt$ln=14,r=8,p=1$Bw==$AAA/$Bw==$0123456789abcdef";
    assert_eq!((entries, bad), (vec![entry(1, "a1", string)], Vec::new()));
    let new = user.replace("AAA\\/", "new").replace("Bw==", "");
    assert_eq!(output, new);
    // What is written there is a string as it is.
    for written in ["$y$x", "{over=x}$y$x", "!$y$x"] {
        let line = user.replace("AAA\\/", written);
        let (entries, output, _) = rewritten(&line, &format);
        assert_eq!(entries, [entry(1, "a1", written)]);
        assert_eq!(output, user.replace("AAA\\/", "new"));
    }
    // Other providers; and what a salt or a hash cannot be.
    let line = r#"{"localId":"a1","providerUserInfo":[{"providerId":"google.com"}]}"#;
    assert_eq!(rewritten(line, &format), (Vec::new(), line.to_owned(), Vec::new()));
    let unsalted = user.replace(r#","salt":"Bw==""#, "");
    let string = string.replace("$Bw==$AAA", "$$AAA");
    assert_eq!(rewritten(&unsalted, &format).0, [entry(1, "a1", &string)]);
    for damaged in [user.replace("\"Bw==\"", "7"), user.replace("\"AAA\\/\"", "[]")] {
        let (entries, output, bad) = rewritten(&damaged, &format);
        assert_eq!((entries, output, bad), (Vec::new(), damaged.clone(), vec![1]), "{damaged}");
    }
}

/// A value of LDIF in base 64, folded after this many characters.
fn ldif(text: &str, width: usize, end: &str) -> String {
    use base64ct::Encoding;
    let line = format!("userPassword:: {}", base64ct::Base64::encode_string(text.as_bytes()));
    let lines: Vec<_> = line.as_bytes().chunks(width).map(String::from_utf8_lossy).collect();
    lines.join(&format!("{end} "))
}

#[test]
fn passwords_of_ldif_are_found_folded_or_not() {
    for (width, end) in [(1000, "\n"), (40, "\n"), (17, "\r\n"), (40, "\r\n")] {
        let before =
            format!("version: 1{end}{end}dn: uid=alice,{end} dc=example{end}cn: Alice{end}");
        let between = format!("{end}objectClass: top{end}{end}dn:: dWlkPWLDtmI={end}");
        let (one, two) = (ldif("{SSHA}first", width, end), "USERPASSWORD;x-old: {SSHA}second");
        let input = format!("{before}{one}{between}{two}{end}seeAlso:: AAAA{end}# end");
        let (entries, output, bad) = seen(input.as_bytes(), &Format::Ldif);
        assert!(bad.is_empty(), "{bad:?}");
        let accounts: Vec<_> =
            entries.iter().map(|(_, account, stored)| (&**account, &**stored)).collect();
        let expected = [("uid=alice,dc=example", "{SSHA}first"), ("uid=böb", "{SSHA}second")];
        assert_eq!(accounts, expected);
        assert_eq!(entries[0].0, 6);
        let new = format!(
            "{before}userPassword:: bmV3{between}USERPASSWORD;x-old: new{end}seeAlso:: AAAA{end}# end"
        );
        assert_eq!(String::from_utf8(output).unwrap(), new);
    }
    // Elsewhere it is bad, and so is what cannot be read.
    let bad_lines = format!(
        "pwdHistory: 1#2#3#{OURS}\nuserPassword:: ====\nuserPassword:: /w==\nuserPassword:< file:///x\nuserPassword:\n"
    );
    let (entries, output, bad) = seen(bad_lines.as_bytes(), &Format::Ldif);
    assert_eq!((entries, bad), (Vec::new(), vec![1, 2, 3]));
    assert_eq!(output, bad_lines.as_bytes());
    let (entries, _, bad) = seen(b"userPassword: {SSHA}x\ncn:: AAAA\n", &Format::Detect);
    assert_eq!((entries, bad), (Vec::new(), vec![1, 2]));
}

#[test]
fn folded_lines_that_are_too_long_pass_and_are_bad() {
    let fold = format!("{}\n ", "A".repeat(900));
    for folds in [10, 72, 73, 200] {
        let input =
            format!("userPassword:: {}A\ncn: x\nuserPassword: {{SSHA}}x\n", fold.repeat(folds));
        let (entries, output, bad) = seen(input.as_bytes(), &Format::Ldif);
        assert_eq!(entries.last().unwrap().0, 3 + folds as u64);
        // Not base 64, or too long.
        assert_eq!(bad, [1], "{folds}");
        assert_eq!(output, input.replace("{SSHA}x", "new").as_bytes());
    }
    let mut long = format!(" {}", "A".repeat(3 * MAX_LINE));
    long = format!("a: b\n{long}\n c\nuserPassword: x\n d\n");
    let (entries, output, bad) = seen(long.as_bytes(), &Format::Ldif);
    assert_eq!((entries, bad), (vec![entry(4, "", "xd")], vec![1]));
    assert_eq!(output, long.replace("x\n d", "new").as_bytes());
}
