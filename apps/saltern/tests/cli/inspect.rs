//! `saltern inspect`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::program::{
    ESCRYPT, SCRYPT, YESCRYPT, assert_one_error, crypt3, json_lines, repository, run, seen, stderr,
    stdout,
};

#[track_caller]
fn inspect(string: &str) -> Value {
    let output = run(&["inspect", "--json", string], "");
    assert_eq!(seen(&output).0, Some(0), "{:?}", seen(&output));
    serde_json::from_str(stdout(&output)).unwrap()
}

#[test]
fn parameters_in_words() {
    let output = run(&["inspect", "$y$j9T$SaltForThisHash0"], "");
    let expected = "string      yescrypt setting\n\
        mode        yescrypt, the default pwxform: 6 rounds, gather 4, simple 2, S-boxes of 12 KiB\n\
        cost        5 on the scale of crypt(3)\n\
        parameters  N=4096 r=32 p=1 t=0\n\
        memory      16 MiB\n\
        salt        12 bytes\n\
        crypt(3)    a plain Linux can verify it, unless it is encrypted with a key\n";
    assert_eq!(seen(&output), (Some(0), expected, ""));
}

#[test]
fn parameters_as_json() {
    let value = inspect(YESCRYPT);
    let expected = json!({
        "scheme": "yescrypt", "kind": "hash", "mode": "rw", "flags": 182,
        "flavor": {"default": true, "rounds": 6, "gather": 4, "simple": 2, "sbox_bytes": 12288},
        "N": 65536, "r": 8, "p": 11, "t": 0, "g": 0, "NROM": 0, "salt_bytes": 16,
        "memory_bytes": 67_255_296, "cost": null, "crypt3": true, "crypt3_obstacles": [],
    });
    assert_eq!(value, expected);
    let value = inspect(SCRYPT);
    assert_eq!(
        (&value["scheme"], &value["mode"], &value["N"]),
        (&json!("scrypt"), &json!("classic"), &json!(16384))
    );
    assert_eq!((&value["flavor"], &value["crypt3"]), (&Value::Null, &json!(true)));
}

#[test]
fn the_older_generation_and_what_its_strings_do_not_say() {
    let output = run(&["inspect", ESCRYPT], "");
    let expected = "string      escrypt 0.5 hash\n\
        generation  0.5 (2014), RW, PWXFORM\n\
        parameters  N=1024 r=8 p=1 flags=5\n\
        memory      1 MiB\n\
        salt        16 bytes\n\
        crypt(3)    a plain Linux cannot verify it: it does not know this generation\n\
        unknown     whether it needs a ROM, which one and with which mask, is not in the string\n\
        \x20           strings of revision 0.3.1 look the same and cannot be recomputed: no password matches them\n";
    assert_eq!(seen(&output), (Some(0), expected, ""));
    let value = inspect("$7X5$C6....d....WZaPV7LSUEKMo34.");
    let told = [&value["kind"], &value["flags"], &value["modes"], &value["p"], &value["crypt3"]];
    let modes = json!(["RW", "PARALLEL_SMIX", "PWXFORM"]);
    assert_eq!(told, [&json!("setting"), &json!(7), &modes, &json!(41), &json!(false)]);
    let mixed = inspect("$7X1$36..../....a");
    assert!(mixed["modes"] == json!(["RW", "PARALLEL_SMIX"]), "{mixed}");
    for string in ["$7X", "$7X7$36..../....a", "$7X33$36..../....a", &ESCRYPT[..60]] {
        assert_one_error(&run(&["inspect", string], ""), "");
    }
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
        ("$y$k09T$abcd", "flavour"),
        ("$y$j7T55$abcd", "needs a ROM"),
        ("$y$j./$abcd", "N is not between 4"),
        ("$y$j7T.0$abcd", ""),
        ("$y$j/T..$abcd", "N / p is below 4"),
        ("$7$/..../....abcd", "N is not between 4"),
        ("$7$36..../....a b", "a space"),
        ("$7$36..../....a~b", "character"),
        ("$7$36..../....a$~b$", ""),
        ("$y$j7T1.$abcd", "upgrades"),
        ("$scrypt$ln=10,r=8,p=1$YWJjZA", "this format"),
        ("$scrypt$ln=63,r=8,p=1$YWJjZA", "nothing can compute it"),
        ("$7X1$z6..../....a", "nothing can compute it"),
    ] {
        let value = inspect(setting);
        assert_eq!(value["crypt3"], json!(obstacle.is_empty()), "{value}");
        assert!(value["crypt3_obstacles"].to_string().contains(obstacle), "{value}");
    }
}

