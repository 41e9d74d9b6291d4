//! Hashers as [`io::Write`], so that `io::copy` can feed them, and the output of BLAKE2X as
//! [`io::Read`].
//!
//! ```
//! use saltern_blake2::blake2s;
//! let mut hasher = blake2s::Hasher::new();
//! std::io::copy(&mut &b"a file"[..], &mut hasher)?;
//! assert_eq!(hasher.finalize(), blake2s::hash(b"a file"));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io;

use crate::variant::Variant;
use crate::{hasher, tree, xof};

/// The same implementation for everything that has `update`.
macro_rules! write {
    ($($hasher:ty),+) => {
        $(
            /// Appends to the message; never fails.
            impl<V: Variant> io::Write for $hasher {
                fn write(&mut self, data: &[u8]) -> io::Result<usize> {
                    self.update(data);
                    Ok(data.len())
                }

                fn flush(&mut self) -> io::Result<()> {
                    Ok(())
                }
            }
        )+
    };
}

write!(hasher::Hasher<V>, tree::Hasher<V>, xof::Hasher<V>);

/// Reads up to the end of the output; never fails.
impl<V: Variant> io::Read for xof::Reader<V> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = usize::try_from(self.remaining()).unwrap_or(usize::MAX).min(out.len());
        self.fill(&mut out[..length]).map_err(io::Error::other)?;
        Ok(length)
    }
}
