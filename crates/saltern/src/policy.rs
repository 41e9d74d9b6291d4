//! The policy of a site: what new hashes cost, what stored ones may cost, and what there is to
//! compute them with.
//!
//! A policy is made in code, out of [`Policy::default`], or read from a file, [`Policy::read`]:
//!
//! ```toml
//! # saltern.toml. All of it is optional; what is not known here is refused.
//! schemes = ["yescrypt", "bcrypt"]     # what stored strings may be
//!
//! [params]                             # of new hashes
//! cost = 5                             # 1 to 11; or n, r, p and t
//!
//! [floor]                              # what is weaker is reported, and replaced at a login
//! cost = 3                             # or n, r, p and t
//! salt = 8                             # bytes
//!
//! [limits]                             # of new and stored hashes, whatever their scheme
//! memory = "256MiB"
//! work = "2GiB"                        # about a second of one processor
//! password = 511                       # bytes; also: n, r, p, t, flavors, syntax, rom
//!
//! [[keys]]                             # of hash encryption
//! name = "2026-11"
//! file = "keys/2026-11"                # beside this file, unless it begins with /
//! fingerprint = "e4aa7fcb1ea5ee3f"     # `saltern key fingerprint` shows it
//! active = true                        # encrypts new hashes; at most one
//!
//! [[roms]]                             # feature `rom`
//! image = "site.rom"
//! hash = "…"                           # 64 digits; `saltern rom info` shows them
//! access = "auto"                      # or copy, map, direct
//! active = true
//!
//! [pool]
//! threads = 8
//! memory = "2GiB"
//! queue = 4096                         # also: patience, in_flight, wipe, huge_pages, prepare,
//!                                      # processors
//! deadline = "2s"                      # of a login
//!
//! [decoy]                              # what unknown accounts cost
//! key = "keys/decoy"
//! [[decoy.costs]]                      # as `saltern census --decoy` prints them
//! like = "$y$j9T$......................"
//! share = 97
//! [[decoy.costs]]
//! like = "$2b$12$......................"
//! share = 3
//! ```
//!
//! `assume_unnamed_key` at the top names the file of [`Policy::assume_unnamed_key`].
//!
//! # What is refused
//! Whatever is wrong is an [`Invalid`] that names file, line, key, value and what is allowed: keys
//! that are not known, values out of their range, and what cannot be together, such as new hashes
//! that the limits would refuse. Files of keys and ROMs are looked at by
//! [`Passwords::new`](crate::Passwords::new): one that is missing, or another than the policy says,
//! is *unavailable* there, before the first login.

#[cfg(feature = "file")]
mod document;
#[cfg(feature = "file")]
mod file;
mod key_file;
mod rules;
#[cfg(feature = "file")]
mod units;

use std::path::PathBuf;
use std::time::Duration;

pub use saltern_pool::PoolConfig;
#[cfg(feature = "rom")]
#[cfg_attr(docsrs, doc(cfg(feature = "rom")))]
pub use saltern_rom::{Access, RomHash};
use saltern_yescrypt::keys::KeyId;
use saltern_yescrypt::rom::{Rom, RomId};
pub use saltern_yescrypt::{Limits, Params};

pub(crate) use self::key_file::read_key;
pub use self::key_file::{Secret, fingerprint_path};
#[cfg(feature = "file")]
#[cfg_attr(docsrs, doc(cfg(feature = "file")))]
pub use self::units::time as parse_time;
pub use crate::invalid::Invalid;
pub use crate::scheme::Scheme;

