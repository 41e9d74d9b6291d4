//! Reading with io_uring: one ring for each thread, reads into registered buffers.
#![allow(unsafe_code, reason = "the kernel writes into buffers while nobody here may touch them")]

use std::any::Any;
use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use io_uring::{IoUring, opcode, squeue, types};
use saltern_pool::source::{BlockBuffer, BlockMemory, BlockRom, BlockSource, Completion, Request};

/// Marks an entry that is not a read.
const NOTHING: u64 = u64::MAX;

/// A ring and the buffers that the kernel may be writing to.
pub(super) struct Ring {
    ring: IoUring,
    /// By tag. Entries are not touched before their completion has arrived.
    under_way: Vec<Option<UnderWay>>,
    count: usize,
    /// By tag, the buffer that is registered. Empty if none can be.
    registered: Vec<u64>,
    /// Reads that ended other than by a completion.
    ended: Vec<Completion>,
    /// The system call failed for good: nothing more is submitted.
    broken: bool,
}

/// What a read uses until it has ended: its buffer and its file.
struct UnderWay {
    buffer: BlockBuffer,
    _rom: Arc<dyn BlockRom>,
}

impl Ring {
    /// A ring for reads with tags below `tags`, after a test operation.
    pub(super) fn new(tags: usize) -> io::Result<Self> {
        let entries = tags.clamp(1, 4096).next_power_of_two() as u32;
        let mut builder = IoUring::builder();
        builder.setup_clamp().dontfork();
        // Completions then do not interrupt computations. Older kernels do not support this.
        let mut quiet = builder.clone();
        quiet.setup_coop_taskrun().setup_single_issuer();
        let ring = quiet.build(entries).or_else(|_| builder.build(entries))?;
        let fixed = ring.submitter().register_buffers_sparse(tags as u32).is_ok();
        let mut ring = Ring {
            ring,
            under_way: (0..tags).map(|_| None).collect(),
            count: 0,
            registered: if fixed { vec![0; tags] } else { Vec::new() },
            ended: Vec::new(),
            broken: false,
        };
        ring.probe()?;
        Ok(ring)
    }

    /// Whether buffers are registered.
    pub(super) fn is_registered(&self) -> bool {
        !self.registered.is_empty()
    }

    /// Creating a ring may be allowed even if using it is not.
    fn probe(&mut self) -> io::Result<()> {
        self.push(&opcode::Nop::new().build().user_data(NOTHING));
        self.ring.submit_and_wait(1)?;
        let through = self.ring.completion().any(|entry| entry.user_data() == NOTHING);
        if through { Ok(()) } else { Err(io::Error::other("a test request did not complete")) }
    }

    fn push(&mut self, entry: &squeue::Entry) {
        loop {
            // SAFETY: the buffer is a mapping of this module's making and `len` bytes or longer. It
            // stays in `under_way` until this entry's completion, and is not touched there.
            if unsafe { self.ring.submission().push(entry) }.is_ok() || self.broken {
                return;
            }
            self.flush();
        }
    }

    /// Registers the buffer with the kernel under its tag; otherwise reads look it up each time.
    fn register(&mut self, tag: usize, buffer: &mut BlockBuffer) {
        if self.registered.get(tag).is_none_or(|known| *known == buffer.id) {
            return;
        }
        let Some(memory) = own(buffer) else { return };
        let (start, iov_len) = (memory.as_mut_ptr(), memory.len());
        let iov = libc::iovec { iov_base: start.cast(), iov_len };
        let submitter = self.ring.submitter();
        // SAFETY: the kernel holds the pages of a registered buffer itself, and reads into it only
        // what is submitted with it.
        match unsafe { submitter.register_buffers_update(tag as u32, &[iov], None) } {
            Ok(()) => self.registered[tag] = buffer.id,
            // Not allowed to lock as much memory: continues without registration. (No read is under
            // way with another buffer's registration.)
            Err(_) => self.registered = Vec::new(),
        }
    }

