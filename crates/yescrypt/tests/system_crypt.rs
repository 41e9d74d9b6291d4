//! Against the machine's own crypt(3), in both directions.
//!
//! The system's library is called by a Python child process (`ctypes`, so that no unsafe code is
//! needed here); one child answers all requests. If there is no such library, or it lacks `$y$`,
//! these tests fail: set `SALTERN_NO_SYSTEM_CRYPT=1` to skip them.

#[path = "field/counts.rs"]
mod counts;
#[path = "system_crypt/field.rs"]
mod field;
#[path = "system_crypt/mutations.rs"]
mod mutations;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use saltern_testing::Random;
use saltern_testing::hex::{hex, unhex};
use saltern_yescrypt::{Hasher, Params, Scheme, Setting, Workspace, params::Mode};

/// Reads lines `crypt PASSWORD SETTING` and `gensalt PREFIX COST RANDOM`, all in hexadecimal, and
/// answers each with a line in hexadecimal, or `-` for a failure.
const CHILD: &str = r#"
import ctypes, sys
lib = ctypes.CDLL("libcrypt.so.1")
lib.crypt.restype = lib.crypt_gensalt.restype = ctypes.c_char_p
lib.crypt.argtypes = [ctypes.c_char_p] * 2
lib.crypt_gensalt.argtypes = [ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_int]
for line in sys.stdin:
    what, *rest = line.rstrip("\n").split(" ")
    a = [bytes.fromhex(word) for word in rest]
    if what == "crypt":
        out = lib.crypt(a[0], a[1])
    else:
        out = lib.crypt_gensalt(a[0], int.from_bytes(a[1], "big"), a[2], len(a[2]))
    # Failures are a null pointer or a string that starts with an asterisk.
    print("-" if out is None or out.startswith(b"*") else out.hex(), flush=True)
"#;

/// The system's crypt(3).
struct System {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl System {
    /// The system's crypt(3), or none if the environment says that there need not be any.
    fn start() -> Option<System> {
        if std::env::var_os("SALTERN_NO_SYSTEM_CRYPT").is_some_and(|value| value == "1") {
            eprintln!("left out: SALTERN_NO_SYSTEM_CRYPT=1");
            return None;
        }
        let mut child = Command::new("python3")
            .args(["-c", CHILD])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 has to be there to call libcrypt.so.1");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut system = System { child, input, output };
        // A known hash, so that a library without `$y$` is told apart from a difference.
        let known = "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.";
        let hash = system.crypt(b"pleaseletmein", known.as_bytes());
        let hash = hash.expect("the system's libcrypt.so.1 has to know $y$");
        assert_eq!(
            String::from_utf8_lossy(&hash[known.len()..]),
            "$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6"
        );
        Some(system)
    }

    fn crypt(&mut self, password: &[u8], setting: &[u8]) -> Option<Vec<u8>> {
        self.ask("crypt", &[password, setting])
    }

    fn gensalt(&mut self, prefix: &[u8], cost: u32, random: &[u8]) -> Option<Vec<u8>> {
        self.ask("gensalt", &[prefix, &cost.to_be_bytes(), random])
    }

