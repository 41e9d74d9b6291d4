//! Passwords and stored hashes, most of which do not belong together.

use saltern_reference::yescrypt::crypt;
use serde_json::Map;

use super::form::{Outcome, Test, hex, put_text};

const PASSWORD: &[u8] = b"correct horse";

/// Tests for a hash under each setting. What is valid is what crypt(3) callers compare: hashing
/// under the stored string gives the stored string.
pub(super) fn tests(settings: Vec<Vec<u8>>) -> Vec<Test> {
    let mut tests = Vec::new();
    for setting in settings {
        let good = crypt(PASSWORD, &setting, None, None).expect("an example is hashed with");
        for (comment, password) in [
            ("right", PASSWORD),
            ("a letter more", b"correct horses"),
            ("a letter less", b"correct hors"),
            ("another case", b"correct Horse"),
            ("a line feed more", b"correct horse\n"),
            ("empty", b""),
        ] {
            let flag = if password == PASSWORD { "Match" } else { "WrongPassword" };
            tests.push(verifying(flag, comment, password, &good));
        }
        for (flag, comment, stored) in changed(&good, setting.len()) {
            tests.push(verifying(flag, comment, PASSWORD, &stored));
        }
    }
    tests
}

fn verifying(flag: &'static str, comment: &str, password: &[u8], stored: &[u8]) -> Test {
    let same = crypt(password, stored, None, None).is_ok_and(|hash| hash == stored);
    let mut fields = Map::new();
    fields.insert("password".into(), hex(password));
    put_text(&mut fields, "hash", stored);
    let result = if same { Outcome::Valid } else { Outcome::Invalid };
    Test { comment: comment.to_owned(), flags: vec![flag], fields, result }
}

/// Stored strings close to a good one; `end` is where its setting ends.
fn changed(good: &[u8], end: usize) -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let last = good.len() - 1;
    let replaced = |at: usize, byte: u8| [&good[..at], &[byte], &good[at + 1..]].concat();
    let other = |byte: u8| if byte == b'.' { b'/' } else { b'.' };
    // The last digit stands for 4 bits: one from `E` on has bits that no byte takes.
    let stray = [b'E', b'U', b'k'][usize::from(good[last]) % 3];
    vec![
        ("ChangedHash", "first digit of the hash", replaced(end + 1, other(good[end + 1]))),
        ("ChangedHash", "last digit of the hash", replaced(last, other(good[last]))),
        ("ChangedHash", "last separator", replaced(end, b'.')),
        ("NonCanonical", "stray bits in the last digit", replaced(last, stray)),
        ("ChangedLength", "last digit missing", good[..last].to_vec()),
        ("ChangedLength", "half of the hash missing", good[..last - 20].to_vec()),
        ("ChangedLength", "the setting with a separator", good[..=end].to_vec()),
        ("ChangedLength", "the setting alone", good[..end].to_vec()),
        ("ChangedLength", "a digit more", [good, b"."].concat()),
        ("ChangedLength", "a separator more", [good, b"$"].concat()),
        ("ChangedLength", "a line feed more", [good, b"\n"].concat()),
        ("Malformed", "a space before it", [b" ", good].concat()),
        ("Malformed", "empty", Vec::new()),
    ]
}
