//! Inputs: opening, reading and hashing one of them.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::algorithm::{Digest, Hasher};
use super::buffer::Buffer;
use crate::progress::Progress;
use crate::streams;

/// Bytes per read if hashing and reading take turns: the buffer stays in the second-level cache.
const CHUNK: usize = 128 << 10;

/// Bytes per read of the reader thread: large enough that the cost of passing a buffer is
/// negligible.
const BLOCK: usize = 1 << 20;

/// Bytes read at once if several threads hash them: threads are started for every block.
const WIDE_BLOCK: usize = 8 << 20;

/// Bytes after which the speed of reading is judged.
const TRIAL: u64 = 8 << 20;

/// Reading is slow if it takes more than this fraction (one in `SLOW`) of the time.
const SLOW: u32 = 6;

/// The input that an operand or a line of a check file names.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// Standard input, with its turn among the operands that name it.
    Stdin(u64),
    /// A file.
    File(PathBuf),
}

impl Input {
    /// The input for `path`, in an operand or a check file. `turn` counts those that are standard
    /// input.
    pub(super) fn named(path: &Path, turn: &mut u64) -> Self {
        if path.as_os_str() != "-" {
            return Self::File(path.to_path_buf());
        }
        *turn += 1;
        Self::Stdin(*turn - 1)
    }
}

/// Standard input shared by several operands: the first gets the bytes, the others find the end, in
/// the order in which they were named, not in the order in which threads arrive.
#[derive(Default)]
pub(super) struct StdinTurns {
    next: Mutex<u64>,
    changed: Condvar,
}

impl StdinTurns {
    /// Wait for the turn; dropping the guard passes it to the next one.
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

/// What hashing needs besides the input: the progress display, and whether to continue.
pub(super) struct Watch<'a> {
    pub(super) progress: &'a Progress,
    pub(super) stop: &'a AtomicBool,
    /// A second thread may read ahead.
    pub(super) read_ahead: bool,
    /// Threads that may hash this input.
    pub(super) threads: usize,
}

/// An input that is open, and perhaps begun.
pub(super) struct Source<'a> {
    file: File,
    /// The size of a regular file when it was opened; not for standard input, which may be at any
    /// offset of one.
    size: Option<u64>,
    _turn: Option<StdinTurn<'a>>,
}

impl<'a> Source<'a> {
    /// Open an input; for standard input this waits for its turn.
    pub(super) fn open(input: &Input, stdin: &'a StdinTurns) -> io::Result<Self> {
        match input {
            Input::Stdin(turn) => {
                let turn = stdin.wait(*turn);
                Ok(Self { file: streams::stdin()?, size: None, _turn: Some(turn) })
            }
            Input::File(path) => {
                let file = File::open(path)?;
                let meta = file.metadata().ok().filter(fs::Metadata::is_file);
                Ok(Self { file, size: meta.map(|meta| meta.len()), _turn: None })
            }
        }
    }

    /// The size of a regular file when it was opened; `None` for anything else.
    pub(super) fn size(&self) -> Option<u64> {
        self.size
    }

    /// Read until the buffer is full or the input ends; return the number of bytes.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        fill(&mut &self.file, buffer)
    }

    /// Read the input from its beginning as far as the buffer goes.
    pub(super) fn fill(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.read(buffer)?;
        if count < buffer.len() {
            self.check_size(count as u64)?;
        }
        Ok(count)
    }

    /// Hash the rest of the input after `start`, which was read before.
    ///
    /// A file that is truncated while it is being read is an error, since the digest would match
    /// neither the old nor the new content. Growth is not detected: the file ends where reading
    /// finds the end.
    pub(super) fn hash(
        &self,
        start: &[u8],
        mut hasher: Hasher,
        watch: &Watch<'_>,
    ) -> io::Result<Digest> {
        hasher.update(start);
        let count = start.len() as u64 + absorb(&self.file, &mut hasher, watch)?;
        if !watch.stop.load(Ordering::Relaxed) {
            self.check_size(count)?;
        }
        Ok(hasher.finalize())
    }

    /// At the end after `count` bytes: refuse a file of which fewer bytes could be read than it had
    /// when it was opened, if it is smaller now. (Some kernel files are always shorter than their
    /// stated size.)
    pub(super) fn check_size(&self, count: u64) -> io::Result<()> {
        let Some(size) = self.size.filter(|size| count < *size) else { return Ok(()) };
        let now = self.file.metadata()?.len();
        if now >= size {
            return Ok(());
        }
        let text = format!("file shrank from {size} to {now} bytes while it was being read");
        Err(io::Error::other(text))
    }
}

