//! Many files, files that go wrong, directories, and outputs that cannot be written.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{str, thread};

use saltern_testing::chmod;
use saltern_testing::hex::hex;

use super::{Bench, complaints, run, stdout, text};

#[test]
fn thousands_of_files_come_out_in_order() {
    let bench = Bench::new();
    // Sizes from nothing to some megabytes, around the one from which on files are no longer read
    // whole.
    let long = [(1 << 20) - 2, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20, 5_000_001];
    let names: Vec<_> = (0..3000).map(|at| format!("file-{at}")).collect();
    for (at, name) in names.iter().enumerate() {
        let size = if at % 150 == 0 { long[at / 150 % 6] } else { at * 37 % 3000 };
        bench.write(name.as_bytes(), &vec![at as u8; size]);
    }
    let theirs = stdout(bench.b2sum(&names, b""));
    for threads in ["1", "2", "7", "64"] {
        let args: Vec<_> = ["--num-threads", threads]
            .into_iter()
            .chain(names.iter().map(String::as_str))
            .collect();
        assert!(stdout(bench.saltern(&args, b"")) == theirs, "{threads} threads");
    }
    let verdicts = stdout(bench.same(&["-c"], &theirs));
    assert_eq!(text(&verdicts).matches(": OK").count(), 3000);
    // One altered file among them is found, whatever its place.
    bench.write(b"file-1234", b"altered");
    let output = bench.same(&["-c", "--quiet"], &theirs);
    assert_eq!(text(&output.stdout), "file-1234: FAILED\\n\n");
}

/// Lengths around where threads set in, after the first 8 MiB, and around the pieces of 8 MiB that
/// they are given, of which the last may be too short for them.
#[test]
fn threads_for_the_leaves_of_one_long_input_change_nothing() {
    let bench = Bench::new();
    let bytes: Vec<u8> =
        (0..25_500_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    const MIB: usize = 1 << 20;
    let lengths = [8 * MIB - 1, 8 * MIB + 1, 12 * MIB + 513, 16 * MIB, 24 * MIB + 1, bytes.len()];
    for algorithm in ["blake2bp", "blake2sp"] {
        for length in lengths {
            let content = &bytes[..length];
            bench.write(b"long", content);
            let expected: String = match algorithm {
                "blake2bp" => hex(saltern_blake2::blake2bp(content).as_bytes()),
                _ => hex(saltern_blake2::blake2sp(content).as_bytes()),
            };
            for threads in ["1", "2", "3", "4", "5", "7", "8", "9"] {
                let args = ["-a", algorithm, "--num-threads", threads, "long"];
                let sum = text(&stdout(bench.saltern(&args, b"")));
                assert_eq!(sum, format!("{expected}  long\\n\n"), "{length}, {threads} threads");
            }
            let args = ["-a", algorithm, "--num-threads", "9"];
            let sum = text(&stdout(bench.saltern(&args, content)));
            assert_eq!(sum, format!("{expected}  -\\n\n"), "{length}, a pipe");
        }
    }
}

/// The memory of this process, read from a place on, ends with an error: where nothing is mapped.
#[test]
fn an_error_in_the_middle_of_a_long_input_is_told() {
    let bench = Bench::new();
    let memory = vec![7_u8; 40 << 20];
    for algorithm in ["blake2b", "blake2bp", "blake2sp"] {
        for threads in ["1", "2", "4", "9"] {
            let mut file = File::open("/proc/self/mem").unwrap();
            file.seek(SeekFrom::Start(memory.as_ptr() as u64)).unwrap();
            let mut command = bench.command(env!("CARGO_BIN_EXE_saltern"));
            command.args(["sum", "-a", algorithm, "--num-threads", threads]);
            let output = command.stdin(Stdio::from(file)).output().unwrap();
            assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""));
            assert_eq!(complaints(&output), "b2sum: -: Input/output error\\n\n");
        }
    }
}

#[test]
fn a_file_that_grows_while_it_is_read_ends_where_reading_finds_its_end() {
    let bench = Bench::new();
    let sizes = [48 << 20, 80 << 20];
    for (algorithm, threads) in [("blake2b", "3"), ("blake2bp", "4"), ("blake2sp", "9")] {
        let args = ["-a", algorithm, "--num-threads", threads, "long"];
        let file = File::create(bench.path().join("long")).unwrap();
        let sums = sizes.map(|size| {
            file.set_len(size).unwrap();
            stdout(bench.saltern(&args, b""))
        });
        file.set_len(sizes[0]).unwrap();
        let grown = thread::scope(|scope| {
            let sum = scope.spawn(|| stdout(bench.saltern(&args, b"")));
            thread::sleep(Duration::from_millis(15));
            file.set_len(sizes[1]).unwrap();
            sum.join().unwrap()
        });
        assert!(sums.contains(&grown), "{algorithm}: {}", text(&grown));
    }
}

