//! ROMs that yescrypt's own C code makes work here, and the reverse: in files and in System V
//! segments.
//!
//! The C code comes with the Python package pyescrypt. Skipped, with a line that says so, without
//! it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use saltern_rom::{
    AttachOptions, Attached, Create, Location, Manifest, Seed, adopt, attach, no_progress,
    recompute, remove,
};
use saltern_testing::hex::hex;
use saltern_testing::skipped;
use saltern_yescrypt::{Hasher, Limits, Params, Setting, Workspace, rom::RomParams};

/// The other implementation, answering line by line.
struct Oracle {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Oracle {
    /// None without Python or the package.
    fn start() -> Option<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/upstream/oracle.py");
        let mut command = Command::new("python3");
        let command = command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            skipped("upstream's C code (python3 cannot be started)");
            return None;
        };
        let answers = BufReader::new(child.stdout.take()?);
        let mut oracle = Oracle { child, answers };
        // Asks for a segment that is not there, to see whether anybody answers.
        let alive = oracle.ask("remove -1").is_some();
        if !alive {
            assert_eq!(oracle.child.wait().unwrap().code(), Some(77), "the oracle failed");
            skipped("upstream's C code (no package pyescrypt)");
        }
        alive.then_some(oracle)
    }

    fn ask(&mut self, question: &str) -> Option<String> {
        writeln!(self.child.stdin.as_mut()?, "{question}").ok()?;
        let mut answer = String::new();
        let read = self.answers.read_line(&mut answer).unwrap();
        (read > 0).then(|| answer.trim().to_owned())
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn rom_params([nrom, r, p, t]: [u32; 4]) -> RomParams {
    let mut params = RomParams::new(nrom.into(), r, p);
    params.t = t;
    params
}

/// Some that the C code takes too: NROM / 2 / p is at least 4. Slices of one and of two lengths,
/// one and many groups of them.
const CASES: [[u32; 4]; 7] = [
    [512, 1, 1, 0],
    [256, 8, 2, 1],
    [1024, 8, 3, 0],
    [512, 9, 4, 0],
    [2048, 8, 112, 0],
    [256, 32, 11, 2],
    [128, 96, 5, 3],
];

const SEED: &[u8] = b"change this before use";

/// Settings whose ROM is the one with these parameters, in its own blocks and in smaller ones.
fn settings([nrom, r, ..]: [u32; 4]) -> Vec<String> {
    let mut settings = Vec::new();
    for (n, r, nrom, p, t) in [
        (64, r, nrom, 1, 0),
        (256, r, nrom, 3, 1),
        (32, if r % 2 == 0 { r / 2 } else { r }, if r % 2 == 0 { 2 * nrom } else { nrom }, 1, 0),
    ] {
        let mut params = Params::yescrypt(n, r);
        (params.nrom, params.p, params.t) = (nrom.into(), p, t);
        settings.push(Setting::encode(&params, b"some salt").unwrap());
    }
    settings
}

/// What this implementation answers to the same question.
fn hash(attached: &Arc<Attached>, setting: &str) -> String {
    let mut limits = Limits::unlimited();
    limits.rom = true;
    let rom = saltern_yescrypt::rom::Rom::new(attached.clone()).unwrap();
    let hasher = Hasher::new().with_limits(limits).with_rom(rom);
    let hash = hasher.hash_with_setting(&mut Workspace::new(), b"pass", setting.as_bytes());
    hash.unwrap().to_str().unwrap().to_owned()
}

#[test]
fn images_and_hashes_are_the_same_in_both_directions() {
    let Some(mut oracle) = Oracle::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    let seed = Seed::from_bytes(SEED).unwrap();
    let mut hashes = 0;
    for (number, case) in CASES.into_iter().enumerate() {
        let [theirs, ours] =
            ["theirs", "ours"].map(|name| directory.path().join(format!("{name}{number}.rom")));
        let [nrom, r, p, t] = case;
        let question = format!("file {} {nrom} {r} {p} {t} {}", hex(SEED), theirs.display());
        let digest = oracle.ask(&question).unwrap();

        let mut create = Create::new(rom_params(case), &seed);
        create.threads = 3;
        let manifest = create.file(&ours).unwrap();
        assert_eq!(digest, hex(&manifest.digest), "{case:?}");
        assert!(std::fs::read(&theirs).unwrap() == std::fs::read(&ours).unwrap(), "{case:?}");

        // Theirs here.
        let adopted = adopt(&theirs, &rom_params(case), None, None, &no_progress).unwrap();
        assert_eq!(adopted.hash, manifest.hash);
        recompute(&theirs, None, &seed, 2, &no_progress).unwrap();
        let attached = Arc::new(attach(&theirs, &AttachOptions::new()).unwrap());
        // Ours there.
        for setting in settings(case) {
            let question = format!("hash {} {setting} {}", hex(b"pass"), ours.display());
            let expected = oracle.ask(&question).unwrap();
            assert_eq!(hash(&attached, &setting), expected, "{case:?}");
            hashes += 1;
        }
    }
    assert_eq!(hashes, 21);
}

#[test]
fn segments_are_shared_in_both_directions() {
    let Some(mut oracle) = Oracle::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("segment.rom");
    let key = 0x5a1a_0000 | (std::process::id() as i32 & 0xffff);
    let seed = Seed::from_bytes(SEED).unwrap();
    let case = [1024, 9, 4, 0];
    let [nrom, r, p, t] = case;
    let private = Arc::new(Create::new(rom_params(case), &seed).private().unwrap());

    // Theirs: an image that nobody here knows is not touched, and then adopted.
    let digest = oracle.ask(&format!("segment {} {nrom} {r} {p} {t} {key}", hex(SEED))).unwrap();
    assert_eq!(digest, hex(&private.manifest().digest));
    let mut create = Create::new(rom_params(case), &seed);
    create.location = Location::Sysv { key };
    assert!(matches!(create.file(&path), Err(saltern_rom::Error::Exists { .. })));
    let adopted = adopt(&path, &rom_params(case), Some(key), None, &no_progress).unwrap();
    assert_eq!(adopted, Manifest::read(&path).unwrap());
    let attached = attach(&path, &AttachOptions::new()).unwrap();
    assert!(attached.as_bytes() == private.as_bytes());
    drop(attached);
    remove(&path).unwrap();

    // Ours.
    let manifest = create.file(&path).unwrap();
    for setting in settings(case) {
        let size = manifest.size();
        let question = format!("hashsegment {} {setting} {key} {size}", hex(b"pass"));
        assert_eq!(hash(&private, &setting), oracle.ask(&question).unwrap());
    }
    remove(&path).unwrap();
}
