//! The common interface of the structs of `blake2.h`.

/// A struct that takes a message in pieces. If programs write into it, the result can be a wrong
/// hash or none, and nothing worse.
pub(super) trait Running: Copy {
    /// Begins with these output and key lengths; `None` if they are not allowed.
    fn begin(outlen: usize, keylen: Option<usize>) -> Option<Self>;

    /// The key, before anything else. It stays in the struct until [`Running::wipe`].
    fn absorb_key(&mut self, key: &[u8]) -> Option<()>;

    /// Adds to the message; `None` if the struct is not a valid state.
    fn absorb(&mut self, data: &[u8]) -> Option<()>;

    /// Passes on the output in pieces with their offsets, for room of `outlen` bytes; `None` if the
    /// struct is not a valid state, or has ended.
    fn close(&mut self, outlen: usize, give: impl FnMut(usize, &[u8])) -> Option<()>;

    /// Wipes a copy, which may hold the key.
    fn wipe(&mut self);
}
