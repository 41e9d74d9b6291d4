//! Who computes: Saltern at its levels, the reference, and the peers, all behind one trait.
//!
//! To add one: implement [`Engine`] in `engine/<name>.rs` and list it in [`find`]. Whatever an
//! engine computes is compared with the answers of the others, or of the reference, before it is
//! measured.

pub mod blake2;
pub mod cats;
pub mod crates;
pub mod file;
pub mod libraries;
pub mod reference;
mod resumable;
pub mod rom;
pub mod saltern;

use std::ffi::{CStr, CString, OsString};
use std::hint::black_box;
use std::sync::Arc;

use anyhow::bail;
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

/// The task of what computes one hash at a time.
struct OneByOne<F> {
    work: Work,
    input: Vec<Input>,
    hash: F,
}

/// Has `hash` compute the hashes of some work, each into the 32 bytes that it is given.
fn one_by_one<F>(work: &Work, hash: F) -> anyhow::Result<Box<dyn Task>>
where
    F: FnMut(&Input, &mut [u8; 32]) -> anyhow::Result<()> + Send + 'static,
{
    Ok(Box::new(OneByOne { work: work.clone(), input: inputs(work, 1)?, hash }))
}

impl<F> Task for OneByOne<F>
where
    F: FnMut(&Input, &mut [u8; 32]) -> anyhow::Result<()> + Send,
{
    fn run(&mut self, _: u64) -> anyhow::Result<()> {
        let mut hash = [0; 32];
        (self.hash)(&self.input[0], &mut hash)?;
        black_box(hash);
        Ok(())
    }

    fn answers(&mut self, count: usize) -> anyhow::Result<Vec<Vec<u8>>> {
        let answer = |input| {
            let mut hash = [0; 32];
            (self.hash)(input, &mut hash)?;
            Ok(hash.to_vec())
        };
        inputs(&self.work, count)?.iter().map(answer).collect()
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
        "twocats" => Ok(Arc::new(cats::Cats)),
        "crate yescrypt" => Ok(Arc::new(crates::Crate::Yescrypt)),
        "crate scrypt" => Ok(Arc::new(crates::Crate::Scrypt)),
        "crate argon2" => Ok(Arc::new(crates::Crate::Argon2)),
        "blake2_simd" => Ok(Arc::new(blake2::Peer::Simd)),
        "crate blake2" => Ok(Arc::new(blake2::Peer::RustCrypto)),
        "crate blake3" => Ok(Arc::new(blake2::Peer::Blake3)),
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
        let Work::Yescrypt(params, None) = work else {
            return Ok(Input { password, salt: salt.into(), setting: None });
        };
        let setting = match params.mode {
            Mode::Classic => Setting::scrypt(params, salt).ok(),
            _ => Setting::new(params, salt).ok(),
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
