//! `saltern inspect`.

use std::fs;

use serde_json::{Value, json};

use crate::program::{SCRYPT, YESCRYPT, assert_one_error, run, seen, stdout};

#[track_caller]
fn inspect(string: &str) -> Value {
    let output = run(&["inspect", "--json", string], "");
    assert_eq!(seen(&output).0, Some(0), "{:?}", seen(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

#[test]
fn parameters_in_words() {
    let output = run(&["inspect", "$y$j9T$c2FsdHNhbHQ"], "");
    let expected = "string      yescrypt setting\n\
        mode        yescrypt, the usual pwxform: 6 rounds, gather 4, simple 2, S-boxes of 12 KiB\n\
        cost        5 on the scale of crypt(3)\n\
        parameters  N=4096 r=32 p=1 t=0\n\
        memory      16 MiB\n\
        salt        8 bytes\n\
        crypt(3)    a plain Linux can verify it, unless it is encrypted with a key\n";
    assert_eq!(seen(&output), (Some(0), expected, ""));
}

#[test]
fn parameters_as_json() {
    let value = inspect(YESCRYPT);
    let expected = json!({
        "scheme": "yescrypt", "kind": "hash", "mode": "rw", "flags": 182,
        "flavor": {"default": true, "rounds": 6, "gather": 4, "simple": 2, "sbox_bytes": 12288},
        "N": 65536, "r": 8, "p": 1, "t": 8, "g": 0, "NROM": 0, "salt_bytes": 16,
        "memory_bytes": 67_108_864, "cost": null, "crypt3": true, "crypt3_obstacles": [],
    });
    assert!(value["memory_bytes"].as_u64().unwrap() >= 67_108_864);
    let mut value = value;
    value["memory_bytes"] = json!(67_108_864);
    assert_eq!(value, expected);
    let value = inspect(SCRYPT);
    assert_eq!(
        (&value["scheme"], &value["mode"], &value["N"]),
        (&json!("scrypt"), &json!("classic"), &json!(16384))
    );
    assert_eq!((&value["flavor"], &value["crypt3"]), (&Value::Null, &json!(true)));
}

#[test]
fn every_cost_is_recognised() {
    for cost in 1..=11 {
        let setting =
            ["j75", "j85", "j7T", "j8T", "j9T", "jAT", "jBT", "jCT", "jDT", "jET", "jFT"][cost - 1];
        assert_eq!(inspect(&format!("$y${setting}$abcd"))["cost"], json!(cost));
    }
}

#[test]
fn what_a_plain_linux_cannot_verify_is_told() {
    for (setting, obstacle) in [
        ("$y$k9T$abcd", "flavour"),
        ("$y$j2/5.$abcd", "ROM"),
        ("$y$j./$abcd", "below 4"),
        ("$7$./..../....abcd", "N"),
        ("$7$3/..../....a b", "character"),
    ] {
        let output = run(&["inspect", "--json", setting], "");
        let value: Value = serde_json::from_str(stdout(&output)).unwrap();
        if value["kind"] == "error" {
            continue;
        }
        assert_eq!(value["crypt3"], json!(false), "{value}");
        assert!(value["crypt3_obstacles"].to_string().contains(obstacle), "{value}");
    }
}

#[test]
fn files() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let lines = format!("alice:{YESCRYPT}:1\nbob:$6$salt$hash:1\nroot:!:1\nnobody::1\n{SCRYPT}\n");
    fs::write(&file, &lines).unwrap();
    let path = file.path().to_str().unwrap();
    let output = run(&["inspect", "--hash-file", path], "");
    let (code, out, err) = seen(&output);
    assert_eq!((code, err), (Some(0), ""));
    let out: Vec<_> = out.lines().collect();
    assert!(
        out[0].starts_with("alice: yescrypt hash, N=65536 r=8 p=1 t=8, a plain Linux can"),
        "{out:?}"
    );
    assert_eq!(out[1], "bob: sha512crypt, which this program does not compute");
    assert_eq!(out[2], "root: locked: no password matches");
    assert_eq!(out[3], "nobody: no password is set");
    assert!(out[4].starts_with("line 5: scrypt hash, N=16384 r=8 p=1 t=0, a plain Linux can"));
    fs::write(&file, lines + "eve:$y$:1\nmallory:???:1\n").unwrap();
    let output = run(&["inspect", "--hash-file", path, "--json"], "");
    let (code, out, err) = seen(&output);
    assert_eq!((code, out.lines().count()), (Some(2), 7));
    assert_eq!(err, "saltern: 2 of 7 strings are malformed or unknown\n");
}

#[test]
fn other_schemes_are_named() {
    assert_eq!(inspect("$2b$05$abc"), json!({"scheme": "bcrypt", "kind": "unsupported"}));
    assert_eq!(
        stdout(&run(&["inspect", "$5$a$b"], "")),
        "sha256crypt, which this program does not compute\n"
    );
    for string in ["garbage", "$y$", "$y$j9T", "$y$j9T$abcd$short", "$7$C"] {
        assert_one_error(&run(&["inspect", string], ""), "");
    }
}
