//! The definition: a word is a vector of one lane, so an array of four words is a row.

use crate::lanes::{Diagonal, Lanes, Vector, Word};

/// The same code for `u32` and `u64`, whose methods are not in a standard trait.
macro_rules! word {
    ($word:ident, $block_bytes:literal) => {
        impl Word for $word {
            type Block = [u8; $block_bytes];
            const BYTES: usize = $block_bytes / 16;
            const ZERO_BLOCK: Self::Block = [0; $block_bytes];

            #[inline(always)]
            fn truncate(value: u128) -> Self {
                value as $word
            }

            #[inline(always)]
            fn to_u64(self) -> u64 {
                self.into()
            }

            #[inline(always)]
            fn first_block(bytes: &[u8]) -> Option<&Self::Block> {
                bytes.first_chunk()
            }

            #[inline(always)]
            fn write(words: &[Self], bytes: &mut [u8]) {
                for (chunk, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
                    *chunk = word.to_le_bytes();
                }
            }

            #[inline(always)]
            fn of_block(block: &Self::Block, index: usize) -> Self {
                $word::from_le_bytes(block.as_chunks().0[index])
            }
        }

        impl Vector for $word {
            type Token = ();
            type Word = $word;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }

            #[inline(always)]
            fn rotate_right(self, bits: u32) -> Self {
                $word::rotate_right(self, bits)
            }
        }

        impl Lanes for $word {
            const COUNT: usize = 1;

            #[inline(always)]
            fn splat((): (), word: $word) -> Self {
                word
            }

            #[inline(always)]
            fn load((): (), words: &[$word]) -> Self {
                words[0]
            }

            #[inline(always)]
            fn store(self, words: &mut [$word]) {
                words[0] = self;
            }

            #[inline(always)]
            fn first(self) -> $word {
                self
            }

            #[inline(always)]
            fn message((): (), blocks: &[&[u8; $block_bytes]]) -> [Self; 16] {
                let mut words = [0; 16];
                for (index, word) in words.iter_mut().enumerate() {
                    *word = $word::of_block(blocks[0], index);
                }
                words
            }
        }
    };
}

word!(u32, 64);
word!(u64, 128);

impl Diagonal for [u32; 4] {
    const STATES: usize = 1;

    #[inline(always)]
    fn gather((): (), memory: impl Fn(usize) -> [u64; 2]) -> Self {
        let [a, b] = memory(0);
        [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]
    }

    #[inline(always)]
    fn scatter(self, mut put: impl FnMut(usize, [u64; 2])) {
        let pair = |low, high| u64::from(low) | u64::from(high) << 32;
        let [a, b, c, d] = self;
        put(0, [pair(a, b), pair(c, d)]);
    }
}
