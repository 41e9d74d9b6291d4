//! BLAKE2 and its peers on messages in memory: Saltern, blake2b_simd and blake2s_simd, RustCrypto's
//! `blake2`, and `blake3` for context.

use std::hint::black_box;

use ::blake2::Digest;
use anyhow::Context;
use saltern_blake2::generic::Params;
use saltern_blake2::{Level, blake2b, blake2bp, blake2s, blake2sp, many};

use super::{Engine, Setup, Task};
use crate::stats::Random;
use crate::work::{Message, Variant, Work};

/// Takes a hash, so that it had to be computed.
pub type Keep<'k> = &'k mut dyn FnMut(&[u8]);

/// Hashes messages and hands out their hashes in order.
pub type Hash = Box<dyn FnMut(&[&[u8]], Keep<'_>) + Send>;

/// Offsets are taken within a page.
pub const PAGE: usize = 4096;

/// Bytes without order from which messages are cut at any offset within a page.
pub struct Input {
    memory: Vec<u8>,
    start: usize,
}

impl Input {
    /// For all messages of a call.
    #[must_use]
    pub fn new(message: &Message) -> Self {
        let len = message.bytes * message.messages + 2 * PAGE;
        let mut random = Random::new(7);
        let mut memory = vec![0; len];
        // The same bytes from the page on, wherever that is.
        let start = memory.as_ptr().align_offset(PAGE);
        for chunk in memory[start..].chunks_mut(8) {
            chunk.copy_from_slice(&random.next_u64().to_le_bytes()[..chunk.len()]);
        }
        Self { memory, start }
    }

    /// `len` bytes that begin `offset` bytes into a page.
    #[must_use]
    pub fn at(&self, offset: usize, len: usize) -> &[u8] {
        let start = self.start + offset % PAGE;
        &self.memory[start..start + len]
    }
}

/// The messages of a call, one after the other in memory.
#[must_use]
pub fn messages<'i>(input: &'i Input, message: &Message, offset: usize) -> Vec<&'i [u8]> {
    let all = input.at(offset, message.bytes * message.messages);
    (0..message.messages).map(|i| &all[i * message.bytes..(i + 1) * message.bytes]).collect()
}

/// The task of an engine that has a function for messages.
pub(super) fn task(engine: &dyn Engine, message: &Message) -> anyhow::Result<Box<dyn Task>> {
    let refused = || format!("{} does not compute {}", engine.name(), message.variant.name());
    let hash = engine.hash(message).with_context(refused)?;
    Ok(Box::new(Messages { message: *message, hash, input: Input::new(message) }))
}

/// Messages at another offset within a page in each call, because throughput depends on it.
struct Messages {
    message: Message,
    hash: Hash,
    input: Input,
}

impl Task for Messages {
    fn together(&self) -> usize {
        self.message.messages
    }

    fn run(&mut self, call: u64) -> anyhow::Result<()> {
        let offset = Random::new(call).below(PAGE);
        let mut keep = |hash: &[u8]| {
            black_box(hash);
        };
        if self.message.messages == 1 {
            (self.hash)(&[self.input.at(offset, self.message.bytes)], &mut keep);
        } else {
            (self.hash)(&messages(&self.input, &self.message, offset), &mut keep);
        }
        Ok(())
    }

    fn answers(&mut self, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        let mut hashes = Vec::new();
        let mut keep = |hash: &[u8]| hashes.push(hash.to_vec());
        (self.hash)(&messages(&self.input, &self.message, 0), &mut keep);
        hashes.truncate(count);
        Ok(hashes)
    }
}

