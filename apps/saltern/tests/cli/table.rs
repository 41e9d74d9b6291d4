//! Streams of stored strings: `census`, `needs-rehash`, `wrap`, `reencrypt`.

mod losses;
mod streams;

use std::collections::BTreeSet;

use crate::policy::{BCRYPT, CHEAP, Site};
use crate::program::{SCRYPT, YESCRYPT, assert_one_error, run, seen, stderr, stdout};

/// MD5 of `secret`.
const HEX: &str = "5ebe2294ecd0e0f08eab7690d2a6ee69";

/// Each form of line, with strings of each kind; the bad ones are the first one, a comment in which
/// there is a string, and the last three.
fn mixed() -> String {
    [
        format!("# a comment: {BCRYPT}"),
        format!("alice:{BCRYPT}:19000:0:\r"),
        HEX.to_owned(),
        format!("{{ \"id\": 1.50,  \"hash\" :\"{}\" }}", BCRYPT.replacen('$', "\\u0024", 1)),
        format!("bob:!{{CRYPT}}{BCRYPT}"),
        format!("carol:{YESCRYPT}"),
        "dave:*LK*:".to_owned(),
        "erin::".to_owned(),
        "{\"id\":7,\"hash\":null}".to_owned(),
        "{\"id\":8}".to_owned(),
        String::new(),
        format!("mallory:{SCRYPT}"),
        "trent:nonsense".to_owned(),
        "{\"hash\":7}".to_owned(),
        "\u{e9}:$y$j9T".to_owned(),
    ]
    .join("\n")
}

#[test]
fn old_strings_are_wrapped_and_verify_as_before() {
    let site = Site::new(CHEAP);
    let (file, input) = (&site.policy(), mixed());
    let output = run(&["wrap", "--policy", file], &input);
    let told: Vec<_> = stderr(&output).lines().collect();
    assert_eq!(output.status.code(), Some(2));
    // scrypt is ours: it needs nothing around it.
    for (told, line) in told.iter().zip([1, 13, 14, 15]) {
        assert!(told.starts_with(&format!("saltern: line {line}: ")), "{told}");
    }
    let counts = "saltern: 15 lines, 4 wrapped, 3 not in need of wrapping, 4 without a string, 4 bad and left \
                  unchanged";
    assert_eq!(&told[4..], [counts]);
    let (before, after): (Vec<_>, Vec<_>) =
        (input.split('\n').collect(), stdout(&output).split('\n').collect());
    assert_eq!(before.len(), after.len());
    for (at, (before, after)) in before.iter().zip(&after).enumerate() {
        assert_eq!(before == after, ![1, 2, 3, 4].contains(&at), "line {}: {after}", at + 1);
    }
    // All but the string is byte for byte what it was.
    let strings: Vec<&str> = [
        ("alice:", ":19000:0:\r"),
        ("", ""),
        ("{ \"id\": 1.50,  \"hash\" :\"", "\" }"),
        ("bob:!{CRYPT}", ""),
    ]
    .iter()
    .zip(&after[1..])
    .map(|((head, tail), line)| line.strip_prefix(head).unwrap().strip_suffix(tail).unwrap())
    .collect();
    for (stored, password) in strings.iter().zip(["U*U", "secret", "U*U", "U*U"]) {
        assert!(stored.starts_with("{over="), "{stored}");
        let verify = |password| run(&["verify", "--stdin", "--policy", file, stored], password);
        assert!(stdout(&verify(password)).starts_with("match, an update is due: "), "{stored}");
        assert_eq!(seen(&verify("another")), (Some(1), "mismatch\n", ""));
    }
    // Once more is the same.
    assert_eq!(run(&["wrap", "--policy", file], &output.stdout).stdout, output.stdout);
}

#[test]
fn what_the_policy_does_not_accept_is_not_wrapped() {
    let site = Site::new("[params]\ncost = 1\n");
    let line = format!("alice:{BCRYPT}\n");
    let output = run(&["wrap", "--policy", &site.policy()], &line);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), &*line));
    assert!(stderr(&output).starts_with("saltern: line 1: the policy does not accept bcrypt"));
    let site = Site::new(CHEAP);
    let output = run(&["wrap", "--policy", &site.policy()], line.replace("$05$", "$31$"));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("above the limit"), "{output:?}");
}