/// The verdict on every setting of the vectors against the system's own crypt(3), by way of Perl.
#[cfg(target_os = "linux")]
#[test]
fn the_verdict_is_that_of_crypt3() {
    let settings: BTreeSet<String> = ["strings", "reject", "rom", "encrypt"]
        .iter()
        .flat_map(|name| {
            let path = repository(&format!("lab/vectors/yescrypt_{name}.jsonl"));
            let text = fs::read_to_string(path).unwrap();
            saltern_testing::json_lines(&text)
        })
        .filter_map(|case| case["setting"].as_str().map(str::to_owned))
        .filter(|setting| setting.starts_with("$y$") || setting.starts_with("$7$"))
        .collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, settings.iter().map(|setting| format!("{setting}\n")).collect::<String>())
        .unwrap();
    let output = run(&["inspect", "--json", "--hash-file", file.path().to_str().unwrap()], "");
    let verdicts = json_lines(&output);
    assert_eq!(verdicts.len(), settings.len());
    // A setting followed by part of a hash is one to crypt(3), but no stored string.
    let cheap = |verdict: &Value| {
        verdict["memory_bytes"].as_u64().is_none_or(|bytes| bytes < 64 << 20)
            && !verdict["error"].to_string().contains("43 digits")
    };
    let tried: Vec<_> =
        settings.iter().zip(&verdicts).filter(|(_, verdict)| cheap(verdict)).collect();
    let input: Vec<_> = tried.iter().map(|(setting, _)| setting.as_str()).collect();
    let Some(made) = crypt3("x", &input) else { return };
    assert_eq!(made.len(), tried.len());
    let takes = |made: &String| made.starts_with("$y") || made.starts_with("$7");
    for ((setting, verdict), made) in tried.iter().zip(&made) {
        let ours = verdict["crypt3"].as_bool().unwrap_or(false);
        assert_eq!(ours, takes(made), "{setting}: {verdict}");
    }
    let able = made.iter().filter(|made| takes(made)).count();
    assert!(able >= 100 && tried.len() - able >= 60, "{able} of {}", tried.len());
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
        out[0].starts_with("alice: yescrypt hash, N=65536 r=8 p=11 t=0, a plain Linux can"),
        "{out:?}"
    );
    assert_eq!(out[1], "bob: sha512crypt, verified under a policy that accepts sha-crypt");
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
    let bcrypt = json!({"scheme": "bcrypt", "kind": "foreign", "accepted_as": "bcrypt"});
    assert_eq!(inspect("$2b$05$abc"), bcrypt);
    let advice = "such accounts need a new password";
    let nt =
        json!({"scheme": "the NT hash in the Dovecot format", "kind": "foreign", "advice": advice});
    assert_eq!(inspect("{NTLM}0123"), nt);
    for (string, words) in [
        ("$5$a$b", "sha256crypt, verified under a policy that accepts sha-crypt"),
        ("{SSHA256}abc", "LDAP salted SHA-256, verified under a policy that accepts ldap"),
        (&"0".repeat(32), "bare hexadecimal digits, verified under a policy that accepts hex"),
        (
            "pbkdf2_sha1$1$a$b",
            "PBKDF2-HMAC-SHA1 in the Django format, verified under a policy that accepts pbkdf2",
        ),
        ("rqXexS6ZhobKA", "traditional DES, verified under a policy that accepts libcrypt"),
        ("$apr1$a$b", "Apache md5crypt, verified under a policy that accepts apr1"),
        (
            "{noop}secret",
            "a plain password in the Spring format, which this program does not compute: it is the \
             password itself: hash it as a new one, and delete this",
        ),
        ("{CRYPT}!$y$", "locked: no password matches"),
    ] {
        assert_eq!(seen(&run(&["inspect", string], "")), (Some(0), &*format!("{words}\n"), ""));
    }
    for string in ["garbage", "$y$", "$y$j9T", "$y$j9T$abcd$short", "$7$C"] {
        assert_one_error(&run(&["inspect", string], ""), "");
    }
}

