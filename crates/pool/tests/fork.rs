//! A pool in a forked process reports at once that it has no threads there.
#![cfg(feature = "getrandom")]
#![cfg(unix)]
#![allow(
    unsafe_code,
    reason = "`CommandExt::pre_exec`, the way to run code after a fork without a library for it"
)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use saltern_pool::{BatchTicket, Derive, Error, Pool, PoolConfig, Terms, Ticket};
use saltern_yescrypt::{Hasher, Limits, Params};

const TERMS: Terms = Terms::interactive();

/// What the child reports when all is well: a system error that nothing here causes by itself.
const AS_EXPECTED: i32 = 95;

fn pool(threads: usize) -> Pool {
    let mut config = PoolConfig::default();
    config.threads = threads;
    Pool::new(config).unwrap()
}

fn what() -> Derive {
    let params = Params::yescrypt(4096, 8).check(&Limits::server()).unwrap();
    Derive { params, roms: Vec::new(), len: 32 }
}

/// Everything that one can do with a pool and its tickets, in the child.
fn child(pool: Pool, ticket: BatchTicket<bool>) -> Result<(), u32> {
    let hasher = Arc::new(Hasher::new());
    let forked = Err(Error::Forked);
    let expect = |number, holds: bool| if holds { Ok(()) } else { Err(number) };
    expect(1, pool.hash(&hasher, ["p"], TERMS).map(drop) == forked)?;
    expect(2, pool.verify(&hasher, [("p", "$y$")], TERMS).map(drop) == forked)?;
    expect(3, pool.derive(&what(), [("p", "s")], TERMS).map(drop) == forked)?;
    expect(4, pool.stats() == Default::default() && pool.huge_page_bytes().is_none())?;
    expect(8, pool.is_forked() && !self::pool(1).is_forked())?;
    expect(5, ticket.cancel() == 0 && ticket.is_done())?;
    expect(6, ticket.wait() == [Err(Error::Forked)])?;
    drop(pool);
    // A new one works here.
    let own = self::pool(1);
    expect(7, own.derive(&what(), [("p", "s")], TERMS).is_ok_and(|ticket| ticket.wait()[0].is_ok()))
}

#[test]
fn a_forked_process_gets_errors_and_never_hangs() {
    let pool = pool(2);
    let hasher = Arc::new(Hasher::new());
    // The threads are busy, and hold the pool's locks now and then, while the process forks.
    let busy: Vec<_> =
        (0..50).map(|_| pool.derive(&what(), [("p", "s"); 4], TERMS).unwrap()).collect();
    let stored = "$y$j75$abcd$n9K3MJBOK7rb5ZnDPVRaLq0Z1x8.y.eGWQknIyYN/.8";
    let ticket = pool.verify(&hasher, [("p", stored)], TERMS).unwrap();
    let taken = Mutex::new(Some((pool, ticket)));
    let taken = Arc::new(taken);
    let mut command = Command::new("true");
    let in_child = taken.clone();
    let run = move || {
        let (pool, ticket) = in_child.lock().unwrap().take().unwrap();
        let code = child(pool, ticket).map_or_else(|number| number as i32, |()| AS_EXPECTED);
        Err(io::Error::from_raw_os_error(code))
    };
    // SAFETY: the child allocates and locks, which glibc and musl allow after a fork of a process
    // with threads as long as no lock of this program's own is held across it, and `taken` is not.
    unsafe { command.pre_exec(run) };
    let (report, result) = mpsc::channel();
    std::thread::spawn(move || {
        report.send(command.spawn().map(drop).map_err(|e| e.raw_os_error()))
    });
    let result = result.recv_timeout(Duration::from_secs(60)).expect("the child hangs");
    assert_eq!(result, Err(Some(AS_EXPECTED)));
    // In the parent all goes on.
    let (pool, ticket) = taken.lock().unwrap().take().unwrap();
    assert!(ticket.wait()[0].is_ok());
    assert!(busy.into_iter().flat_map(Ticket::wait).all(|answer| answer.is_ok()));
    drop(pool);
}

/// What tells the program that it is the first process of a namespace.
const INSIDE: &str = "SALTERN_FIRST_PROCESS";

/// A forked process that has the id of its parent, each being the first process of a namespace of
/// its own.
#[cfg(target_os = "linux")]
#[test]
fn a_forked_process_is_known_by_more_than_its_id() {
    if std::env::var_os(INSIDE).is_some() {
        return in_namespace();
    }
    let name = "a_forked_process_is_known_by_more_than_its_id";
    let mut unshare = Command::new("unshare");
    let own = std::env::current_exe().unwrap();
    unshare.args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child"]).arg(own);
    unshare.args(["--exact", name, "--nocapture"]).env(INSIDE, "1");
    let output = match unshare.output() {
        Ok(output) => output,
        Err(error) => return eprintln!("skipped: no unshare(1): {error}"),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && said.contains("unshare") {
        return eprintln!("skipped: namespaces are not allowed here: {said}");
    }
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stdout));
}

/// As the first process of a namespace: makes a pool, and forks into another namespace.
#[cfg(target_os = "linux")]
fn in_namespace() {
    assert_eq!(std::process::id(), 1);
    let pool = pool(1);
    // Children are born there from here on.
    let flags = rustix::thread::UnshareFlags::NEWPID;
    // SAFETY: namespaces of processes concern no memory.
    unsafe { rustix::thread::unshare_unsafe(flags) }.unwrap();
    let hasher = Arc::new(Hasher::new());
    let taken = Mutex::new(Some(pool));
    let run = move || {
        let pool = taken.lock().unwrap().take().unwrap();
        let same = std::process::id() == 1;
        let forked = pool.hash(&hasher, ["p"], TERMS).map(drop) == Err(Error::Forked);
        let code = if same && forked { AS_EXPECTED } else { 1 };
        Err(io::Error::from_raw_os_error(code))
    };
    let mut command = Command::new("true");
    // SAFETY: as above: no lock of this program is held across the fork.
    unsafe { command.pre_exec(run) };
    let result = command.spawn().map(drop).map_err(|e| e.raw_os_error());
    assert_eq!(result, Err(Some(AS_EXPECTED)));
}