#[test]
fn what_cannot_be_counted_is_told_by_its_name() {
    let output = run(&["census"], "a:{NTLM}0123:1\nb:x:1\nc:!{CRYPT}$y$:1\n");
    let told: Vec<_> = stderr(&output).lines().collect();
    assert!(told[0].ends_with("`x` means that it is in the shadow file"), "{told:?}");
    assert_eq!((output.status.code(), told.len()), (Some(2), 3), "{told:?}");
    // What is known by name alone is no bad line.
    assert!(
        stdout(&output)
            .contains("\nunsupported\n           1  the NT hash in the Dovecot format\n"),
        "{output:?}"
    );
}

/// A queue for logins that is shorter than what is on its way here refuses nothing.
#[test]
fn many_are_wrapped_in_their_order() {
    let site = Site::new(&format!("{CHEAP}[pool]\nqueue = 1\n"));
    let lines: String = (0..600).map(|n| format!("user{n}:{n:032x}\n")).collect();
    let output = run(&["wrap", "--policy", &site.policy()], lines);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for (n, line) in stdout(&output).lines().enumerate() {
        assert!(line.starts_with(&format!("user{n}:{{over=")), "{line}");
    }
    assert_eq!(stdout(&output).lines().count(), 600);
}

#[test]
fn a_table_moves_to_the_key_of_the_policy() {
    let site = Site::new(&format!("{CHEAP}{{key}}"));
    let (file, input) = (&site.policy(), format!("a:{YESCRYPT}\nb:{BCRYPT}\nc:!{YESCRYPT}:1\n"));
    let output = run(&["reencrypt", "--policy", file], &input);
    let counts = "saltern: 3 lines, 2 re-encrypted, 1 already done, 0 bad and left unchanged\n";
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), counts));
    assert!(stdout(&output).starts_with("a:{key=2026+") && stdout(&output).contains("\nc:!{key="));
    let census = |policy: &str, lines: &[u8]| {
        run(&["census", "--policy", policy, "--retire-key", "2026"], lines)
    };
    // It is the active one.
    assert_eq!(census(file, input.as_bytes()).status.code(), Some(1));
    let inactive = std::fs::read_to_string(file).unwrap().replace("active = true", "");
    let without = &site.path("without.toml");
    std::fs::write(without, inactive).unwrap();
    let used = census(without, &output.stdout);
    assert_eq!(used.status.code(), Some(1), "{used:?}");
    let told = "the key 2026 cannot be retired: 2 stored strings need it";
    assert_eq!(stdout(&used).lines().last(), Some(told));
    let back = run(&["reencrypt", "--policy", without], &output.stdout);
    assert_eq!((back.status.code(), stdout(&back)), (Some(0), &*input));
    let free = census(without, &back.stdout);
    assert_eq!(free.status.code(), Some(0), "{free:?}");
    assert_eq!(stdout(&free).lines().last(), Some("the key 2026 can be retired"));
    // What could not be read may need it.
    assert_eq!(census(without, b"a:nonsense\n").status.code(), Some(2));
    // Neither a slip in the name nor a table that is not there says that nobody needs it.
    let slip = run(&["census", "--policy", without, "--retire-key", "2O26"], &back.stdout);
    assert_one_error(&slip, "the policy has no key 2O26: it has 2026");
    assert_one_error(&census(without, b""), "standard input is empty");
    for nothing in ["\n", "erin::\n"] {
        let output = census(without, nothing.as_bytes());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(stderr(&output).contains("no stored string was counted"), "{output:?}");
        assert!(!stdout(&output).contains("can be retired"), "{output:?}");
    }
}