    /// Takes completions out of the ring.
    fn drain(&mut self) {
        for entry in self.ring.completion() {
            let tag = entry.user_data() as usize;
            let read = self.under_way.get_mut(tag).and_then(Option::take);
            let Some(UnderWay { buffer, .. }) = read else { continue };
            self.count -= 1;
            let outcome = match entry.result() {
                result @ 0.. => Ok(result as usize),
                error => Err(io::Error::from_raw_os_error(-error)),
            };
            self.ended.push(Completion { tag, buffer: Some(buffer), outcome });
        }
    }

    /// The system call failed: retries if possible, and otherwise gives up all reads that are under
    /// way.
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
                for (tag, read) in self.under_way.iter_mut().enumerate() {
                    if let Some(read) = read.take() {
                        // The kernel may still write to it.
                        mem::forget(read);
                        let outcome = Err(io::Error::from_raw_os_error(code.unwrap_or(libc::EIO)));
                        self.ended.push(Completion { tag, buffer: None, outcome });
                    }
                }
                self.count = 0;
            }
        }
    }
}

/// The memory of a buffer, if a ring has made it.
fn own(buffer: &mut BlockBuffer) -> Option<&mut [u8]> {
    let memory: &mut dyn Any = &mut *buffer.memory;
    memory.downcast_mut::<crate::DirectBuffer>().map(|memory| &mut **memory)
}

impl BlockSource for Ring {
    fn memory(&mut self, len: usize) -> io::Result<Box<dyn BlockMemory>> {
        Ok(Box::new(crate::DirectBuffer::new(len).map_err(io::Error::other)?))
    }

    fn submit(&mut self, request: Request) {
        let Request { tag, rom, offset, len, mut buffer } = request;
        let Some(descriptor) = rom.descriptor().map(|descriptor| descriptor.as_raw_fd()) else {
            // Read synchronously.
            let memory = buffer.memory.get_mut(..len).ok_or(io::ErrorKind::InvalidInput.into());
            let outcome = memory.and_then(|memory| rom.read(offset, memory));
            self.ended.push(Completion { tag, buffer: Some(buffer), outcome });
            return;
        };
        let free = self.under_way.get(tag).is_some_and(Option::is_none);
        let place = own(&mut buffer).filter(|memory| memory.len() >= len);
        let Some(at) = place.map(<[u8]>::as_mut_ptr).filter(|_| free && !self.broken) else {
            let outcome = Err(io::ErrorKind::Unsupported.into());
            self.ended.push(Completion { tag, buffer: Some(buffer), outcome });
            return;
        };
        self.register(tag, &mut buffer);
        let (fd, bytes) = (types::Fd(descriptor), len as u32);
        let entry = if self.is_registered() {
            opcode::ReadFixed::new(fd, at, bytes, tag as u16).offset(offset).build()
        } else {
            opcode::Read::new(fd, at, bytes).offset(offset).build()
        };
        self.under_way[tag] = Some(UnderWay { buffer, _rom: rom });
        self.count += 1;
        self.push(&entry.user_data(tag as u64));
    }

    /// Unregisters buffers that are no longer used; otherwise the kernel would keep their memory
    /// after they are freed.
    fn keep(&mut self, first: usize, ids: &[u64]) {
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

    fn flush(&mut self) {
        while !self.broken {
            match self.ring.submit() {
                Ok(_) => return,
                Err(error) => self.failed(&error),
            }
        }
    }

    fn collect(&mut self, wait: bool, ended: &mut Vec<Completion>) {
        self.drain();
        while wait && self.ended.is_empty() && self.count > 0 && !self.broken {
            if let Err(error) = self.ring.submit_and_wait(1) {
                self.failed(&error);
            }
            self.drain();
        }
        ended.append(&mut self.ended);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // Buffers are freed only when the kernel is done with them; if that cannot be known, never.
        while self.count > 0 && !self.broken {
            self.collect(true, &mut Vec::new());
        }
    }
}
