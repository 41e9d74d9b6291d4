//! Allocating and freeing the bytes of an arena.
#![allow(unsafe_code, reason = "mapping memory, or allocating it")]

use core::ptr::NonNull;

/// Zeroed memory, returned to the system on drop.
///
/// On Linux with the feature `os` it is a separate anonymous mapping, so that the process shrinks
/// as soon as it is dropped. The allocator, which is used everywhere else, may keep what is freed,
/// and glibc's does so for every thread: hashes of several sizes in several threads then add up to
/// many times a pool's budget.
pub(super) struct Region {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a region owns its memory, and hands out no more than its address.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// This many zero bytes, at least one, at a multiple of `align` if the system can do that
    /// without keeping more than these bytes. `None` if the system has no more, or for more than a
    /// slice can have, which systems with 32-bit addresses may grant.
    pub(super) fn new(bytes: usize, align: usize) -> Option<Self> {
        isize::try_from(bytes).ok()?;
        system::take(bytes, align).map(|start| Region { start, bytes })
    }

    /// The address of the first byte: a multiple of [`ALIGN`] at least.
    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The number of bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        #[cfg(test)]
        tests::look(self);
        // SAFETY: this region has these bytes from `take`, and ends here.
        unsafe { system::give_back(self.start, self.bytes) }
    }
}

/// The alignment that every region has.
pub(super) use system::ALIGN;

#[cfg(all(feature = "os", target_os = "linux"))]
mod system {
    use core::ptr::{NonNull, null_mut};

    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

    /// Mappings begin at a page, of 4 KiB or more.
    pub(in super::super) const ALIGN: usize = 4096;

    /// With a larger alignment, the bytes are mapped again at the next address below that has it.
    /// That is a wish: where it is taken they are somewhere else. At no time is more mapped than
    /// these bytes, which is all that a limit on memory may allow.
    pub(super) fn take(bytes: usize, align: usize) -> Option<NonNull<u8>> {
        if align <= ALIGN {
            return map(bytes);
        }
        let first = map(bytes)?;
        let over = first.addr().get() % align;
        if over == 0 {
            return Some(first);
        }
        // SAFETY: the mapping made just now, to which nothing refers.
        unsafe { give_back(first, bytes) };
        map_at(first.as_ptr().wrapping_sub(over).cast(), bytes)
    }

    fn map(bytes: usize) -> Option<NonNull<u8>> {
        map_at(null_mut(), bytes)
    }

    fn map_at(hint: *mut core::ffi::c_void, bytes: usize) -> Option<NonNull<u8>> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the system's choice touches nothing that exists.
        let start = unsafe { mmap_anonymous(hint, bytes, access, MapFlags::PRIVATE) };
        NonNull::new(start.ok()?.cast())
    }

    /// # Safety
    /// The bytes are those of one call of [`take`] or a part of them, and nothing refers to them
    /// any more.
    pub(super) unsafe fn give_back(start: NonNull<u8>, bytes: usize) {
        // SAFETY: by the contract above, mapped pages. If it is refused, as it is for none, they
        // merely remain.
        let _ = unsafe { munmap(start.as_ptr().cast(), bytes) };
    }
}

#[cfg(not(all(feature = "os", target_os = "linux")))]
mod system {
    use alloc::alloc::{alloc_zeroed, dealloc};
    use core::alloc::Layout;
    use core::ptr::NonNull;

    /// With a larger alignment, the system allocator would write zeros to fresh pages that are zero
    /// already.
    pub(in super::super) const ALIGN: usize = 16;

    fn layout(bytes: usize) -> Option<Layout> {
        Layout::from_size_align(bytes, ALIGN).ok().filter(|layout| layout.size() > 0)
    }

    pub(super) fn take(bytes: usize, _: usize) -> Option<NonNull<u8>> {
        // SAFETY: the size is not zero.
        NonNull::new(unsafe { alloc_zeroed(layout(bytes)?) })
    }

    /// # Safety
    /// The bytes are those of one call of [`take`], and nothing refers to them any more.
    pub(super) unsafe fn give_back(start: NonNull<u8>, bytes: usize) {
        if let Some(layout) = layout(bytes) {
            // SAFETY: by the contract above, allocated with this layout.
            unsafe { dealloc(start.as_ptr(), layout) }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    //! What is in regions that go back to the system.

    use core::cell::Cell;

    use super::{ALIGN, Region};

    std::thread_local! {
        /// Regions that this thread gave back, and how many of them held a byte other than 0.
        static GIVEN: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    }

    pub(super) fn look(region: &Region) {
        // SAFETY: all bytes of a region are initialised, being zero at first.
        let bytes = unsafe { core::slice::from_raw_parts(region.start(), region.bytes()) };
        let (given, dirty) = GIVEN.get();
        GIVEN.set((given + 1, dirty + usize::from(bytes.iter().any(|byte| *byte != 0))));
    }

    /// How many regions this thread gave back while `work` ran, and how many were not all zeros.
    pub(in crate::core::memory) fn given_back(work: impl FnOnce()) -> (usize, usize) {
        let before = GIVEN.get();
        work();
        let after = GIVEN.get();
        (after.0 - before.0, after.1 - before.1)
    }

    #[test]
    fn a_region_is_zero_at_first_and_looked_at_in_the_end() {
        let dirty = |written: bool| {
            given_back(|| {
                let region = Region::new(100_000, ALIGN).unwrap();
                assert!(region.start().addr().is_multiple_of(ALIGN) && region.bytes() == 100_000);
                // SAFETY: the last byte of the region.
                unsafe { *region.start().add(99_999) |= u8::from(written) };
            })
        };
        assert_eq!((dirty(false), dirty(true)), ((1, 0), (1, 1)));
        assert!(Region::new(isize::MAX as usize, ALIGN).is_none());
        // On 32 bits the system might have as much: what `RomImage::zeroed` would be given.
        for bytes in [isize::MAX as usize + 1, usize::MAX / 5 * 3, usize::MAX] {
            for align in [ALIGN, 2 << 20] {
                assert!(Region::new(bytes, align).is_none(), "{bytes} {align}");
            }
        }
    }
}