    fn ask(&mut self, what: &str, arguments: &[&[u8]]) -> Option<Vec<u8>> {
        let words: Vec<String> = arguments.iter().map(|argument| hex(argument)).collect();
        let input = self.input.as_mut().expect("open until dropped");
        writeln!(input, "{what} {}", words.join(" ")).expect("the child reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the child answers");
        match line.trim_end() {
            "" => panic!("the child ended: is there a libcrypt.so.1 on this machine?"),
            "-" => None,
            answer => Some(unhex(answer)),
        }
    }
}

impl Drop for System {
    fn drop(&mut self) {
        // The end of its input ends the child.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// So many bytes but NUL, where a C string ends.
fn text(random: &mut Random, length: usize) -> Vec<u8> {
    (0..length).map(|_| 1 + random.below(255) as u8).collect()
}

const PASSWORDS: usize = 6;
const SALTS: usize = 5;
const SHAPES: usize = 8;
const CASES: usize = PASSWORDS * SALTS * SHAPES;

/// A password of one of [`PASSWORDS`] kinds: the interesting lengths are 0, those around SHA-256's
/// block, and 511, the longest that crypt(3) takes.
fn password(kind: usize, random: &mut Random) -> Vec<u8> {
    match kind {
        0 => Vec::new(),
        1 => (0..1 + random.below(20)).map(|_| b'!' + random.below(94) as u8).collect(),
        2 => "Pässwörter, пароль, パスワード".into(),
        3 => {
            let length = 63 + random.below(3) as usize;
            text(random, length)
        }
        4 => {
            let length = 1 + random.below(510) as usize;
            text(random, length)
        }
        _ => text(random, 511),
    }
}

/// A salt of one of [`SALTS`] kinds.
fn salt(kind: usize, random: &mut Random) -> Vec<u8> {
    let length = [0, 1, 16, 64, 2 + random.below(62) as usize][kind];
    random.bytes(length)
}

/// A setting of one of [`SHAPES`] kinds: four of yescrypt proper, WORM, scrypt in `$y$`, and two of
/// `$7$`.
fn setting(shape: usize, salt: &[u8], random: &mut Random) -> Vec<u8> {
    let n = 16 << random.below(4);
    let r = 1 + random.below(9) as u32;
    let mode = match shape {
        0..4 => Mode::Rw,
        4 => Mode::Worm,
        _ => Mode::Classic,
    };
    let mut params = Params::new(mode, n, r);
    if !matches!(shape, 0 | 2) {
        params.p = 1 + random.below(4) as u32;
    }
    if matches!(shape, 2..=4) {
        params.t = random.below(5) as u32;
    }
    match shape {
        0..6 => Setting::new(&params, salt).expect("encodable").as_bytes().to_vec(),
        6 => Setting::scrypt(&params, salt).expect("encodable").as_bytes().to_vec(),
        _ => {
            // The salt of `$7$` is the raw text, so it may hold separators; one ends it.
            let mut text = Setting::scrypt(&params, b"").expect("encodable").as_bytes().to_vec();
            let digits = b"./0123456789ABCXYZabcxyz$";
            text.extend(salt.iter().map(|&byte| digits[usize::from(byte) % digits.len()]));
            text.push(b'$');
            text
        }
    }
}

#[test]
fn hashes_agree_in_both_directions() {
    let Some(mut system) = System::start() else { return };
    let hasher = Hasher::new();
    let mut workspace = Workspace::new();
    let mut random = Random::new(20);
    let (mut ours_there, mut theirs_here, mut refused_here) = (0, 0, 0);
    for case in 0..CASES {
        let password = password(case % PASSWORDS, &mut random);
        let salt = salt(case / PASSWORDS % SALTS, &mut random);
        let setting = setting(case / PASSWORDS / SALTS, &salt, &mut random);
        let shown = String::from_utf8_lossy(&setting).into_owned();

        let ours = hasher.hash_with_setting(&mut workspace, &password, &setting);
        let ours = ours.unwrap_or_else(|error| panic!("{shown}: {error}")).into_bytes();
        assert_eq!(system.crypt(&password, &ours).as_ref(), Some(&ours), "{shown}");
        ours_there += 1;

        let theirs = system.crypt(&password, &setting);
        let theirs = theirs.unwrap_or_else(|| panic!("{shown}: refused by the system"));
        assert_eq!(hasher.verify(&mut workspace, &password, &theirs), Ok(true), "{shown}");
        theirs_here += 1;

        let mut other = password.clone();
        match other.last_mut() {
            // As long as crypt(3) takes.
            Some(last) if case % 2 == 0 || password.len() == 511 => *last = *last % 255 + 1,
            _ => other.push(b'x'),
        }
        assert_eq!(hasher.verify(&mut workspace, &other, &theirs), Ok(false), "{shown}");
        refused_here += 1;
    }
    assert_eq!((ours_there, theirs_here, refused_here), (240, 240, 240));
}

#[test]
fn settings_from_a_cost_number_agree() {
    let Some(mut system) = System::start() else { return };
    let mut random = Random::new(21);
    let (mut same, mut refused) = (0, 0);
    for (scheme, prefix) in [(Scheme::Yescrypt, b"$y$"), (Scheme::Scrypt, b"$7$")] {
        for cost in 0..=12 {
            for length in [15, 16, 17, 24, 32, 64] {
                let bytes = random.bytes(length);
                let ours = Setting::from_cost(scheme, cost, &bytes).ok();
                let ours = ours.map(|setting| setting.as_bytes().to_vec());
                let theirs = system.gensalt(prefix, cost, &bytes);
                assert_eq!(ours, theirs, "{scheme:?}, cost {cost}, {length} random bytes");
                *if theirs.is_some() { &mut same } else { &mut refused } += 1;
            }
        }
    }
    // $y$ offers 0 to 11, $7$ offers 0 and 6 to 11; each needs 16 random bytes.
    assert_eq!((same, refused), (5 * (12 + 7), 2 * 13 * 6 - 5 * (12 + 7)));
}