/// The policy of a site. Fields are what the keys of a file are; see [the module](self).
///
/// ```
/// use saltern::{Policy, policy::{Params, Scheme}};
/// let mut policy = Policy::default();
/// policy.params = Params::from_cost(4)?;
/// policy.schemes.push(Scheme::Scrypt);
/// policy.check()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Policy {
    /// Costs of new hashes, which are `$y$` strings. Their NROM is that of the active ROM. The
    /// default is cost 5: 16 MiB.
    pub params: Params,
    /// What is weaker than these is below the floor. The default is cost 1: 1 MiB.
    pub floor: Params,
    /// The shortest salt that is not to be replaced, in bytes. The default is 8.
    pub min_salt: usize,
    /// Ceilings of memory and work, for every scheme, and other limits. The default is
    /// [`Limits::server`].
    pub limits: Limits,
    /// The schemes of stored strings that are verified. The default is `yescrypt` alone.
    pub schemes: Vec<Scheme>,
    /// The keys of hash encryption.
    pub keys: Vec<Key>,
    /// A key for strings that name none, and that are taken to be encrypted all the same. Nothing
    /// can check that: with the wrong one, right passwords do not match. Only for tables that were
    /// encrypted before keys had names, until all of it has been rekeyed.
    pub assume_unnamed_key: Option<KeySource>,
    /// The ROMs.
    pub roms: Vec<SiteRom>,
    /// Threads, memory and queue.
    pub pool: PoolConfig,
    /// How long a login may take, from call to answer; `None` for as long as it takes. See
    /// [`Passwords::within`](crate::Passwords::within).
    pub deadline: Option<Duration>,
    /// What unknown accounts cost.
    pub decoy: Decoy,
}

/// A key and its name.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name, with the fingerprint for a key in a file.
    pub name: KeyId,
    /// Where it is.
    pub source: KeySource,
    /// Whether new hashes are encrypted with it.
    pub active: bool,
}

/// Where a key is.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// In a file: 32 bytes, or 64 hexadecimal digits and perhaps an end of line. If there is a file
    /// with `.fingerprint` after its name beside it, that has to agree.
    File(PathBuf),
    /// Here.
    Value(Secret),
}

/// A ROM and whether new hashes use it.
#[derive(Clone, Debug)]
pub struct SiteRom {
    /// Its id, the first 16 digits of its hash.
    pub id: RomId,
    /// Where it is.
    pub source: RomSource,
    /// Whether new hashes use it.
    pub active: bool,
}

/// Where a ROM is.
#[derive(Clone, Debug)]
pub enum RomSource {
    /// In an image, with its manifest beside it.
    #[cfg(feature = "rom")]
    #[cfg_attr(docsrs, doc(cfg(feature = "rom")))]
    Image {
        /// The image.
        path: PathBuf,
        /// What all of it has to be.
        hash: RomHash,
        /// How it gets into memory; `None` if it stays in its file, to be read block by block.
        access: Option<Access>,
    },
    /// Here.
    Value(Rom),
}

/// What accounts cost that are not there.
///
/// A login for an unknown account is computed with one of these costs, chosen by a keyed hash of
/// the account's name: always the same for one account, and over all accounts as often as the table
/// has it. [`Census::costs`](crate::table::Census::costs) counts them.
#[derive(Clone, Default, Debug)]
pub struct Decoy {
    /// The key, without which an account's choice cannot be foretold. The same on all machines of
    /// a site. Needed if there are several costs.
    pub key: Option<KeySource>,
    /// The costs; none for those of new hashes.
    pub costs: Vec<DecoyCost>,
}

/// One of the costs of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecoyCost {
    /// A string that costs as much; its salt and digest do not matter, and the digest may be left
    /// out.
    pub like: String,
    /// How many accounts have it, at least 1; only the proportions count.
    pub share: u64,
}

impl Default for Policy {
    fn default() -> Self {
        let floor = Params::yescrypt(1024, 8);
        Policy {
            params: Params::default(),
            floor,
            min_salt: 8,
            limits: Limits::server(),
            schemes: vec![Scheme::Yescrypt],
            keys: Vec::new(),
            assume_unnamed_key: None,
            roms: Vec::new(),
            pool: PoolConfig::default(),
            deadline: None,
            decoy: Decoy::default(),
        }
    }
}
