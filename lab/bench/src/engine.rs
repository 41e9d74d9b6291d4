//! Who computes: Saltern at its levels, the reference, and the peers, all behind one trait.
//!
//! To add one: a `Peer` in `engine/<name>.rs` (one of messages: in `engine/blake2.rs`), and a line
//! in [`find`]. Whatever an engine computes is compared with the answers of the others, or of the
//! reference, before it is measured.

pub mod blake2;
mod cats;
mod crates;
mod file;
mod libraries;
mod reference;
mod resumable;
pub mod rom;
pub mod saltern;

use std::ffi::{CStr, CString, OsString};
use std::hint::black_box;
use std::sync::Arc;

use anyhow::{bail, ensure};
use saltern_yescrypt::{
    Setting,
    hazmat::{Level, Pages},
    params::Mode,
};

use crate::work::{Message, Work};
use rom::RomMemory;

/// An implementation of some kinds of work.
pub trait Engine: Send + Sync {
    /// As in cases and records.
    fn name(&self) -> String;

    /// Whether it does work like this at all.
    fn computes(&self, work: &Work) -> bool;

    /// Memory and all else that one thread needs to do the work again and again.
    ///
    /// # Errors
    /// What the implementation refuses.
    fn task(&self, work: &Work, setup: &Setup) -> anyhow::Result<Box<dyn Task>>;

    /// For messages in memory: the bare function.
    fn hash(&self, _: &Message) -> Option<blake2::Hash> {
        None
    }
}

/// What one thread does again and again.
pub trait Task: Send {
    /// How many hashes each call computes.
    fn together(&self) -> usize {
        1
    }

    /// Computes that many hashes. What is to vary from call to call is derived from the number of
    /// the call.
    ///
    /// # Errors
    /// What the implementation refuses, which ends the measurement.
    fn run(&mut self, call: u64) -> anyhow::Result<()>;

    /// The hashes of the first `count` inputs, computed as in [`Task::run`].
    ///
    /// # Errors
    /// What the implementation refuses.
    fn answers(&mut self, count: usize) -> anyhow::Result<Vec<Vec<u8>>>;
}

/// Computes the hash of an input, in memory that it keeps.
type HashOne = Box<dyn FnMut(&Input) -> anyhow::Result<[u8; 32]> + Send>;

/// A peer that computes one hash at a time.
struct Peer<F> {
    name: &'static str,
    computes: fn(&Work) -> bool,
    /// What a thread needs for some work.
    open: F,
}

impl<F: Fn(&Work) -> anyhow::Result<HashOne> + Send + Sync> Engine for Peer<F> {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn computes(&self, work: &Work) -> bool {
        (self.computes)(work)
    }

    fn task(&self, work: &Work, _: &Setup) -> anyhow::Result<Box<dyn Task>> {
        ensure!(self.computes(work), "{} does not compute this", self.name);
        let hash = (self.open)(work)?;
        Ok(Box::new(OneByOne { work: work.clone(), input: inputs(work, 1)?, hash }))
    }
}

/// The task of such a peer.
struct OneByOne {
    work: Work,
    input: Vec<Input>,
    hash: HashOne,
}

impl Task for OneByOne {
    fn run(&mut self, _: u64) -> anyhow::Result<()> {
        black_box((self.hash)(&self.input[0])?);
        Ok(())
    }

    fn answers(&mut self, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        let inputs = inputs(&self.work, count)?;
        inputs.iter().map(|input| Ok((self.hash)(input)?.to_vec())).collect()
    }
}

/// How the work is to be done.
#[derive(Clone, Default)]
pub struct Setup {
    /// How many hashes advance at once in one thread; none for what is best.
    pub together: Option<usize>,
    /// Pages of the memory of a hash; none for what the engine takes by itself.
    pub pages: Option<Pages>,
    /// The ROM, for work that has one.
    pub rom: Option<Arc<RomMemory>>,
}

/// Where peers are looked for.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// A shared library with yescrypt's own C interface; if none, that of the Python package
    /// pyescrypt.
    pub upstream: Option<OsString>,
}

/// An engine, or why there is none of that name on this system.
pub type Found = Result<Arc<dyn Engine>, String>;

/// The engine of a name.
///
/// # Errors
/// A name that is not known on any system.
pub fn find(name: &str, places: &Places) -> anyhow::Result<Found> {
    Ok(match name {
        "reference" => Ok(Arc::new(reference::Reference)),
        "crypt_r" => libraries::crypt_r(),
        "upstream C" => libraries::upstream(places),
        "libargon2" => libraries::libargon2(),
        "twocats" => Ok(Arc::new(cats::CATS)),
        "crate yescrypt" => Ok(Arc::new(crates::YESCRYPT)),
        "crate scrypt" => Ok(Arc::new(crates::SCRYPT)),
        "crate argon2" => Ok(Arc::new(crates::ARGON2)),
        "blake2_simd" => Ok(Arc::new(blake2::SIMD)),
        "crate blake2" => Ok(Arc::new(blake2::RUST_CRYPTO)),
        "crate blake3" => Ok(Arc::new(blake2::BLAKE3)),
        "saltern sum" | "b2sum" | "openssl" => file::Program::find(name),
        _ => {
            let mut words = name.split(' ');
            if words.next() != Some("saltern") {
                bail!("no engine is called {name:?}");
            }
            saltern::find(words)?
        }
    })
}

/// A password to be hashed.
pub struct Input {
    /// The password.
    pub password: CString,
    /// The salt as it goes into the computation.
    pub salt: Vec<u8>,
    /// Parameters and salt as text, where they have one that every implementation reads.
    pub setting: Option<CString>,
}

impl Input {
    /// The text of the setting.
    ///
    /// # Errors
    /// If the work has none.
    pub fn setting(&self) -> anyhow::Result<&CStr> {
        match &self.setting {
            Some(setting) => Ok(setting),
            None => bail!("these parameters have no text that other implementations read"),
        }
    }
}

/// The first so many inputs of some work, 256 at most: passwords of one length, each with a salt of
/// its own; `$7$` for classic scrypt, otherwise `$y$`.
///
/// # Errors
/// None that is expected.
pub fn inputs(work: &Work, count: usize) -> anyhow::Result<Vec<Input>> {
    let input = |number: u8| {
        let password = CString::new(format!("correct horse battery staple {number:3}"))?;
        let salt = [number; 16];
        let setting = match work {
            Work::Yescrypt(params, None) => match params.mode {
                Mode::Escrypt(_) => None,
                Mode::Classic => Setting::scrypt(params, salt).ok(),
                Mode::Rw | Mode::Worm => Setting::new(params, salt).ok(),
            },
            _ => None,
        };
        Ok(match setting {
            None => Input { password, salt: salt.into(), setting: None },
            Some(setting) => Input {
                password,
                salt: setting.salt().to_vec(),
                setting: Some(CString::new(setting.as_bytes())?),
            },
        })
    };
    (0..count.min(256)).map(|number| input(number as u8)).collect()
}

/// The level of a word such as `avx2`, if this processor has it.
fn level(word: &str) -> anyhow::Result<Result<Level, String>> {
    let level: Level = word.parse()?;
    Ok(level.require().map_err(|error| error.to_string()))
}

#[cfg(test)]
mod tests;
