//! The source of blocks of one thread: foreign code, which may panic or give any answer.

use std::panic::{AssertUnwindSafe, catch_unwind};

use saltern_yescrypt::Error as Hash;

use crate::error::{Error, Fault};
use crate::source::{BlockBuffer, BlockSource, Completion};
use crate::stats::ReadStats;

/// A source of blocks, if the pool reads any, or why there is none.
pub(crate) type Source = Result<Option<Box<dyn BlockSource>>, Error>;

/// The state of a thread's reads.
pub(crate) struct Reader {
    /// `None` for a pool that reads no ROMs; or why there is no source at present.
    source: Source,
    /// The source has panicked or given an answer that was not requested: the state of its reads is
    /// unknown.
    pub(crate) failed: bool,
    /// Reads that are under way.
    pub(crate) depth: u64,
    /// The last number of a buffer.
    last_id: u64,
    /// Not yet reported.
    pub(crate) stats: ReadStats,
}

impl Reader {
    pub(crate) fn new(source: Option<Box<dyn BlockSource>>) -> Self {
        let source = Ok(source);
        Reader { source, failed: false, depth: 0, last_id: 0, stats: ReadStats::default() }
    }

    /// Whether there is no source at present because none could be opened.
    pub(crate) fn is_closed(&self) -> bool {
        self.source.is_err()
    }

    /// Replaces a failed source, whose reads are no longer waited for, by one that is opened here.
    pub(crate) fn replace(&mut self, open: impl FnOnce() -> Source) {
        // Drops the old one first: the system may not allow both together.
        let old = std::mem::replace(&mut self.source, Ok(None));
        let _ = catch_unwind(AssertUnwindSafe(|| drop(old)));
        self.source = catch_unwind(AssertUnwindSafe(open)).unwrap_or(Err(Error::Panicked));
        (self.failed, self.depth) = (false, 0);
    }

    /// Calls the source, which is foreign code: after a panic it is not called again.
    pub(crate) fn call<T>(
        &mut self,
        call: impl FnOnce(&mut dyn BlockSource) -> T,
    ) -> Result<T, Error> {
        if self.failed {
            return Err(Error::Panicked);
        }
        let none = || Error::Source(Fault::new("this pool reads no ROMs"));
        let source = self.source.as_mut().map_err(|error| error.clone())?;
        let source = source.as_mut().ok_or_else(none)?;
        let called = catch_unwind(AssertUnwindSafe(|| call(&mut **source)));
        self.failed = called.is_err();
        called.map_err(|_| Error::Panicked)
    }

    /// A buffer for a read.
    pub(crate) fn make(&mut self, len: usize) -> Result<BlockBuffer, Error> {
        self.last_id += 1;
        let refused = |_| Hash::OutOfMemory { bytes: len as u64 };
        let memory = self.call(|source| source.memory(len))?.map_err(refused)?;
        Ok(BlockBuffer { memory, id: self.last_id })
    }

    /// Lets all reads begin.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.call(|source| source.flush())
    }

    /// Says which buffers will be used from now on.
    pub(crate) fn keep(&mut self, first: usize, ids: &[u64]) -> Result<(), Error> {
        self.call(|source| source.keep(first, ids))
    }

    /// Adds the reads that have ended.
    pub(crate) fn collect(&mut self, wait: bool, ended: &mut Vec<Completion>) {
        if self.depth > 0 {
            // `call` records failures.
            let _ = self.call(|source| source.collect(wait, ended));
        }
    }
}
