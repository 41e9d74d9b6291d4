//! Four 32-bit words, such as one diagonal of a Salsa20 matrix, in one register; or those of
//! several matrices.

/// Four 32-bit words of each state, `w[0]` first. Additions are modulo 2^32.
///
/// Memory is seen as pairs of 64-bit lanes, the even word in the low half, so that the meaning does
/// not depend on the byte order of the machine.
pub trait Row: Copy {
    /// Proof that the processor has the instructions.
    type Token: Copy;
    /// The number of states, which are independent.
    const STATES: usize;
    /// For each state `[lo(m[0]), hi(m[0]), lo(m[1]), hi(m[1])]`, `m` being its memory.
    fn load(token: Self::Token, memory: impl Fn(usize) -> [u64; 2]) -> Self;
    /// The inverse of [`Row::load`].
    fn store(self, put: impl FnMut(usize, [u64; 2]));
    /// `w[i] + o[i]`
    fn add(self, other: Self) -> Self;
    /// `w[i] ^ o[i]`
    fn xor(self, other: Self) -> Self;
    /// `w[i] <<< BITS`, rotated; `BITS` from 1 to 31.
    fn rotate_left<const BITS: u32>(self) -> Self;
    /// `[w[1], w[2], w[3], w[0]]`
    fn lanes_left_1(self) -> Self;
    /// `[w[2], w[3], w[0], w[1]]`
    fn lanes_left_2(self) -> Self;
    /// `[w[3], w[0], w[1], w[2]]`
    fn lanes_left_3(self) -> Self;
}

/// The definition of [`Row`]: four words in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortableRow([u32; 4]);

impl Row for PortableRow {
    type Token = ();
    const STATES: usize = 1;

    #[inline(always)]
    fn load((): (), memory: impl Fn(usize) -> [u64; 2]) -> Self {
        let [a, b] = memory(0);
        Self([a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32])
    }

    #[inline(always)]
    fn store(self, mut put: impl FnMut(usize, [u64; 2])) {
        let pair = |low, high| u64::from(low) | u64::from(high) << 32;
        let [a, b, c, d] = self.0;
        put(0, [pair(a, b), pair(c, d)]);
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a.wrapping_add(e), b.wrapping_add(f), c.wrapping_add(g), d.wrapping_add(h)])
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a ^ e, b ^ f, c ^ g, d ^ h])
    }

    #[inline(always)]
    fn rotate_left<const BITS: u32>(self) -> Self {
        let [a, b, c, d] = self.0;
        Self([a.rotate_left(BITS), b.rotate_left(BITS), c.rotate_left(BITS), d.rotate_left(BITS)])
    }

    #[inline(always)]
    fn lanes_left_1(self) -> Self {
        let [a, b, c, d] = self.0;
        Self([b, c, d, a])
    }

    #[inline(always)]
    fn lanes_left_2(self) -> Self {
        let [a, b, c, d] = self.0;
        Self([c, d, a, b])
    }

    #[inline(always)]
    fn lanes_left_3(self) -> Self {
        let [a, b, c, d] = self.0;
        Self([d, a, b, c])
    }
}
