//! One to eight 64-bit lanes as one value: an S-box entry of pwxform.
#![allow(
    unsafe_code,
    reason = "loads and stores through pointers whose validity the caller promises"
)]

/// `LANES` 64-bit lanes, lane 0 first. Additions are modulo 2^64.
pub trait Wide: Copy {
    /// Proof that the processor has the instructions.
    type Token: Copy;
    /// The number of lanes: 1, 2, 4 or 8.
    const LANES: usize;

    /// `[m[0], m[1], …]`
    ///
    /// # Safety
    /// `memory` is valid for reading `LANES` lanes and aligned to their `8 * LANES` bytes.
    unsafe fn load(token: Self::Token, memory: *const u64) -> Self;

    /// The inverse of [`Wide::load`].
    ///
    /// # Safety
    /// `memory` is valid for writing `LANES` lanes and aligned to their `8 * LANES` bytes.
    unsafe fn store(self, memory: *mut u64);

    /// `x[i] ^ o[i]`
    fn xor(self, other: Self) -> Self;
    /// `x[i] + o[i]`
    fn add(self, other: Self) -> Self;
    /// `hi(x[i]) * lo(x[i])`: the full 64-bit product of each lane's two 32-bit halves.
    fn multiply_halves(self) -> Self;
    /// `x[0]`
    fn first(self) -> u64;
}

/// The definition of [`Wide`]: lanes in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortableWide<const LANES: usize>([u64; LANES]);

impl<const LANES: usize> Wide for PortableWide<LANES> {
    type Token = ();
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn load((): (), memory: *const u64) -> Self {
        // SAFETY: the caller promises `LANES` readable, aligned lanes.
        Self(unsafe { memory.cast::<[u64; LANES]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, memory: *mut u64) {
        // SAFETY: the caller promises `LANES` writable, aligned lanes.
        unsafe { memory.cast::<[u64; LANES]>().write(self.0) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] ^ other.0[i]))
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i].wrapping_add(other.0[i])))
    }

    #[inline(always)]
    fn multiply_halves(self) -> Self {
        Self(self.0.map(|x| (x >> 32) * (x & 0xffff_ffff)))
    }

    #[inline(always)]
    fn first(self) -> u64 {
        self.0[0]
    }
}

/// `PARTS` narrower values side by side, for levels without registers of the full width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split<W, const PARTS: usize>([W; PARTS]);

impl<W: Wide, const PARTS: usize> Wide for Split<W, PARTS> {
    type Token = W::Token;
    const LANES: usize = PARTS * W::LANES;

    #[inline(always)]
    unsafe fn load(token: W::Token, memory: *const u64) -> Self {
        // SAFETY: the caller promises `PARTS * W::LANES` readable lanes, aligned to more than one
        // part.
        let part = |i| unsafe { W::load(token, memory.add(i * W::LANES)) };
        let mut parts = [part(0); PARTS];
        for (i, other) in parts.iter_mut().enumerate().skip(1) {
            *other = part(i);
        }
        Self(parts)
    }

    #[inline(always)]
    unsafe fn store(self, memory: *mut u64) {
        for (i, part) in self.0.into_iter().enumerate() {
            // SAFETY: the caller promises `PARTS * W::LANES` writable lanes, aligned to more than
            // one part.
            unsafe { part.store(memory.add(i * W::LANES)) }
        }
    }

    #[inline(always)]
    fn xor(mut self, other: Self) -> Self {
        for i in 0..PARTS {
            self.0[i] = self.0[i].xor(other.0[i]);
        }
        self
    }

    #[inline(always)]
    fn add(mut self, other: Self) -> Self {
        for i in 0..PARTS {
            self.0[i] = self.0[i].add(other.0[i]);
        }
        self
    }

    #[inline(always)]
    fn multiply_halves(mut self) -> Self {
        for part in &mut self.0 {
            *part = part.multiply_halves();
        }
        self
    }

    #[inline(always)]
    fn first(self) -> u64 {
        self.0[0].first()
    }
}