/// Each form once, with what can be done about it.
#[test]
fn every_form_is_listed() {
    let output = run(&["inspect", "--formats"], "");
    let lines: Vec<_> = stdout(&output).lines().collect();
    for line in [
        "{bcrypt}                        bcrypt in the Spring format, verified as bcrypt, wrapped",
        "$y$                             yescrypt, verified as yescrypt",
        "{NTLM}                          the NT hash in the Dovecot format, known by name: such \
         accounts need a new password",
    ] {
        assert!(lines.contains(&line), "{line}");
    }
    let output = run(&["inspect", "--formats", "--json"], "");
    let forms = json_lines(&output);
    assert_eq!(forms.len(), lines.len());
    let wrapped = forms.iter().filter(|form| form["wrapped"] == true).count();
    let verified = forms.iter().filter(|form| !form["accepted_as"].is_null()).count();
    assert_eq!((lines.len(), verified, wrapped), (130, 104, 90));
}

/// What `saltern wrap` prints.
#[test]
fn hashes_over_hashes_say_what_is_within() {
    let ours = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4";
    let wrapped = format!("{{over=$6$salt}}{ours}");
    let value = inspect(&wrapped);
    let told = [&value["scheme"], &value["kind"], &value["over"], &value["N"], &value["crypt3"]];
    let over = json!({"scheme": "sha-crypt", "setting": "$6$salt"});
    assert_eq!(told, [&json!("yescrypt"), &json!("hash"), &over, &json!(1024), &json!(false)]);
    let output = run(&["inspect", &wrapped], "");
    let rows: Vec<_> = stdout(&output).lines().collect();
    assert_eq!(rows[0], "string      yescrypt hash over a hash of sha-crypt");
    assert!(rows.contains(&"over        $6$salt"), "{rows:?}");
    let output = run(&["verify", "-s", &wrapped], "x");
    assert_one_error(&output, "a wrapped hash can be verified only with --policy");
    for bad in [&wrapped[..30], &format!("{{over=?}}{ours}"), &format!("{{over=$6$salt{ours}")] {
        assert_one_error(&run(&["inspect", bad], ""), "");
    }
}

/// The same lines as `saltern census` reads.
#[test]
fn every_form_of_line_is_read() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    fs::write(&file, format!("# accounts\n{{\"hash\":\"{SCRYPT}\"}}\nbob::1\n{{\"hash\":null}}\n"))
        .unwrap();
    let output = run(&["inspect", "--hash-file", path], "");
    let rows: Vec<_> = stdout(&output).lines().collect();
    assert!(rows[0].starts_with("line 2: scrypt hash, "), "{rows:?}");
    assert_eq!((rows[1], rows.len()), ("bob: no password is set", 2));
    fs::write(&file, format!("1:{SCRYPT}:bob\n1:{SCRYPT}:bob:{YESCRYPT}\n")).unwrap();
    let output = run(&["inspect", "--hash-file", path, "--field", "4"], "");
    let rows: Vec<_> = stdout(&output).lines().collect();
    assert!(rows[0].starts_with("line 1: error: malformed line: expected the field"), "{rows:?}");
    assert!(rows[1].starts_with("1: yescrypt hash, "), "{rows:?}");
    for other in [&["inspect", SCRYPT][..], &["verify", SCRYPT], &["verify", "--jsonl"]] {
        for option in [["--field", "4"], ["--user", "bob"]] {
            let output = run(&[other, &option].concat(), "");
            assert!(output.status.code() == Some(2) && stderr(&output).contains("cannot be used"));
        }
    }
}
