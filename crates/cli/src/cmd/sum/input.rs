//! Where the bytes come from: opening, reading and hashing one input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::thread;

use super::algorithm::{Digest, Hasher};
use super::progress::Progress;

/// Bytes per read where hashing and reading take turns: the buffer stays in the second-level cache.
const CHUNK: usize = 128 << 10;

/// Bytes per read of the reader thread: large enough that handing a buffer over costs nothing.
const BLOCK: usize = 1 << 20;

/// What one operand or one line of a check file names.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// Standard input, with its turn among the operands that name it.
    Stdin(u64),
    /// A file.
    File(PathBuf),
}

impl Input {
    /// What `path` stands for, as an operand and in a check file alike. `turn` counts those that are
    /// standard input.
    pub(super) fn named(path: &Path, turn: &mut u64) -> Self {
        if path.as_os_str() != "-" {
            return Self::File(path.to_path_buf());
        }
        *turn += 1;
        Self::Stdin(*turn - 1)
    }
}

/// Standard input as several operands share it: the first gets the bytes, the others find the end, in the
/// order in which they were named and not in the order in which threads come along.
#[derive(Default)]
pub(super) struct StdinTurns {
    next: Mutex<u64>,
    changed: Condvar,
}

impl StdinTurns {
    /// Wait for the turn, and give it to the next one when the guard is dropped.
    fn wait(&self, turn: u64) -> StdinTurn<'_> {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(next, |next| *next != turn));
        StdinTurn(self)
    }
}

struct StdinTurn<'a>(&'a StdinTurns);

impl Drop for StdinTurn<'_> {
    fn drop(&mut self) {
        *self.0.next.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.changed.notify_all();
    }
}

/// What hashing needs besides the input: who watches, and whether to go on.
pub(super) struct Watch<'a> {
    pub(super) progress: &'a Progress,
    pub(super) stop: &'a AtomicBool,
    pub(super) stdin: &'a StdinTurns,
    /// A second thread may read ahead.
    pub(super) read_ahead: bool,
}

/// Hash all of an input.
///
/// A file that is cut short while it is being read is an error, since the digest would be one of neither
/// the old nor the new content. Growth is not noticed: the end is where reading finds it.
pub(super) fn hash(input: &Input, mut hasher: Hasher, watch: &Watch<'_>) -> io::Result<Digest> {
    let (file, _turn) = match input {
        Input::Stdin(turn) => {
            let turn = watch.stdin.wait(*turn);
            (stdin_file()?, Some(turn))
        }
        Input::File(path) => (File::open(path)?, None),
    };
    let size = file.metadata().ok().filter(|meta| meta.is_file()).map(|meta| meta.len());
    let long = size.is_none_or(|size| size >= 4 * BLOCK as u64);
    let count = if watch.read_ahead && long {
        absorb_ahead(&file, &mut hasher, watch)?
    } else {
        absorb(&file, &mut hasher, watch)?
    };
    if let (Some(size), Input::File(_)) = (size, input) {
        check_size(&file, size, count)?;
    }
    Ok(hasher.finalize())
}

/// Standard input without the buffer of the library.
#[cfg(unix)]
pub(super) fn stdin_file() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Read and hash in turns.
fn absorb(mut file: &File, hasher: &mut Hasher, watch: &Watch<'_>) -> io::Result<u64> {
    let mut buffer = vec![0; CHUNK];
    let mut count = 0;
    while !watch.stop.load(Ordering::Relaxed) {
        match read_some(&mut file, &mut buffer)? {
            0 => break,
            n => {
                hasher.update(&buffer[..n]);
                watch.progress.add(n as u64);
                count += n as u64;
            }
        }
    }
    Ok(count)
}

/// Read in a second thread, which fills one buffer while this one hashes the other.
fn absorb_ahead(file: &File, hasher: &mut Hasher, watch: &Watch<'_>) -> io::Result<u64> {
    let (to_fill, free) = mpsc::sync_channel::<Vec<u8>>(2);
    let (filled, full) = mpsc::sync_channel::<(Vec<u8>, io::Result<usize>)>(2);
    let mut count = 0;
    thread::scope(|scope| {
        let reader = thread::Builder::new().name("reader".into());
        reader.spawn_scoped(scope, move || {
            let mut file = file;
            // Either end hangs up to finish: this one after the last block, the other on an error.
            while let Ok(mut buffer) = free.recv() {
                let result = fill(&mut file, &mut buffer);
                let more = matches!(result, Ok(n) if n == buffer.len());
                if filled.send((buffer, result)).is_err() || !more {
                    break;
                }
            }
        })?;
        for _ in 0..2 {
            let _ = to_fill.send(vec![0; BLOCK]);
        }
        while let Ok((buffer, result)) = full.recv() {
            let n = result?;
            if watch.stop.load(Ordering::Relaxed) {
                break;
            }
            hasher.update(&buffer[..n]);
            watch.progress.add(n as u64);
            count += n as u64;
            let _ = to_fill.send(buffer);
        }
        drop((to_fill, full));
        Ok(count)
    })
}

/// One read, started again where a signal interrupted it.
fn read_some(file: &mut &File, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Read until the buffer is full or the input ends.
pub(super) fn fill(file: &mut &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match read_some(file, &mut buffer[len..])? {
            0 => break,
            n => len += n,
        }
    }
    Ok(len)
}

/// Refuse a file of which less could be read than there was when it was opened, if it is smaller now.
/// (Some files of the kernel are always shorter than they claim.)
fn check_size(file: &File, size: u64, count: u64) -> io::Result<()> {
    if count >= size {
        return Ok(());
    }
    let now = file.metadata()?.len();
    if now >= size {
        return Ok(());
    }
    let text = format!("file shrank from {size} to {now} bytes while it was being read");
    Err(io::Error::other(text))
}

/// The text of an error as C programs print it, without the number.
pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(at) if error.raw_os_error().is_some() => text[..at].to_string(),
        _ => text,
    }
}
