//! What the structs of `blake2.h` have in common.

/// A struct that takes a message in pieces. What programs write into it can give a wrong hash or
/// none, and nothing worse.
pub(super) trait Running: Copy {
    /// Begins with an output and a key of so many bytes; none where there is no such output or key.
    fn begin(outlen: usize, keylen: Option<usize>) -> Option<Self>;

    /// The key, before anything else. It stays in the struct until [`Running::wipe`].
    fn absorb_key(&mut self, key: &[u8]) -> Option<()>;

    /// More of the message; none if the struct is no state.
    fn absorb(&mut self, data: &[u8]) -> Option<()>;

    /// Gives the output, with the place of each piece, where there is room for `outlen` bytes; none
    /// if the struct is no state, or has ended.
    fn close(&mut self, outlen: usize, give: impl FnMut(usize, &[u8])) -> Option<()>;

    /// Wipes a copy, which may hold the key.
    fn wipe(&mut self);
}
