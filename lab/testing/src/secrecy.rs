//! Whether code keeps secrets from its branches and addresses, and so from its time: under
//! valgrind's memcheck secrets are marked as undefined, and each branch and each address that
//! depends on one is counted. Without valgrind nothing is marked and nothing counted.
//!
//! `scripts/test secrets` runs the tests that use this.
#![allow(unsafe_code, reason = "requests to valgrind are a sequence of instructions")]

/// valgrind.h and memcheck.h number the requests.
const RUNNING_ON_VALGRIND: usize = 0x1001;
const COUNT_ERRORS: usize = 0x1201;
const MAKE_MEM_UNDEFINED: usize = 0x4d43_0001;
const MAKE_MEM_DEFINED: usize = 0x4d43_0002;

/// Marks bytes as secret, and everything that is computed from them.
pub fn hide(secret: &mut [u8]) {
    request(MAKE_MEM_UNDEFINED, secret.as_ptr(), secret.len());
}

/// A result that need not be secret: it may be compared.
#[must_use]
pub fn reveal<T: Copy>(result: T) -> T {
    request(MAKE_MEM_DEFINED, (&raw const result).cast(), size_of::<T>());
    result
}

/// Whether valgrind is watching.
#[must_use]
pub fn is_watched() -> bool {
    request(RUNNING_ON_VALGRIND, std::ptr::null(), 0) != 0
}

/// How many times `work` branched on a secret, or used one as an address. Other threads are
/// counted, too: tests run one after another (`--test-threads=1`).
pub fn leaks(work: impl FnOnce()) -> usize {
    let before = request(COUNT_ERRORS, std::ptr::null(), 0);
    work();
    request(COUNT_ERRORS, std::ptr::null(), 0) - before
}

/// Asks valgrind; 0 without it.
#[inline(never)]
fn request(request: usize, memory: *const u8, bytes: usize) -> usize {
    let mut answer = 0;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let arguments = [request, memory.expose_provenance(), bytes, 0, 0, 0];
        // SAFETY: without valgrind these instructions do nothing but change the flags: rdi is
        // rotated by 128 bits in all. Valgrind reads the six arguments and puts its answer in rdx.
        unsafe {
            std::arch::asm!(
                "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
                inout("rdi") 0_usize => _,
                in("rax") arguments.as_ptr(),
                inout("rdx") answer,
                options(nostack),
            );
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (request, memory, bytes, &mut answer);
    answer
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn secrecy_of_a_branch_and_of_an_address_is_seen_to_be_broken() {
        let mut secret = [7];
        hide(&mut secret);
        let table = [0_u8; 256];
        let branched = leaks(|| {
            if black_box(secret[0]) == 3 {
                black_box(());
            }
        });
        let read = leaks(|| _ = black_box(table[usize::from(black_box(secret[0]))]));
        let neither = leaks(|| _ = black_box(reveal(black_box(secret[0]) ^ 3)));
        assert_eq!((branched > 0, read > 0), (is_watched(), is_watched()));
        assert_eq!(neither, 0);
    }
}
