//! Detecting whether this process made something, or was forked from the one that did.
#![allow(unsafe_code, reason = "a page that the system clears for a forked process")]

/// A process, identified by more than its id: an owner of threads uses it to find out whether they
/// are in this process, or in the one from which it was forked.
pub struct Process {
    id: u32,
    /// `None` where the system has no such pages.
    page: Option<page::Marked>,
}

impl Process {
    /// This process. Takes a page of memory where the system clears pages in forked processes.
    #[must_use]
    pub fn current() -> Self {
        Process { id: std::process::id(), page: page::Marked::new() }
    }

    /// Whether this is still it.
    ///
    /// The id alone is not enough: in its own namespace, a forked process can have the same one.
    /// The page alone is not enough after vfork(2), where both share all memory.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.page.as_ref().is_none_or(page::Marked::is_marked) && std::process::id() == self.id
    }
}

#[cfg(all(feature = "os", target_os = "linux"))]
mod page {
    use std::ptr::{NonNull, null_mut};
    use std::sync::atomic::{AtomicU32, Ordering};

    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

    /// Any size up to that of a page is a page.
    const LEN: usize = size_of::<AtomicU32>();

    const MARK: u32 = 0x5a17;

    /// A page with a mark in it, which is a page of zeros in a forked process (MADV_WIPEONFORK,
    /// Linux 4.14).
    pub(super) struct Marked(NonNull<AtomicU32>);

    // SAFETY: the page belongs to this value, and is changed by nobody but the system.
    unsafe impl Send for Marked {}
    // SAFETY: as above; it is read by an atomic load.
    unsafe impl Sync for Marked {}

    impl Marked {
        pub(super) fn new() -> Option<Self> {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: a new mapping at an address of the system's choice touches nothing that
            // exists.
            let start = unsafe { mmap_anonymous(null_mut(), LEN, access, MapFlags::PRIVATE) };
            let page = Marked(NonNull::new(start.ok()?.cast())?);
            // SAFETY: the page is this mapping. Before Linux 4.14 it is refused.
            unsafe { madvise(page.0.as_ptr().cast(), LEN, Advice::LinuxWipeOnFork) }.ok()?;
            page.mark().store(MARK, Ordering::Relaxed);
            Some(page)
        }

        pub(super) fn is_marked(&self) -> bool {
            self.mark().load(Ordering::Relaxed) == MARK
        }

        fn mark(&self) -> &AtomicU32 {
            // SAFETY: mapped for as long as `self` is, aligned to a page, and zero at first.
            unsafe { self.0.as_ref() }
        }
    }

    impl Drop for Marked {
        fn drop(&mut self) {
            // SAFETY: the whole mapping, which nothing refers to any more.
            let _ = unsafe { munmap(self.0.as_ptr().cast(), LEN) };
        }
    }
}

#[cfg(not(all(feature = "os", target_os = "linux")))]
mod page {
    /// There is none.
    pub(super) enum Marked {}

    impl Marked {
        pub(super) fn new() -> Option<Self> {
            None
        }

        pub(super) fn is_marked(&self) -> bool {
            match *self {}
        }
    }
}
