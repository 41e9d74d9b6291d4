//! Bytes that are wiped, and leave no copies behind when they grow.

use saltern_wipe::Zeroizing;

/// A password: bytes that are wiped when dropped.
pub(crate) type Password = Zeroizing<Vec<u8>>;

/// Append a byte; if the buffer must grow, the old one is wiped.
pub(crate) fn push(line: &mut Password, byte: u8) {
    if line.len() == line.capacity() {
        let mut grown = Zeroizing::new(Vec::with_capacity(2 * line.capacity()));
        grown.extend_from_slice(line);
        *line = grown;
    }
    line.push(byte);
}
