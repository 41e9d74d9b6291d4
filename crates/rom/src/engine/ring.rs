//! Reading with io_uring: one ring for each thread, reads into registered buffers.
#![allow(unsafe_code, reason = "the kernel writes into buffers while nobody here may touch them")]

use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::{IoUring, opcode, squeue, types};

use super::reads::{Buffer, Completion, Request};
use super::rom::Loaded;
use crate::BlockBuffer;

/// A ring and the buffers that the kernel may be writing to.
pub(super) struct Ring {
    ring: IoUring,
    /// By tag. What is in here is not touched before its completion has come.
    under_way: Vec<Option<Buffer>>,
    count: usize,
    /// By tag, which buffer is registered. Empty if none can be.
    registered: Vec<u64>,
    /// Ended otherwise than by a completion.
    ended: Vec<Completion>,
    /// The system call failed for good: nothing more is submitted.
    broken: bool,
}

impl Ring {
    /// A ring for reads with tags below `tags`, after a read from each file through it.
    pub(super) fn new(tags: usize, roms: &[Loaded]) -> io::Result<Self> {
        let entries = tags.clamp(1, 4096).next_power_of_two() as u32;
        let mut builder = IoUring::builder();
        builder.setup_clamp().dontfork();
        // Completions then do not interrupt what is being computed. Older kernels do without.
        let mut quiet = builder.clone();
        quiet.setup_coop_taskrun().setup_single_issuer();
        let ring = quiet.build(entries).or_else(|_| builder.build(entries))?;
        let files: Vec<i32> =
            roms.iter().map(|rom| rom.file().map_or(-1, |f| f.descriptor().as_raw_fd())).collect();
        ring.submitter().register_files(&files)?;
        let fixed = ring.submitter().register_buffers_sparse(tags as u32).is_ok();
        let mut ring = Ring {
            ring,
            under_way: (0..tags).map(|_| None).collect(),
            count: 0,
            registered: if fixed { vec![0; tags] } else { Vec::new() },
            ended: Vec::new(),
            broken: false,
        };
        for (index, rom) in roms.iter().enumerate() {
            ring.probe(index, rom, roms)?;
        }
        Ok(ring)
    }

    /// Whether buffers are registered.
    pub(super) fn is_registered(&self) -> bool {
        !self.registered.is_empty()
    }

    /// The tail, read again.
    fn probe(&mut self, index: usize, rom: &Loaded, roms: &[Loaded]) -> io::Result<()> {
        let Some((file, tail)) = rom.file().zip(rom.tail(128)) else { return Ok(()) };
        let size = tail.len();
        let window = rom.window(file.size() / size as u64 - 1, size);
        let memory = BlockBuffer::new(window.len).map_err(io::Error::other)?;
        let buffer = Buffer { memory, id: u64::MAX - index as u64 };
        let (offset, len) = (window.offset, window.len);
        self.submit(Request { tag: 0, rom: index, offset, len, buffer }, roms);
        let mut ended = Vec::new();
        while ended.is_empty() {
            self.collect(true, &mut ended);
        }
        let Some(Completion { buffer: Some(buffer), outcome, .. }) = ended.pop() else {
            return Err(io::ErrorKind::Other.into());
        };
        let found = buffer.memory.get(window.skip..outcome?.min(window.skip + size));
        let same = found == Some(tail);
        if same { Ok(()) } else { Err(io::Error::other("a read through io_uring is not right")) }
    }

    pub(super) fn submit(&mut self, request: Request, roms: &[Loaded]) {
        let Request { tag, rom, offset, len, mut buffer } = request;
        let usable = roms.get(rom).is_some_and(|rom| rom.file().is_some());
        let free = self.under_way.get(tag).is_some_and(Option::is_none);
        if self.broken || !usable || !free || buffer.memory.len() < len {
            let outcome = Err(io::ErrorKind::Unsupported.into());
            self.ended.push(Completion { tag, buffer: Some(buffer), outcome });
            return;
        }
        self.register(tag, &mut buffer);
        let (fd, at, bytes) = (types::Fixed(rom as u32), buffer.memory.as_mut_ptr(), len as u32);
        let entry = if self.is_registered() {
            opcode::ReadFixed::new(fd, at, bytes, tag as u16).offset(offset).build()
        } else {
            opcode::Read::new(fd, at, bytes).offset(offset).build()
        };
        self.under_way[tag] = Some(buffer);
        self.count += 1;
        self.push(&entry.user_data(tag as u64));
    }