/// Read and hash in turns. That is efficient if reading only copies from memory; if it turns out to
/// be slower, and a thread is free, the rest is read ahead. So is the rest of every long input that
/// several threads can hash.
fn absorb(file: &File, hasher: &mut Hasher, watch: &Watch<'_>) -> io::Result<u64> {
    let mut buffer = Buffer::new(CHUNK)?;
    let mut may_read_ahead = watch.read_ahead;
    let is_wide = (2..=watch.threads).contains(&hasher.threads());
    let (start, mut reading, mut count) = (Instant::now(), Duration::ZERO, 0);
    while !watch.stop.load(Ordering::Relaxed) {
        let before = Instant::now();
        let n = read_some(&mut &*file, buffer.bytes_mut())?;
        if n == 0 {
            break;
        }
        reading += before.elapsed();
        hasher.update(&buffer.bytes()[..n]);
        watch.progress.add(n as u64);
        count += n as u64;
        let is_slow = || reading > start.elapsed() / SLOW;
        if may_read_ahead && count >= TRIAL && (is_wide || is_slow()) {
            let block = if is_wide { WIDE_BLOCK } else { BLOCK };
            match absorb_ahead(file, hasher, watch, block)? {
                Some(rest) => return Ok(count + rest),
                None => may_read_ahead = false,
            }
        }
    }
    Ok(count)
}

/// Read in a second thread, which fills one buffer of `block` bytes while this one hashes the
/// other, with further threads if the function can use them. `None`, with nothing read, if no
/// thread can be started.
fn absorb_ahead(
    file: &File,
    hasher: &mut Hasher,
    watch: &Watch<'_>,
    block: usize,
) -> io::Result<Option<u64>> {
    let buffers = [Buffer::new(block)?, Buffer::new(block)?];
    let (to_fill, free) = mpsc::sync_channel::<Buffer>(2);
    let (filled, full) = mpsc::sync_channel::<(Buffer, io::Result<usize>)>(2);
    let mut count = 0;
    thread::scope(|scope| {
        let reader = thread::Builder::new().name("reader".into());
        let started = reader.spawn_scoped(scope, move || {
            let mut file = file;
            // Either end closes the channel to finish: this one after the last block, the other on
            // an error.
            while let Ok(mut buffer) = free.recv() {
                let result = fill(&mut file, buffer.bytes_mut());
                let more = matches!(result, Ok(n) if n == block);
                if filled.send((buffer, result)).is_err() || !more {
                    break;
                }
            }
        });
        if started.is_err() {
            return Ok(None);
        }
        for buffer in buffers {
            let _ = to_fill.send(buffer);
        }
        while let Ok((buffer, result)) = full.recv() {
            let n = result?;
            if watch.stop.load(Ordering::Relaxed) {
                break;
            }
            hasher.update_threaded(&buffer.bytes()[..n], watch.threads);
            watch.progress.add(n as u64);
            count += n as u64;
            let _ = to_fill.send(buffer);
        }
        drop((to_fill, full));
        Ok(Some(count))
    })
}

/// One read, restarted if a signal interrupted it.
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

/// The text of an error as C programs print it, without the number.
pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(at) if error.raw_os_error().is_some() => text[..at].to_string(),
        _ => text,
    }
}