#[test]
fn strings_that_are_outdated_are_listed() {
    let site = Site::new(CHEAP);
    let file = &site.policy();
    let output = run(&["needs-rehash", "--policy", file], mixed());
    assert_eq!(output.status.code(), Some(2));
    let listed = "alice: scheme, cost, floor\nline 3: scheme, cost, floor, salt\nline 4: scheme, cost, \
                  floor\nbob: scheme, cost, floor\n";
    assert!(stdout(&output).starts_with(listed), "{output:?}");
    let input = format!("a:{YESCRYPT}\nb:{BCRYPT}\n");
    let output = run(&["needs-rehash", "--policy", file, "--lines"], &input);
    let lines = format!("b:{BCRYPT}\n");
    let counts = "saltern: 1 of 2 strings are outdated, 0 lines are bad\n";
    assert_eq!(seen(&output), (Some(1), &*lines, counts));
    let output = run(&["needs-rehash", "--policy", file, "--json"], &input);
    let record = "{\"line\":2,\"user\":\"b\",\"reasons\":[\"scheme\",\"cost\",\"floor\"],\"needs_password\":true}\n";
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), record));
    assert_eq!(run(&["needs-rehash", "--policy", file], YESCRYPT).status.code(), Some(0));
    // Without a policy, what is below the default cost is outdated.
    assert_eq!(run(&["needs-rehash"], BCRYPT).status.code(), Some(1));
}

#[test]
fn a_table_is_counted() {
    let site = Site::new(CHEAP);
    let file = &site.policy();
    let output = run(&["census", "--policy", file, "--json"], mixed());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output).lines().count(), 5, "{output:?}");
    let json: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    let schemes = serde_json::json!({"bcrypt": 3, "hex": 1, "scrypt": 1, "yescrypt": 1});
    assert_eq!(json["schemes"], schemes, "{json}");
    let counts = ["accounts", "locked", "without_string", "bad", "refused"]
        .map(|key| json[key].as_u64().unwrap());
    assert_eq!(counts, [7, 2, 4, 4, 1], "{json}");
    let needed = ["outdated", "needs_rekey", "needs_wrap"].map(|key| json[key].as_u64().unwrap());
    // The one that the policy refuses is outdated, too, as `needs-rehash` says.
    assert_eq!(needed, [5, 0, 4], "{json}");
    // The Python package counts columns with the same names.
    let types = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bindings/python/saltern/_saltern.pyi");
    let types = std::fs::read_to_string(types).unwrap();
    let (_, names) = types.split_once("class _Census(TypedDict):\n").unwrap();
    let names = names.lines().map_while(|line| line.strip_prefix("    "));
    let names: BTreeSet<_> = names.filter_map(|line| line.split(':').next()).collect();
    let keys: BTreeSet<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, names);
    let output = run(&["census", "--policy", file], mixed());
    assert!(stdout(&output).contains("scrypt (not accepted by the policy)"), "{output:?}");
    assert!(stdout(&output).contains("refused      1, which the policy"), "{output:?}");
    // What is printed for the policy is taken by it.
    let input = format!("{YESCRYPT}\n").repeat(3) + BCRYPT;
    let costs = run(&["census", "--decoy"], &input);
    let left = "saltern: 1 strings are left out: the policy refuses them\n";
    assert_eq!((costs.status.code(), stderr(&costs)), (Some(0), left));
    let text = format!("{CHEAP}[decoy]\nkey = \"key\"\n{}", stdout(&costs));
    let site = Site::new(&text);
    assert_eq!(run(&["policy", "check", &site.policy()], "").status.code(), Some(0), "{text}");
    assert_eq!(stdout(&costs).matches("share = 3\n").count(), 1);
    let one = run(&["census", "--decoy", "--most", "1"], &input);
    assert_eq!(stdout(&one).matches("[[decoy.costs]]").count(), 1);
}

#[test]
fn the_string_can_be_in_any_field_and_under_any_key() {
    let site = Site::new(CHEAP);
    let file = &site.policy();
    let wrap =
        |args: &[&str], input: &str| run(&[&["wrap", "--policy", file], args].concat(), input);
    let output = wrap(&["--field", "3"], &format!("1:$x:{BCRYPT}:4\n1:2\n"));
    assert!(stdout(&output).starts_with("1:$x:{over=") && stdout(&output).ends_with(":4\n1:2\n"));
    assert!(stderr(&output).starts_with("saltern: line 2: ") && output.status.code() == Some(2));
    let output = wrap(&["--json-key", "p\u{e9}"], &format!("{{\"p\\u00e9\":\"{BCRYPT}\"}}\n"));
    assert!(stdout(&output).starts_with("{\"p\\u00e9\":\"{over="), "{output:?}");
    assert_eq!(wrap(&["--field", "0"], "").status.code(), Some(2));
    assert_eq!(wrap(&["--field", "1", "--json-key", "a"], "").status.code(), Some(2));
}
