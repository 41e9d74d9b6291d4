//! Programs of the machine with the shim before their libcrypt.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use saltern_testing::program::repository;
use saltern_testing::skipped;

use crate::installed::{installed, is_there, succeed};

fn preloaded(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", installed().shim());
    command
}

const HASHES: &str = r#"
import crypt, sys, warnings
for setting in ["$y$j75$LdJMENpBABJJ3hIHjB1Bi.", "$7$A6..../....salt", "$6$rounds=1000$salt",
                "$2b$04$......................", "$1$salt", "ab", "$y$nonsense", "*0"]:
    try:
        print(crypt.crypt("pleaseletmein", setting))
    except OSError as error:
        print(error.errno)
print(crypt.crypt("x", crypt.mksalt(crypt.METHOD_SHA512, rounds=1000))[:3])
"#;

/// How many KiB a hash leaves behind.
const KEPT: &str = r#"
import crypt
def resident():
    return int(next(line for line in open("/proc/self/status") if "VmRSS" in line).split()[1])
before = resident()
crypt.crypt("pleaseletmein", "$y$j9T$LdJMENpBABJJ3hIHjB1Bi.")
print(max(resident() - before, 0))
"#;

#[test]
fn pythons_crypt_answers_the_same() {
    let python = ["-W", "ignore", "-c"];
    let has = Command::new("python3").args(python).arg("import crypt").output();
    if !has.is_ok_and(|output| output.status.success()) {
        skipped("Python with the shim: it has no module crypt");
        return;
    }
    let plain = succeed(Command::new("python3").args(python).arg(HASHES));
    let ours = succeed(preloaded("python3").args(python).arg(HASHES));
    assert_eq!(ours, plain);
    assert!(ours.lines().count() == 9 && ours.starts_with("$y$j75$"), "{ours}");
    // And it is the shim that answers: it keeps the memory of a hash, which libxcrypt gives back.
    let [by_shim, by_system] = [preloaded("python3"), Command::new("python3")]
        .map(|mut program| succeed(program.args(python).arg(KEPT)).trim().parse::<u64>().unwrap());
    assert!(by_shim >= 16 << 10 && by_system < 8 << 10, "{by_shim} {by_system} KiB");
}

#[test]
fn mkpasswd_makes_strings_that_verify() {
    if !is_there("mkpasswd") {
        skipped("mkpasswd with the shim: there is none (Debian: whois)");
        return;
    }
    for method in ["yescrypt", "scrypt", "sha512crypt", "bcrypt"] {
        let made = succeed(preloaded("mkpasswd").args(["-m", method, "pleaseletmein"]));
        let again = succeed(Command::new("mkpasswd").args(["-S", made.trim(), "pleaseletmein"]));
        assert_eq!(made, again, "{method}");
    }
}

/// A login and a change of password by pam_unix, which calls `crypt_r`, `crypt_checksalt` and
/// `crypt_gensalt_rn`, with a table of its own in a name space of its own.
#[test]
fn a_stack_of_pam_logs_in_and_changes_a_password() {
    let space = |command: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--map-root-user", "--mount", command]);
        unshare
    };
    let may = space("true").output().is_ok_and(|output| output.status.success());
    // It knows no option that does nothing.
    let has = Command::new("pamtester").output().is_ok() && is_there("mkpasswd");
    if !may || !has {
        return skipped("PAM with the shim: no pamtester, mkpasswd or name space for mounts");
    }
    let folder = tempfile::tempdir().unwrap();
    let script = repository("bindings/c/tests/c/pam.sh");
    let shim = installed().shim();
    let told = succeed(space("sh").arg(script).arg(folder.path()).arg(&shim));
    let mut expected = vec![
        "successfully authenticated".to_owned(),
        "Authentication failure".to_owned(),
        "authentication token altered successfully.".to_owned(),
        "successfully authenticated".to_owned(),
        "$y$j9T$".to_owned(),
    ];
    let functions = ["crypt_checksalt", "crypt_gensalt_rn", "crypt_r"];
    expected.extend(functions.map(|name| format!("{name} of {}", shim.display())));
    assert_eq!(told.lines().collect::<Vec<_>>(), expected);
}

/// One answer of a server for each line.
fn ask(port: u16, lines: &[String]) -> Vec<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
    let mut answers = BufReader::new(stream.try_clone().unwrap()).lines();
    let ask = |line: &String| {
        writeln!(stream, "{line}").unwrap();
        answers.next().expect("the server answers").unwrap()
    };
    lines.iter().map(ask).collect()
}

#[test]
fn a_server_with_many_threads_answers_as_without_the_shim() {
    let installed = installed();
    let program = installed.made("server", |place| {
        let source = repository("bindings/c/tests/c/server.c");
        let mut compile = Command::new("gcc");
        compile.args(["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-O1"]).arg(source);
        succeed(compile.arg("-o").arg(place).args(["-lcrypt", "-pthread"]));
    });
    let lines = |client: usize| -> Vec<String> {
        let settings = ["$y$j75$LdJMENpBABJJ3hIHjB1Bi.", "$7$6/..../....salt", "$1$salt", "*0"];
        (0..8).map(|round| format!("{client}-{round} {}", settings[(client + round) % 4])).collect()
    };
    let answers = |preloaded: bool| {
        let mut server = Command::new(&program);
        if preloaded {
            server.env("LD_PRELOAD", installed.shim());
        }
        let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut told = BufReader::new(server.stdout.take().unwrap()).lines();
        let port: u16 = told.next().unwrap().unwrap().parse().unwrap();
        let answers: Vec<_> = std::thread::scope(|scope| {
            let clients: Vec<_> =
                (0..32).map(|client| scope.spawn(move || ask(port, &lines(client)))).collect();
            clients.into_iter().map(|client| client.join().unwrap()).collect()
        });
        drop(server.stdin.take());
        assert!(server.wait().unwrap().success());
        assert_eq!(told.next().unwrap().unwrap(), "32", "connections");
        answers
    };
    let (plain, ours) = (answers(false), answers(true));
    assert_eq!(ours, plain);
    assert_eq!(ours.iter().flatten().filter(|answer| answer.starts_with('$')).count(), 32 * 6);
}
