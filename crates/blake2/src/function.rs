//! All differences between BLAKE2b and BLAKE2s.

use saltern_simd::lanes::{Lanes, Word};
use saltern_wipe::Zero;

/// The constants in which BLAKE2b and BLAKE2s differ.
///
/// RFC 7693, section 2.1, gives the constants; lengths that follow from the word size are methods
/// of this trait.
pub trait Function: sealed::Sealed + Copy + Send + Sync + Sized + 'static {
    /// `u64` or `u32`.
    type Word: Word + Lanes<Word = Self::Word, Token = ()> + Zero;
    /// Rounds of the compression function.
    const ROUNDS: usize;
    /// The four rotations of the mixing function, to the right.
    const ROTATIONS: [u32; 4];
    /// The initial value.
    const IV: [Self::Word; 8];
    /// Leaves of the parallel form (BLAKE2bp, BLAKE2sp).
    const LEAVES: usize;
    /// The largest node offset: 64 or 48 bits of the parameter block.
    const MAX_NODE_OFFSET: u64;
    /// Bits of the node offset that a BLAKE2X output length takes up, from bit 32.
    const XOF_LENGTH_BITS: u32;

    /// Bytes in a block: 128 or 64.
    const BLOCK_BYTES: usize = 16 * <Self::Word as Word>::BYTES;
    /// The longest output and the longest key, in bytes: 64 or 32.
    const OUT_BYTES: usize = 8 * <Self::Word as Word>::BYTES;
    /// Bytes of salt, and of personalisation: 16 or 8.
    const SALT_BYTES: usize = 2 * <Self::Word as Word>::BYTES;
    /// A word with all bits set, the value of a finalisation flag.
    const ALL_ONES: Self::Word;

    /// The word of the initial value that the lower part of the node offset goes into.
    #[doc(hidden)]
    const NODE_OFFSET_WORD: usize = 8 / <Self::Word as Word>::BYTES;
}

/// A block of the variant as bytes.
pub(crate) type Block<V> = <<V as Function>::Word as Word>::Block;

/// The eight words of chaining value.
pub(crate) type State<V> = [<V as Function>::Word; 8];

/// Bytes in a stripe: one block for every leaf.
pub(crate) const fn stripe<V: Function>() -> usize {
    V::LEAVES * V::BLOCK_BYTES
}

/// How many blocks at the front of so many bytes are not the last one: at least one byte follows.
pub(crate) const fn plain_blocks<V: Function>(bytes: usize) -> usize {
    bytes.saturating_sub(1) / V::BLOCK_BYTES
}

/// How many stripes at the front of `bytes` do not contain the last block of any leaf: each leaf
/// has at least one byte after them.
pub(crate) const fn plain_stripes<V: Function>(bytes: usize) -> usize {
    bytes.saturating_sub((V::LEAVES - 1) * V::BLOCK_BYTES + 1) / stripe::<V>()
}

/// BLAKE2b: 64-bit words, outputs of up to 64 bytes.
#[derive(Clone, Copy, Debug)]
pub enum Blake2b {}

impl Function for Blake2b {
    type Word = u64;
    const ROUNDS: usize = 12;
    const ROTATIONS: [u32; 4] = [32, 24, 16, 63];
    const IV: [u64; 8] = [
        0x6A09_E667_F3BC_C908,
        0xBB67_AE85_84CA_A73B,
        0x3C6E_F372_FE94_F82B,
        0xA54F_F53A_5F1D_36F1,
        0x510E_527F_ADE6_82D1,
        0x9B05_688C_2B3E_6C1F,
        0x1F83_D9AB_FB41_BD6B,
        0x5BE0_CD19_137E_2179,
    ];
    const LEAVES: usize = 4;
    const MAX_NODE_OFFSET: u64 = u64::MAX;
    const XOF_LENGTH_BITS: u32 = 32;
    const ALL_ONES: u64 = u64::MAX;
}

/// BLAKE2s: 32-bit words, outputs of up to 32 bytes.
#[derive(Clone, Copy, Debug)]
pub enum Blake2s {}

impl Function for Blake2s {
    type Word = u32;
    const ROUNDS: usize = 10;
    const ROTATIONS: [u32; 4] = [16, 12, 8, 7];
    const IV: [u32; 8] = [
        0x6A09_E667,
        0xBB67_AE85,
        0x3C6E_F372,
        0xA54F_F53A,
        0x510E_527F,
        0x9B05_688C,
        0x1F83_D9AB,
        0x5BE0_CD19,
    ];
    const LEAVES: usize = 8;
    const MAX_NODE_OFFSET: u64 = (1 << 48) - 1;
    const XOF_LENGTH_BITS: u32 = 16;
    const ALL_ONES: u32 = u32::MAX;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Blake2b {}
    impl Sealed for super::Blake2s {}
}
