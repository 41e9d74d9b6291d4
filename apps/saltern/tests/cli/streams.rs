//! Standard streams that are closed, full or gone.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

use saltern_testing::chmod;

use crate::program::{
    PASSWORD, PROGRAM, YESCRYPT, assert_one_error, repository, run_on_full_disk, saltern, shell,
    spawn,
};

#[test]
fn a_reader_that_went_away() {
    let mut child = spawn(&["verify", "--jsonl"]);
    drop(child.stdout.take());
    // Only now is there anything to write, so the pipe is surely closed.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"id\":1}\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(2), 0), "{output:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let key = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&key, [1; 32]).unwrap();
    let key = &format!("a={}", key.path().to_str().unwrap());
    for args in [
        &["inspect", YESCRYPT][..],
        &["inspect", "--json", YESCRYPT],
        &["completions", "bash"],
        &["man"],
        &["verify", "--stdin", "$y$j75$abcd$n9K3MJBOK7rb5ZnDPVRaLq0Z1x8.y.eGWQknIyYN/.8"],
        &["hash", "--stdin", "--cost", "1"],
        &["reencrypt", "--to", "a", "--key", key],
    ] {
        let output = run_on_full_disk(args, YESCRYPT);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("cannot write to standard output"), "{args:?}: {error}");
    }
}

