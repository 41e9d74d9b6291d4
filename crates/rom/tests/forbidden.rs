//! A pool where io_uring is forbidden, as in many containers; and threads that a forked process
//! lacks.
#![allow(
    unsafe_code,
    reason = "a filter of system calls, and code after a fork: nothing safe does either"
)]

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use saltern_pool::{Derive, Error, Pool, PoolConfig, Terms};
use saltern_rom::{AttachOptions, Backend, Create, RomFile, RomReaders, RomScrubber, Seed, attach};
use saltern_testing::skipped;
use saltern_yescrypt::{
    Limits, Params,
    rom::{RomParams, RomReading, RomUse},
};
use tempfile::TempDir;

/// Answers `errno` to a system call of this thread and those that it starts.
fn forbid(call: i64, errno: i32) -> std::io::Result<()> {
    let statement = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let (load, equal) = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, libc::BPF_JMP | libc::BPF_JEQ);
    let answer = libc::SECCOMP_RET_ERRNO | errno as u32;
    let mut filter = [
        statement(load, 0, 0, 0),
        statement(equal | libc::BPF_K, 0, 1, call as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, answer),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the calls read the program and its four statements, which outlive them, and change
    // what this thread may call.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// The image of a ROM of 256 KiB, for as long as its folder is kept.
fn image() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rom");
    let seed = Seed::from_bytes(b"sixteen bytes and more").unwrap();
    Create::new(RomParams::new(64, 32, 1), &seed).file(&path).unwrap();
    (directory, path)
}

/// What is made with the ROM in this file, which is not in memory.
fn derivation(path: &Path) -> Derive {
    let rom = Arc::new(RomFile::open(path, None).unwrap()).rom().unwrap();
    let params = Params::yescrypt(64, 32).check(&Limits::unlimited()).unwrap();
    Derive { params, roms: vec![RomUse { rom, reading: RomReading::new(64) }], len: 32 }
}

#[test]
fn without_io_uring_threads_read_and_the_result_is_the_same() {
    let (_directory, path) = image();
    let what = derivation(&path);
    let pool = |backend| -> Result<(Pool, Arc<RomReaders>), Error> {
        let readers = Arc::new(RomReaders::new(backend));
        let mut config = PoolConfig::default();
        config.threads = 2;
        config.sources = Some(readers.clone());
        Ok((Pool::new(config)?, readers))
    };
    let hash = |pool: &Pool| {
        pool.derive(&what, [("password", "salt")], Terms::bulk()).unwrap().wait().remove(0).unwrap()
    };
    let expected = hash(&pool(Backend::Threads).unwrap().0);
    let mut refused = 0;
    for (call, errno) in [
        (libc::SYS_io_uring_setup, libc::EPERM),
        (libc::SYS_io_uring_setup, libc::ENOSYS),
        (libc::SYS_io_uring_enter, libc::EACCES),
    ] {
        // In a thread of its own, since the filter stays.
        std::thread::scope(|scope| {
            let forbidden = scope.spawn(|| {
                if let Err(error) = forbid(call, errno) {
                    skipped(&format!("no filter for system calls here: {error}"));
                    return 0;
                }
                let strict = pool(Backend::IoUring).unwrap_err().to_string();
                assert!(strict.contains("cannot use io_uring"), "{strict}");
                let (fallback, readers) = pool(Backend::Auto).unwrap();
                assert_eq!(readers.backend(), Backend::Threads);
                let notes = readers.notes();
                let [note] = &notes[..] else { panic!("{notes:?}") };
                assert!(note.contains("io_uring"), "{note}");
                assert_eq!(hash(&fallback), expected);
                1
            });
            refused += forbidden.join().unwrap();
        });
    }
    assert!(refused == 3 || refused == 0, "{refused}");
    // Buffers that cannot be registered are read into all the same.
    std::thread::scope(|scope| {
        let forbidden = scope.spawn(|| {
            if let Err(error) = forbid(libc::SYS_io_uring_register, libc::ENOMEM) {
                return skipped(&format!("no filter for system calls here: {error}"));
            }
            let (unregistered, readers) = pool(Backend::Auto).unwrap();
            assert_eq!(readers.backend(), Backend::IoUring);
            assert!(readers.notes()[0].contains("registered buffers"), "{:?}", readers.notes());
            assert_eq!(hash(&unregistered), expected);
        });
        forbidden.join().unwrap();
    });
}

/// The thread of whole checks is the parent's: a forked process that waited for it would do so for
/// ever.
#[test]
fn a_forked_process_waits_for_no_thread_of_its_parent() {
    let (_directory, path) = image();
    let rom = Arc::new(attach(&path, &AttachOptions::new()).unwrap());
    let recheck = RomScrubber::start(vec![rom], Duration::from_secs(3600), |_, _| {}).unwrap();
    let taken = Arc::new(Mutex::new(Some(recheck)));
    let in_child = taken.clone();
    let run = move || {
        drop(in_child.lock().unwrap().take());
        Err(std::io::Error::from_raw_os_error(libc::EOPNOTSUPP))
    };
    forked(run);
    drop(taken.lock().unwrap().take());
}

/// Threads that read are the parent's, too: a forked process starts its own.
#[test]
fn a_forked_process_reads_with_threads_of_its_own() {
    let (_directory, path) = image();
    let what = derivation(&path);
    let readers = Arc::new(RomReaders::new(Backend::Threads));
    let hash = move || {
        let mut config = PoolConfig::default();
        config.threads = 1;
        config.sources = Some(readers.clone());
        let pool = Pool::new(config).unwrap();
        pool.derive(&what, [("password", "salt")], Terms::bulk()).unwrap().wait().remove(0).unwrap()
    };
    let expected = hash();
    forked(move || match hash() == expected {
        true => Err(std::io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        false => Err(std::io::Error::from_raw_os_error(libc::EBADMSG)),
    });
}

/// Runs this in a forked process, before any other program takes its place: it has to end in
/// EOPNOTSUPP, within a minute.
fn forked(mut run: impl FnMut() -> std::io::Result<()> + Send + Sync + 'static) {
    let mut command = Command::new("true");
    // SAFETY: the allocator of the C library can be used after a fork, and no other lock that the
    // child takes is held at that time.
    unsafe {
        command.pre_exec(move || {
            libc::alarm(60);
            run()
        })
    };
    let result = command.spawn().map(drop).map_err(|error| error.raw_os_error());
    assert_eq!(result, Err(Some(libc::EOPNOTSUPP)), "the child hangs, or did not do as it should");
}