    fn push(&mut self, entry: &squeue::Entry) {
        loop {
            // SAFETY: the buffer is `len` bytes or longer, stays in `under_way` until this entry's completion, and is not touched there.
            if unsafe { self.ring.submission().push(entry) }.is_ok() || self.broken {
                return;
            }
            self.flush();
        }
    }

    /// Makes the buffer known to the kernel under its tag; without that, reads look it up each time.
    fn register(&mut self, tag: usize, buffer: &mut Buffer) {
        if self.registered.get(tag).is_none_or(|known| *known == buffer.id) {
            return;
        }
        let (start, iov_len) = (buffer.memory.as_mut_ptr(), buffer.memory.len());
        let iov = libc::iovec { iov_base: start.cast(), iov_len };
        let submitter = self.ring.submitter();
        // SAFETY: the kernel holds the pages of a registered buffer itself, and reads into it only what is submitted with it.
        match unsafe { submitter.register_buffers_update(tag as u32, &[iov], None) } {
            Ok(()) => self.registered[tag] = buffer.id,
            // Not allowed to lock as much memory: without, from now on. (None is under way with another one's registration.)
            Err(_) => self.registered = Vec::new(),
        }
    }

    /// Takes buffers that are no longer used away from the kernel, whose hold on them would keep their memory when it has been given back.
    pub(super) fn keep(&mut self, first: usize, ids: &[u64]) {
        for (tag, id) in (first..).zip(ids) {
            if self.registered.get(tag).is_none_or(|known| [0, *id].contains(known)) {
                continue;
            }
            let none = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
            let submitter = self.ring.submitter();
            // SAFETY: there is no buffer in it that anybody could write to.
            if unsafe { submitter.register_buffers_update(tag as u32, &[none], None) }.is_ok() {
                self.registered[tag] = 0;
            }
        }
    }

    pub(super) fn flush(&mut self) {
        while !self.broken {
            match self.ring.submit() {
                Ok(_) => return,
                Err(error) => self.failed(&error),
            }
        }
    }

    pub(super) fn collect(&mut self, wait: bool, ended: &mut Vec<Completion>) {
        self.drain();
        while wait && self.ended.is_empty() && self.count > 0 && !self.broken {
            if let Err(error) = self.ring.submit_and_wait(1) {
                self.failed(&error);
            }
            self.drain();
        }
        ended.append(&mut self.ended);
    }

    /// Takes completions out of the ring.
    fn drain(&mut self) {
        for entry in self.ring.completion() {
            let tag = entry.user_data() as usize;
            let Some(buffer) = self.under_way.get_mut(tag).and_then(Option::take) else { continue };
            self.count -= 1;
            let outcome = match entry.result() {
                result @ 0.. => Ok(result as usize),
                error => Err(io::Error::from_raw_os_error(-error)),
            };
            self.ended.push(Completion { tag, buffer: Some(buffer), outcome });
        }
    }

    /// The system call failed: tries again what can be, and otherwise gives up all reads that are under way.
    fn failed(&mut self, error: &io::Error) {
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EAGAIN | libc::EBUSY) => {
                self.drain();
                std::thread::sleep(Duration::from_micros(100));
            }
            code => {
                self.broken = true;
                self.drain();
                for (tag, buffer) in self.under_way.iter_mut().enumerate() {
                    if let Some(buffer) = buffer.take() {
                        // The kernel may still write to it.
                        mem::forget(buffer);
                        let outcome = Err(io::Error::from_raw_os_error(code.unwrap_or(libc::EIO)));
                        self.ended.push(Completion { tag, buffer: None, outcome });
                    }
                }
                self.count = 0;
            }
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // Buffers are given back to the system only when the kernel is done with them; where that cannot be known, never.
        while self.count > 0 && !self.broken {
            self.collect(true, &mut Vec::new());
        }
    }
}
