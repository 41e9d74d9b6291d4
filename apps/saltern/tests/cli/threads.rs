//! Where the system allows no thread beside the first one, everything is computed there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use saltern_testing::skipped;

use crate::policy::{BCRYPT, CHEAP, Site};
use crate::program::{PASSWORD, PROGRAM, YESCRYPT, run, seen, stderr, stdout};

/// A stack that no address space has room for, so that starting a thread fails.
const NO_STACK: (&str, &str) = ("RUST_MIN_STACK", "140737488355328");

/// The ways to have no threads.
#[derive(Clone, Copy)]
enum Without<'p> {
    Stack,
    /// RLIMIT_NPROC, which root is not subject to: this copy of the program, as another user.
    Processes(&'p Path),
}

impl Without<'_> {
    fn run(self, args: &[&str], input: &str) -> Output {
        let mut command = match self {
            Without::Stack => {
                let mut command = Command::new(PROGRAM);
                command.env(NO_STACK.0, NO_STACK.1);
                command
            }
            Without::Processes(program) => {
                let mut command = Command::new("prlimit");
                if rustix::process::getuid().is_root() {
                    command = Command::new("setpriv");
                    command.args(["--reuid=54321", "--clear-groups", "prlimit"]);
                }
                command.arg("--nproc=1").arg(program);
                command
            }
        };
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("setpriv and prlimit can be run");
        // Not every command reads it.
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes());
        child.wait_with_output().unwrap()
    }
}

/// A folder that another user may read, with the program in it.
fn shared_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(PROGRAM, folder.path().join("saltern")).unwrap();
    folder
}

fn everywhere(check: impl Fn(Without<'_>)) {
    check(Without::Stack);
    let folder = shared_folder();
    let limited = Without::Processes(&folder.path().join("saltern"));
    match limited.run(&["--version"], "") {
        output if output.status.success() => check(limited),
        output => skipped(&format!("no limit on processes here: {output:?}")),
    }
}

#[test]
fn one_password_is_computed() {
    everywhere(|without| {
        let output = without.run(&["verify", "--stdin", YESCRYPT], PASSWORD);
        assert_eq!(seen(&output), (Some(0), "match\n", ""));
        let output = without.run(&["verify", "--stdin", YESCRYPT], "other");
        assert_eq!(seen(&output), (Some(1), "mismatch\n", ""));
        // p > 1, for which there would be several threads.
        let parallel = ["hash", "--stdin", "--n=64", "--r=8", "--p=4"];
        let output = without.run(&parallel, "secret");
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
        let stored = stdout(&output).trim_end();
        let verified = run(&["verify", "--stdin", stored], "secret");
        assert_eq!(seen(&verified), (Some(0), "match\n", ""));
    });
}

#[test]
fn many_passwords_are_computed_in_their_order() {
    everywhere(|without| {
        let line = |password: &str| {
            serde_json::json!({ "password": password, "hash": YESCRYPT }).to_string() + "\n"
        };
        let input = [line(PASSWORD), line("other"), line(PASSWORD), "{}\n".to_owned()].concat();
        for more in [&[][..], &["--unordered"], &["--threads=8"], &["--deadline=60000"]] {
            let output = without.run(&[&["verify", "--jsonl"], more].concat(), &input);
            let answers: Vec<_> = stdout(&output).lines().collect();
            let expected = [
                "{\"line\":1,\"match\":true}",
                "{\"line\":2,\"match\":false}",
                "{\"line\":3,\"match\":true}",
            ];
            assert_eq!(answers[..3], expected, "{output:?}");
            assert!(answers[3].starts_with("{\"line\":4,\"error\""), "{output:?}");
            assert_eq!(output.status.code(), Some(2));
        }
    });
}

#[test]
fn a_policy_is_served() {
    let site = Site::new(&format!("{CHEAP}[pool]\nthreads = 4\n"));
    for file in [Path::new(&site.policy()), Path::new(&site.policy()).parent().unwrap()] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let policy = &site.policy();
    everywhere(|without| {
        let verify = ["verify", "--stdin", "--update", "--policy", policy, BCRYPT];
        let output = without.run(&verify, "U*U");
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
        assert!(stdout(&output).contains("update: $y$"), "{output:?}");
        let lines = format!("{BCRYPT}\n").repeat(300);
        let output = without.run(&["wrap", "--policy", policy], &lines);
        assert_eq!(
            (output.status.code(), stdout(&output).matches("{over=").count()),
            (Some(0), 300)
        );
        // That it is slower than the policy wants is said.
        assert!(stderr(&output).contains("warning: "), "{output:?}");
    });
}

#[test]
fn blocks_of_a_rom_are_read() {
    let folder = shared_folder();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("seed"), "a seed that is long enough").unwrap();
    let create = ["rom", "create", &path("site.rom"), "--size=1MiB", "--mode=444", "--seed-file"];
    assert_eq!(run(&[&create[..], &[&path("seed")]].concat(), "").status.code(), Some(0));
    for access in ["direct", "copy"] {
        let rom = [format!("--rom={}", path("site.rom")), format!("--rom-access={access}")];
        let rom = rom.each_ref().map(String::as_str);
        everywhere(|without| {
            let hash = [&["hash", "--stdin", "--n=64", "--r=32"][..], &rom].concat();
            let output = without.run(&hash, "secret");
            assert_eq!(output.status.code(), Some(0), "{access}: {output:?}");
            let stored = stdout(&output).trim_end();
            let verify = [&["verify", "--stdin", stored][..], &rom].concat();
            assert_eq!(seen(&run(&verify, "secret")), (Some(0), "match\n", ""));
            assert_eq!(seen(&without.run(&verify, "other")).0, Some(1));
        });
    }
}

#[test]
fn checksums_are_computed() {
    let folder = shared_folder();
    let names: Vec<String> = (0..40)
        .map(|n| {
            let name = folder.path().join(n.to_string());
            fs::write(&name, vec![n as u8; n * n * n * 100]).unwrap();
            name.to_str().unwrap().to_owned()
        })
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for mode in [&[][..], &["-a", "blake2bp"], &["--num-threads=8"]] {
        let args = [&["sum"], mode, &names].concat();
        let expected = run(&args, "");
        assert_eq!(seen(&expected).0, Some(0), "{expected:?}");
        everywhere(|without| assert_eq!(seen(&without.run(&args, "")), seen(&expected)));
    }
}

/// What it measured would be another machine.
#[test]
fn nothing_is_tuned() {
    everywhere(|without| {
        let output = without.run(&["tune", "--cost=1", "--threads=2", "--quick"], "");
        let (code, out, err) = seen(&output);
        assert_eq!((code, out), (Some(2), ""), "{err}");
        assert!(err.contains("threads"), "{err}");
    });
}
