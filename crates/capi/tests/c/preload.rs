//! Programs of the machine with the shim before their libcrypt.

use std::process::Command;

use saltern_testing::skipped;

use crate::installed::{installed, is_there, succeed};

/// What the shim leaves behind: with it, a thread keeps its memory, which it would not without.
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

#[test]
fn pythons_crypt_answers_the_same() {
    let python = ["-W", "ignore", "-c"];
    let has = Command::new("python3").args(python).arg("import crypt").output();
    if !has.is_ok_and(|output| output.status.success()) {
        skipped("there is no python3 with the module crypt");
        return;
    }
    let plain = succeed(Command::new("python3").args(python).arg(HASHES));
    let ours = succeed(preloaded("python3").args(python).arg(HASHES));
    assert_eq!(ours, plain);
    assert!(ours.lines().count() == 9 && ours.starts_with("$y$j75$"), "{ours}");
    // And it is the shim that answers.
    let which = format!(
        "{HASHES}\nmaps = open('/proc/self/maps').read()\nprint('libsaltern-crypt' in maps)"
    );
    let told = succeed(preloaded("python3").args(python).arg(which));
    assert!(told.ends_with("True\n"), "{told}");
}

#[test]
fn mkpasswd_makes_strings_that_verify() {
    if !is_there("mkpasswd") {
        skipped("there is no mkpasswd (Debian: whois)");
        return;
    }
    for method in ["yescrypt", "scrypt", "sha512crypt", "bcrypt"] {
        let made = succeed(preloaded("mkpasswd").args(["-m", method, "pleaseletmein"]));
        let again = succeed(Command::new("mkpasswd").args(["-S", made.trim(), "pleaseletmein"]));
        assert_eq!(made, again, "{method}");
    }
}