/// One message after the other.
fn each(mut hash: impl FnMut(&[u8], Keep<'_>) + Send + 'static) -> Hash {
    Box::new(move |messages, keep| {
        for message in messages {
            hash(message, keep);
        }
    })
}

/// Saltern's function at a level.
pub(super) fn saltern(message: &Message, level: Level) -> Option<Hash> {
    macro_rules! one {
        ($module:ident) => {{
            let params = $module::Params::new().level(level).ok()?;
            each(move |data, keep| keep(params.hash(data).as_bytes()))
        }};
    }
    Some(match (message.variant, message.messages) {
        (Variant::Blake2b, 1) => one!(blake2b),
        (Variant::Blake2s, 1) => one!(blake2s),
        (Variant::Blake2b, _) => side_by_side::<saltern_blake2::Blake2b>(level)?,
        (Variant::Blake2s, _) => side_by_side::<saltern_blake2::Blake2s>(level)?,
        (Variant::Blake2bp, _) => one!(blake2bp),
        (Variant::Blake2sp, _) => one!(blake2sp),
        (Variant::Blake3, _) => return None,
    })
}

/// Many messages at once.
fn side_by_side<V: saltern_blake2::Variant>(level: Level) -> Option<Hash> {
    let params = Params::<V>::new().level(level).ok()?;
    Some(Box::new(move |messages, keep| {
        let mut jobs: Vec<_> = messages.iter().map(|data| many::Job::new(&params, data)).collect();
        many::hash_many(&mut jobs);
        jobs.iter().for_each(|job| keep(job.hash().as_bytes()));
    }))
}

/// A crate with BLAKE2 or BLAKE3.
pub(super) struct MessagePeer {
    name: &'static str,
    /// None for what it does not compute.
    hash: fn(&Message) -> Option<Hash>,
}

impl Engine for MessagePeer {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn computes(&self, work: &Work) -> bool {
        let Work::Message(message) = work else { return false };
        !message.file && self.hash(message).is_some()
    }

    fn task(&self, work: &Work, _: &Setup) -> anyhow::Result<Box<dyn Task>> {
        match work {
            Work::Message(message) => task(self, message),
            _ => anyhow::bail!("{} hashes messages only", self.name()),
        }
    }

    fn hash(&self, message: &Message) -> Option<Hash> {
        (self.hash)(message)
    }
}

/// blake2b_simd and blake2s_simd, which have SSE4.1 and AVX2.
pub(super) const SIMD: MessagePeer = MessagePeer { name: "blake2_simd", hash: simd };

/// RustCrypto's `blake2`, portable code.
pub(super) const RUST_CRYPTO: MessagePeer = MessagePeer {
    name: "crate blake2",
    hash: |message| match message.variant {
        Variant::Blake2b => Some(each(|data, keep| keep(&::blake2::Blake2b512::digest(data)))),
        Variant::Blake2s => Some(each(|data, keep| keep(&::blake2::Blake2s256::digest(data)))),
        _ => None,
    },
};

/// Another function, in one thread.
pub(super) const BLAKE3: MessagePeer = MessagePeer {
    name: "crate blake3",
    hash: |message| {
        let blake3 = || each(|data, keep| keep(blake3::hash(data).as_bytes()));
        (message.variant == Variant::Blake3).then(blake3)
    },
};

fn simd(message: &Message) -> Option<Hash> {
    macro_rules! many {
        ($library:ident) => {{
            let params = $library::Params::new();
            Box::new(move |messages, keep| {
                let job = |data| $library::many::HashManyJob::new(&params, data);
                let mut jobs: Vec<_> = messages.iter().map(|data: &&[u8]| job(*data)).collect();
                $library::many::hash_many(jobs.iter_mut());
                jobs.iter().for_each(|job| keep(job.to_hash().as_bytes()));
            })
        }};
    }
    Some(match (message.variant, message.messages) {
        (Variant::Blake2b, 1) => each(|data, keep| keep(blake2b_simd::blake2b(data).as_bytes())),
        (Variant::Blake2s, 1) => each(|data, keep| keep(blake2s_simd::blake2s(data).as_bytes())),
        (Variant::Blake2bp, _) => {
            each(|data, keep| keep(blake2b_simd::blake2bp::blake2bp(data).as_bytes()))
        }
        (Variant::Blake2sp, _) => {
            each(|data, keep| keep(blake2s_simd::blake2sp::blake2sp(data).as_bytes()))
        }
        (Variant::Blake2b, _) => many!(blake2b_simd),
        (Variant::Blake2s, _) => many!(blake2s_simd),
        (Variant::Blake3, _) => return None,
    })
}