#[test]
fn the_rest_goes_on_after_a_file_that_cannot_be_read() {
    let bench = Bench::with(&[("a", b"abc"), ("locked", b"x"), ("z", b"xyz")]);
    fs::create_dir(bench.path().join("dir")).unwrap();
    bench.same(&["a", "vanished", "dir", "z"], b"");
    let locked = bench.path().join("locked");
    chmod(&locked, 0o000);
    // Root reads it all the same; then both do.
    bench.same(&["a", "locked", "z"], b"");
    symlink("nowhere", bench.path().join("broken")).unwrap();
    symlink("loop", bench.path().join("loop")).unwrap();
    let output = bench.same(&["a", "broken", "loop", "a/b", "z", "/dev/null"], b"");
    assert_eq!(text(&output.stdout).lines().count(), 3);
    assert_eq!(text(&output.stderr).lines().count(), 3);
}

#[test]
fn a_file_cut_short_while_it_is_read_is_an_error() {
    let bench = Bench::with(&[("a", b"abc")]);
    let path = bench.path().join("long");
    let file = File::create(&path).unwrap();
    // Zeros that take no room, and more of them than can be hashed before they are cut off.
    file.set_len(64 << 30).unwrap();
    // With a thread to spare and without, that is alone and among others; and by threads.
    let cases = [("blake2b", "1"), ("blake2b", "3"), ("blake2bp", "9"), ("blake2sp", "16")];
    for (algorithm, threads) in cases {
        file.set_len(64 << 30).unwrap();
        let mut command = bench.command(env!("CARGO_BIN_EXE_saltern"));
        command.args(["sum", "-a", algorithm, "--num-threads", threads, "long", "a"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let fds = format!("/proc/{}/fd", child.id());
        let is_open = || {
            let links = fs::read_dir(&fds).into_iter().flatten().flatten();
            links.filter_map(|link| fs::read_link(link.path()).ok()).any(|link| link == path)
        };
        while !is_open() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(20));
        file.set_len(1000).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let message = format!(
            "b2sum: long: file shrank from {} to 1000 bytes while it was being read\\n\n",
            64_u64 << 30
        );
        assert_eq!(complaints(&output), message);
        assert!(text(&output.stdout).ends_with("  a\\n\n"), "{}", text(&output.stdout));
    }
}

#[test]
fn files_of_the_kernel_may_be_shorter_than_they_claim() {
    let bench = Bench::new();
    for path in
        ["/proc/self/mountinfo", "/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"]
    {
        if fs::read(path).is_ok() {
            stdout(bench.saltern(&[path], b""));
        }
    }
    bench.same(&["/proc/version"], b"");
}

#[test]
fn recursion_finds_regular_files_in_order() {
    let bench = Bench::with(&[("top", b"1")]);
    let root = bench.path();
    for dir in ["d/b/empty", "d/a.d", "d/b/deep/er"] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    for file in ["d/a", "d/a.d/x", "d/b/deep/er/y", "d/b/z", "d/c\nc", "d/B"] {
        fs::write(root.join(file), file).unwrap();
    }
    symlink("a", root.join("d/link")).unwrap();
    symlink("..", root.join("d/up")).unwrap();
    assert!(run(bench.command("mkfifo").arg("d/pipe"), b"").status.success());

    let lines = text(&stdout(bench.saltern(&["-r", "-l8", "top", "d"], b"")));
    let names: Vec<_> = lines.lines().map(|line| line.split_once("  ").unwrap().1).collect();
    let expected = [
        "top\\n",
        "d/B\\n",
        "d/a\\n",
        "d/a.d/x\\n",
        "d/b/deep/er/y\\n",
        "d/b/z\\n",
        "d/c\\\\nc\\n",
    ];
    assert_eq!(names, expected);
    // The same files as find(1) finds, and the list checks out.
    let list = stdout(bench.saltern(&["-r"], b""));
    let script = "find . -type f -print0 | LC_ALL=C sort -z | xargs -0 b2sum | LC_ALL=C sort";
    let found = stdout(run(bench.command("sh").args(["-c", script]), b""));
    let mut sorted: Vec<_> = list.split_inclusive(|&b| b == b'\n').collect();
    sorted.sort();
    assert_eq!(text(&sorted.concat()), text(&found));
    stdout(bench.same(&["-c", "--strict"], &list));

    // A link on the command line is followed; what is missing is told and the rest goes on.
    let output = bench.saltern(&["-r", "gone", "d/up/d/a.d", "d/link"], b"");
    assert_eq!(complaints(&output), "b2sum: gone: No such file or directory\\n\n");
    assert_eq!(text(&output.stdout).lines().count(), 2);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(bench.saltern(&["-r", "-c", "top"], b"").status.code(), Some(1));
}

#[test]
fn outputs_that_cannot_be_written_are_told() {
    let bench = Bench::with(&[("a", b"abc")]);
    let list = stdout(bench.saltern(&["a"], b""));
    bench.write(b"list", &list);
    let program = env!("CARGO_BIN_EXE_saltern");
    let shell = |script: &str| run(bench.command("sh").args(["-c", script, program]), b"");
    let full = shell("\"$0\" sum a > /dev/full");
    assert_eq!(complaints(&full), "b2sum: write error: No space left on device\\n\n");
    assert_eq!(full.status.code(), Some(1));
    let full = shell("\"$0\" sum -c list > /dev/full");
    assert_eq!((full.status.code(), full.stderr.is_empty()), (Some(1), false));
    // Nothing is printed here, so nothing fails.
    assert_eq!(shell("\"$0\" sum -c --status list > /dev/full").status.code(), Some(0));
    assert_eq!(shell("\"$0\" sum -c --status list >&-").status.code(), Some(0));
    let closed = shell("\"$0\" sum -c list >&-");
    assert_eq!(complaints(&closed), "b2sum: write error: Bad file descriptor\\n\n");
    assert_eq!(closed.status.code(), Some(1));
    assert_eq!(shell("\"$0\" sum nope 2>&-").status.code(), Some(1));
    assert_eq!(shell("\"$0\" sum nope 2>/dev/full").status.code(), Some(1));
}

#[test]
fn a_reader_that_goes_away_ends_it_silently() {
    let bench = Bench::new();
    let names: Vec<_> = (0..2000).map(|at| format!("file-{at}")).collect();
    for name in &names {
        bench.write(name.as_bytes(), name.as_bytes());
    }
    // All the time in the world for the rest, which nobody reads: b2sum dies of the signal here.
    let program = env!("CARGO_BIN_EXE_saltern");
    let script = "{ \"$0\" sum file-*; echo $? >&2; } | head -n 1";
    let ours = run(bench.command("sh").args(["-c", script, program]), b"");
    assert_eq!(str::from_utf8(&ours.stderr), Ok("141\n"));
    assert_eq!(text(&ours.stdout).lines().count(), 1);
}

#[test]
fn standard_input_and_files_mix_in_order() {
    let bench = Bench::with(&[("a", b"abc")]);
    let mut args = vec!["--num-threads", "4"];
    args.extend(["a", "-", "a", "-", "-", "a"].repeat(20));
    let ours = stdout(bench.saltern(&args, b"only the first gets this"));
    assert_eq!(text(&ours), text(&stdout(bench.b2sum(&args[2..], b"only the first gets this"))));
}

#[test]
fn a_slow_first_input_holds_up_the_lines_and_nothing_else() {
    let bench = Bench::with(&[("a", b"abc")]);
    // More tasks than may wait for the first line.
    let script = "(sleep 0.5; echo late) | \"$0\" \"$@\" - $(yes a | head -n 20000)";
    for threads in ["1", "2", "9"] {
        let mut command = bench.command("sh");
        let program = env!("CARGO_BIN_EXE_saltern");
        command.args(["-c", script, program, "sum", "-l8", "--num-threads", threads]);
        let output = text(&stdout(run(&mut command, b"")));
        assert_eq!(output.lines().count(), 20_001);
        assert!(output.lines().skip(1).all(|line| line == "6b  a\\n"));
    }
}

#[test]
fn a_list_that_comes_line_by_line_is_answered_line_by_line() {
    let bench = Bench::with(&[("a", b"abc")]);
    let line = stdout(bench.saltern(&["a"], b""));
    let mut command = bench.command(env!("CARGO_BIN_EXE_saltern"));
    command.args(["sum", "-c"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut list, mut verdicts) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for _ in 0..5 {
        list.write_all(&line).unwrap();
        let mut verdict = [0; 6];
        // This would wait for ever if the verdict waited for another line.
        verdicts.read_exact(&mut verdict).unwrap();
        assert_eq!(&verdict, b"a: OK\n");
    }
    drop(list);
    assert!(child.wait().unwrap().success());
}

#[test]
fn threads_are_between_one_and_a_thousand() {
    let bench = Bench::with(&[("a", b"abc")]);
    for wrong in ["0", "-1", "x", "1025", "99999999999999999999"] {
        let output = bench.saltern(&["--num-threads", wrong, "a"], b"");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{wrong}");
    }
    stdout(bench.saltern(&["--num-threads", "1024", "a"], b""));
}
