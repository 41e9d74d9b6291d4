//! Reads under way: buffers go to whoever reads, and come back filled.

use std::io;
use std::sync::Arc;

use super::pread::{Mailbox, Readers};
use super::ring::Ring;
use super::rom::Loaded;
use crate::BlockBuffer;

/// Memory for a block, told apart from every other one with its tags, also from those that were at the same address before.
pub(super) struct Buffer {
    pub(super) memory: BlockBuffer,
    /// Not 0.
    pub(super) id: u64,
}

/// A read. Nobody has the buffer until it comes back in a [`Completion`].
pub(super) struct Request {
    /// Tells reads of one thread apart: below the number that the reader was made for.
    pub(super) tag: usize,
    /// The ROM's place in the engine.
    pub(super) rom: usize,
    pub(super) offset: u64,
    pub(super) len: usize,
    pub(super) buffer: Buffer,
}

/// The end of a read.
pub(super) struct Completion {
    pub(super) tag: usize,
    /// None if it is lost, the kernel possibly writing to it.
    pub(super) buffer: Option<Buffer>,
    /// How many bytes came.
    pub(super) outcome: io::Result<usize>,
}

/// How one thread's reads are done.
pub(super) enum Reader {
    Ring(Box<Ring>),
    Pread(Arc<Readers>, Arc<Mailbox>),
}

impl Reader {
    /// Begins a read, at the latest with the next [`Reader::flush`].
    pub(super) fn submit(&mut self, request: Request, roms: &[Loaded]) {
        match self {
            Reader::Ring(ring) => ring.submit(request, roms),
            Reader::Pread(readers, mailbox) => readers.submit(request, mailbox),
        }
    }

    /// Before buffers are given back: from the first tag on, these are the only ones that the kernel need know. None of them may be under way.
    pub(super) fn keep(&mut self, first: usize, ids: &[u64]) {
        if let Reader::Ring(ring) = self {
            ring.keep(first, ids);
        }
    }

    /// Lets all reads begin.
    pub(super) fn flush(&mut self) {
        if let Reader::Ring(ring) = self {
            ring.flush();
        }
    }

    /// Collects what has ended, and waits for one if `wait` says so and nothing has. (There must be one then.)
    pub(super) fn collect(&mut self, wait: bool, ended: &mut Vec<Completion>) {
        match self {
            Reader::Ring(ring) => ring.collect(wait, ended),
            Reader::Pread(_, mailbox) => mailbox.collect(wait, ended),
        }
    }
}