/// Nowhere to tell an error is no reason to panic: the status is the same.
#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_error() {
    for args in
        [&["verify", "$6$"][..], &["hash", "--assume-unnamed-key", "/nowhere"], &["inspect", "?"]]
    {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(PROGRAM);
        let status = command.args(args).stdin(Stdio::null()).stderr(full).status().unwrap();
        assert_eq!(status.code(), Some(2), "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn closed_standard_input() {
    for arguments in
        ["hash --stdin", "verify --stdin \"$1\"", "hash --password-fd 0", "hash --password-fd 77"]
    {
        let script = format!("exec \"$0\" {arguments} <&-");
        assert_one_error(&shell(&script, &[YESCRYPT]).output().unwrap(), "");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn passwords_from_descriptors() {
    let run = with_descriptors;
    assert_eq!(run("\"$0\" verify \"$1\" --password-fd 3 3< \"$2\""), Some(0));
    assert_eq!(run("\"$0\" verify \"$1\" -P 9 9< <(head -1 \"$2\")"), Some(0), "a pipe");
    assert_eq!(run("exec 3< \"$2\"; read x <&3; \"$0\" verify \"$1\" -P 3"), Some(1), "line 2");
    // Both commands take their line of the same input.
    assert_eq!(run("{ \"$0\" verify -s \"$1\" && ! \"$0\" verify -s \"$1\"; } < \"$2\""), Some(0));
}

/// What a shell script says of two descriptors, as its exit status; `$1` is [`YESCRYPT`], `$2` a
/// file with its password and another line. Longer than it should take is 124.
#[cfg(target_os = "linux")]
fn with_descriptors(script: &str) -> Option<i32> {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("passwords");
    std::fs::write(&file, format!("{PASSWORD}\nnext\n")).unwrap();
    let output = shell(script, &[YESCRYPT, file.to_str().unwrap()]).output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    output.status.code()
}

/// A script that makes accounts line by line gave all of them the password of the first.
#[cfg(target_os = "linux")]
#[test]
fn a_second_program_goes_on_where_the_first_one_ended() {
    let script = "exec 3< \"$2\"; \"$0\" verify \"$1\" -P 3 || exit 9; \"$0\" verify \"$1\" -P 3";
    assert_eq!(with_descriptors(script), Some(1), "line 2 is another password");
    let script =
        "exec 3< \"$2\"; \"$0\" verify \"$1\" -P 3 || exit 9; read x <&3; [ \"$x\" = next ]";
    assert_eq!(with_descriptors(script), Some(0));
}

/// It was opened once more, which waits for another writer.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_whose_writer_has_gone_is_read() {
    let script = "mkfifo \"$2.pipe\"; (cat \"$2\" > \"$2.pipe\") & exec 4< \"$2.pipe\"; wait
        timeout 60 \"$0\" verify \"$1\" -P 4";
    assert_eq!(with_descriptors(script), Some(0));
}

/// A descriptor is passed so that the program needs no right to its file.
#[cfg(target_os = "linux")]
#[test]
fn a_descriptor_is_read_whoever_may_open_its_file() {
    // Root has to give up what lets it open any file.
    let script = "exec 3< \"$2\"; chmod 0 \"$2\"; drop=
        [ \"$(id -u)\" = 0 ] && drop='setpriv --bounding-set=-dac_override,-dac_read_search'
        $drop cat \"$2\" 2> /dev/null && exit 9
        $drop \"$0\" verify \"$1\" -P 3";
    assert_eq!(with_descriptors(script), Some(0));
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    writeln!(ours, "{PASSWORD}").unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec 5<&0 < /dev/null; exec \"$0\" verify \"$1\" -P 5", PROGRAM, YESCRYPT]);
    let socket = std::os::fd::OwnedFd::from(theirs);
    let output = shell.stdin(Stdio::from(socket)).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_directory_is_no_file() {
    let vectors = repository("lab/vectors");
    for args in [
        &["verify", "--hash-file"][..],
        &["inspect", "--hash-file"],
        &["hash", "--assume-unnamed-key"],
    ] {
        let output = saltern(args).arg(&vectors).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && message.contains("vectors"), "{message}");
    }
}

/// As a shell runs it, with this after the arguments; the exit status, and what is on standard
/// error.
#[cfg(target_os = "linux")]
fn in_shell(script: &str) -> (Option<i32>, String) {
    let output = shell(script, &[YESCRYPT]).output().unwrap();
    assert!(output.stdout.is_empty(), "{script}: {output:?}");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn closed_standard_output() {
    let wrong = "Bad file descriptor";
    let key = repository("lab/vectors/PROVENANCE.md");
    let digest = format!("$(b2sum '{}')", key.display());
    for (script, status) in [
        ("\"$0\" sum /dev/null >&-", 1),
        ("\"$0\" sum --tag /dev/null >&-", 1),
        (&format!("echo \"{digest}\" | \"$0\" sum --check >&-"), 1),
        ("echo secret | \"$0\" hash --stdin --cost 1 >&-", 2),
        ("echo '{\"password\":\"a\"}' | \"$0\" hash --jsonl >&-", 2),
        ("echo secret | \"$0\" verify --stdin \"$1\" >&-", 2),
        ("\"$0\" inspect \"$1\" >&-", 2),
        ("\"$0\" man >&-", 2),
        ("\"$0\" completions bash >&-", 2),
    ] {
        let (code, error) = in_shell(script);
        assert_eq!(code, Some(status), "{script}: {error}");
        assert!(error.contains(wrong), "{script}: {error}");
    }
    for script in ["\"$0\" --help >&-", "\"$0\" sum --version >&-", "\"$0\" --version >&-"] {
        assert_ne!(in_shell(script).0, Some(0), "{script}");
    }
    // What is meant to go nowhere, however it was opened, goes there; and a status alone needs no
    // output.
    for script in [
        "\"$0\" sum /dev/null >/dev/null",
        "\"$0\" sum /dev/null <>/dev/null >&0",
        "\"$0\" sum --check --status /dev/null >&- 2>/dev/null || true",
        "\"$0\" verify --quiet --stdin \"$1\" >&- <<'END'\npleaseletmein\nEND",
    ] {
        assert_eq!(in_shell(script), (Some(0), String::new()), "{script}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_read_from_a_closed_standard_input() {
    for (script, status) in [
        ("\"$0\" sum <&-", 1),
        ("\"$0\" sum - <&-", 1),
        ("\"$0\" sum --check <&-", 1),
        ("\"$0\" sum --keyed /dev/null <&-", 1),
        ("\"$0\" hash --stdin --allow-empty <&-", 2),
        ("\"$0\" hash --jsonl <&-", 2),
        ("\"$0\" verify --jsonl <&-", 2),
        ("\"$0\" inspect --hash-file - <&-", 2),
        ("\"$0\" reencrypt --to a --key a=/dev/null <&-", 2),
    ] {
        let (code, error) = in_shell(script);
        assert_eq!(code, Some(status), "{script}: {error}");
        assert!(error.contains("Bad file descriptor") || error.contains("key"), "{error}");
    }
}

/// Without threads, or without memory for many, it takes longer and comes out the same.
#[cfg(target_os = "linux")]
#[test]
fn few_threads_and_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..300 {
        std::fs::write(folder.path().join(format!("{number:03}")), vec![7; 9000 * number]).unwrap();
    }
    let run = |before: &str| {
        let script = format!("{before} \"$0\" sum --num-threads 200 *");
        let output = shell(&script, &[]).current_dir(&folder).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{before}: {output:?}");
        output.stdout
    };
    let expected = run("");
    assert_eq!(expected.iter().filter(|&&byte| byte == b'\n').count(), 300);
    for kib in [150_000, 200_000, 500_000] {
        assert_eq!(run(&format!("ulimit -v {kib};")), expected, "{kib}");
    }
    // Limits on processes are for users, not for root; and a user cannot reach the program of a
    // build below root's home directory.
    let shared = tempfile::tempdir().unwrap();
    chmod(&shared, 0o755);
    let copy = shared.path().join("saltern");
    std::fs::copy(PROGRAM, &copy).unwrap();
    let is_root =
        std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
    chmod(&folder, 0o755);
    let run_as_user = |threads: usize, args: &[&str]| {
        let mut prlimit = Command::new("prlimit");
        prlimit.arg(format!("--nproc={threads}")).arg(&copy).args(["sum", "--num-threads", "8"]);
        if is_root {
            std::os::unix::process::CommandExt::uid(&mut prlimit, 65_432);
        }
        let output = prlimit.args(args).current_dir(&folder).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
        output.stdout
    };
    assert_eq!(run_as_user(1, &["-r", "."]).len(), expected.len() + 2 * 300);
    // Of the threads for one long file, some cannot be had, or none.
    std::fs::write(folder.path().join("long"), vec![9; 30_000_000]).unwrap();
    for algorithm in ["blake2bp", "blake2sp"] {
        let sums = [1, 2, 3, 4, 5, 7, 20].map(|most| run_as_user(most, &["-a", algorithm, "long"]));
        assert!(sums.iter().all(|sum| *sum == sums[0]), "{algorithm}: {sums:?}");
    }
}
