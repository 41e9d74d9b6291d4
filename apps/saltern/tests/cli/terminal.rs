//! The prompt on a terminal. A pseudo-terminal comes from Python, which the test needs.
#![cfg(unix)]

use assert_cmd::Command;

use crate::policy::{CHEAP, Site};
use crate::program::{PASSWORD, PROGRAM, YESCRYPT, python, stderr, stdout};

mod signals;

/// Runs the program on a terminal of its own, and types the next line of `typed` at each prompt.
/// Returns all that the terminal showed, and the exit status.
pub(crate) fn on_terminal(args: &[&str], typed: &str) -> (String, i32) {
    on_terminal_of(PROGRAM, args, typed)
}

fn on_terminal_of(program: &str, args: &[&str], typed: &str) -> (String, i32) {
    let mut python = python("terminal/prompt.py", &[program, "typed", typed]);
    let output = python.args(args).output().expect("python3 can be run");
    assert!(output.status.success(), "{}", stderr(&output));
    let (shown, status) = stdout(&output).rsplit_once('\n').unwrap();
    (shown.to_owned(), status.parse().unwrap())
}

#[test]
fn hashing_asks_twice_without_echo() {
    let (shown, status) = on_terminal(&["hash", "--cost", "1"], "tërminal secret\ntërminal secret");
    assert_eq!(status, 0, "{shown}");
    assert!(!shown.contains("secret"), "the password was echoed: {shown}");
    let hash = shown.lines().last().unwrap();
    assert!(
        shown.starts_with("Password: ") && shown.contains("Again: ") && hash.starts_with("$y$j75$")
    );
    let (shown, status) = on_terminal(&["verify", hash], "tërminal secret");
    assert_eq!((status, shown.lines().last()), (0, Some("match")), "{shown}");
    assert!(!shown.contains("Again"));
    let (_, status) = on_terminal(&["verify", hash], "terminal secret");
    assert_eq!(status, 1);
}

#[test]
fn known_password() {
    let (shown, status) = on_terminal(&["verify", "--quiet", YESCRYPT], PASSWORD);
    assert_eq!((shown.trim(), status), ("Password:", 0));
}

/// Nobody types a password for a policy that is no good, or whose keys are not there.
#[test]
fn a_policy_is_looked_at_before_the_question() {
    for (policy, told) in [
        ("[pool]\nthreads = 0\n", ":2: pool.threads = 0"),
        ("[decoy]\nkeys = 7\n", ":2: decoy.keys"),
        ("[decoy]\nkey = \"nowhere\"\n", "nowhere"),
    ] {
        let site = Site::new(policy);
        for args in [&["hash", "--policy"][..], &["verify", YESCRYPT, "--policy"]] {
            let (shown, status) = on_terminal(&[args, &[&site.policy()]].concat(), "x\nx");
            assert!(status == 2 && shown.contains(told) && !shown.contains("Password"), "{shown}");
        }
    }
    let site = Site::new(&format!("{CHEAP}{{key}}"));
    std::fs::remove_file(site.path("key")).unwrap();
    let (shown, status) = on_terminal(&["hash", "--policy", &site.policy()], "x\nx");
    assert!(
        status == 2 && shown.contains("No such file") && !shown.contains("Password"),
        "{shown}"
    );
}

#[test]
fn slips_are_noticed() {
    let (shown, status) = on_terminal(&["hash", "--cost", "1"], "one\nother");
    assert!(
        status == 2 && shown.contains("the two passwords differ") && !shown.contains('$'),
        "{shown}"
    );
    let (shown, status) = on_terminal(&["hash", "--cost", "1"], "\n");
    assert!(status == 2 && shown.contains("--allow-empty"), "{shown}");
}

#[test]
fn keys_of_the_terminal() {
    let verify = |typed: &str| on_terminal(&["verify", "--quiet", YESCRYPT], typed);
    let (shown, status) = verify("pleasex\u{7f}\u{1b}");
    assert!(status == 2 && shown.contains("control character (0x1b)"), "{shown}");
    for typed in ["x☃\u{7f}\u{7f}pleaseletmein", "x\u{8}pleaseletmein", "wrong\u{15}pleaseletmein"]
    {
        assert_eq!(verify(typed).1, 0, "{typed:?}");
    }
    let (shown, status) = verify("secret\u{3}");
    assert_eq!((shown.trim(), status), ("Password:", -2), "ended by SIGINT");
    let (shown, status) = verify("\u{4}");
    assert!(status == 2 && shown.contains("no password was entered"), "{shown}");
}

/// However the question ends, the terminal gets its echo back.
#[test]
fn echo_comes_back() {
    for (typed, text) in
        [("pw\npw", "$y$"), ("pw\u{3}", ""), ("pw\u{1b}", "control"), ("\u{4}", "no password")]
    {
        // The shell outlives the program, though the key interrupts both, and tells what became of
        // its terminal.
        let script = format!("trap : INT; '{PROGRAM}' hash --cost 1; stty -a < /dev/tty");
        let (shown, _) = on_terminal_of("/bin/sh", &["-c", &script], typed);
        assert!(
            shown.contains(text) && shown.contains(" echo ") && shown.contains(" icanon"),
            "{shown}"
        );
    }
}

/// Without any terminal a line of standard input is the password, as getpass(3) has it.
#[test]
fn no_terminal_at_all() {
    let mut alone = Command::new("setsid");
    let output =
        alone.args(["-w", PROGRAM, "hash", "--cost", "1"]).write_stdin("secret\n").output();
    let output = output.expect("setsid can be run");
    assert!(output.status.success() && output.stdout.starts_with(b"$y$j75$"), "{output:?}");
}
