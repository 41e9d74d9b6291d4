//! The policy of a site: what new hashes cost, what stored ones may cost, and the keys, ROMs,
//! threads and memory to compute them with.
//!
//! A policy is made in code from [`Policy::default`], or read from a file with [`Policy::read`]:
//!
//! ```toml
//! # saltern.toml. Everything is optional; unknown keys are refused.
//! schemes = ["yescrypt", "bcrypt"]     # the schemes of stored strings
//! replace = "weaker"                   # of other schemes, at a login; or "others",
//!                                      # or a list of schemes
//!
//! [params]                             # the cost of new hashes
//! cost = 5                             # 1 to 11; or n, r, p and t
//!
//! [floor]                              # weaker hashes are reported, and replaced at a login
//! cost = 3                             # or n, r, p and t
//! salt = 8                             # bytes; shorter salts are replaced
//!
//! [limits]                             # for new and stored hashes of every scheme
//! memory = "257MiB"                    # cost 9 and its S-boxes
//! work = "2GiB"                        # about a second of one processor
//! password = 511                       # bytes; also: n, r, p, t, flavors, syntax, rom
//!
//! [[keys]]                             # keys of hash encryption
//! name = "2026-11"
//! file = "keys/2026-11"                # in the folder of this file, unless it begins with /
//! fingerprint = "e4aa7fcb1ea5ee3f"     # `saltern key fingerprint` shows it
//! active = true                        # encrypts new hashes; at most one
//!
//! [seal]                               # strings bound to their accounts
//! required = true                      # once all of the table is sealed
//! [[seal.keys]]                        # as [[keys]]; the active one makes new seals
//! name = "2026-11"
//! file = "keys/seal-2026-11"
//! fingerprint = "0c1d2e3f40516273"
//! active = true
//!
//! [firebase]                           # Firebase's password hash parameters
//! signer_key = "keys/firebase"
//! fingerprint = "51c7e8a3d2b4f609"     # `saltern key fingerprint` shows it
//! salt_separator = "Bw=="
//! rounds = 8
//! mem_cost = 14
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
//! deadline = "2s"                      # for a login, from call to answer
//!
//! [decoy]                              # what logins to unknown accounts cost
//! key = "keys/decoy"
//! [[decoy.costs]]                      # as `saltern census --decoy` prints them
//! like = "$y$j9T$......................"
//! share = 97
//! [[decoy.costs]]
//! like = "$2b$12$......................"
//! share = 3
//!
//! [remember]                           # logins that are answered again without a hash
//! time = "5min"                        # at most a day
//! entries = 65536
//! ```
//!
//! At the top there may also be `assume_unnamed_key`, the file of [`Policy::assume_unnamed_key`];
//! `assume_unnamed_rom`, the id of [`Policy::assume_unnamed_rom`];
//! and `check_roms = "10min"`, [`Policy::check_roms`].
//!
//! # What is refused
//! Unknown keys, values out of their range, and combinations that contradict each other, such as
//! new hashes that the limits would refuse. The error is an [`Invalid`], which names the file, the
//! line, the key, the value, and what is allowed. [`Passwords::new`](crate::Passwords::new) opens
//! the files of keys and ROMs: if one is missing, or is not the one that the policy describes, it
//! fails with *unavailable*, before the first login.

#[cfg(feature = "file")]
mod document;
#[cfg(feature = "file")]
mod file;
mod firebase;
mod key_file;
mod rules;
#[cfg(feature = "file")]
mod text;
#[cfg(feature = "file")]
mod units;
#[cfg(feature = "file")]
mod words;

use std::path::PathBuf;
use std::time::Duration;

pub use saltern_pool::PoolConfig;
pub use saltern_pool::terms::Share;
#[cfg(feature = "rom")]
#[cfg_attr(docsrs, doc(cfg(feature = "rom")))]
pub use saltern_rom::{Access, RomHash};
use saltern_yescrypt::keys::KeyId;
use saltern_yescrypt::rom::{Rom, RomId};
pub use saltern_yescrypt::{Limits, Params, Setting};

#[cfg(feature = "file")]
#[cfg_attr(docsrs, doc(cfg(feature = "file")))]
pub use self::file::read_text;
pub use self::firebase::{Firebase, FirebaseParameters, SignerKeySource};
#[cfg(feature = "file")]
pub(crate) use self::key_file::content;
pub use self::key_file::{Secret, fingerprint_path, loose};
pub(crate) use self::key_file::{key_set, read_key, read_named};
pub use self::rules::memory_needed;
#[cfg(feature = "file")]
#[cfg_attr(docsrs, doc(cfg(feature = "file")))]
pub use self::units::{TIME, memory_text, size as parse_size, size_text, time as parse_time};
pub use crate::invalid::Invalid;
pub use crate::rehash::Replace;
pub use crate::scheme::Scheme;
pub use crate::signer_key::SignerKey;
pub use crate::strength::Strength;

/// The policy of a site. Each field has a key of the same or a similar name in files: see [the
/// module](self).
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
    /// The cost of new hashes, which are `$y$` strings. NROM must be 0 here; hashes get it from the
    /// active ROM. The default is cost 5, which takes 16 MiB.
    pub params: Params,
    /// Hashes that are weaker than these parameters are below the floor. The default is cost 1,
    /// which takes 1 MiB.
    pub floor: Params,
    /// Strings with a salt of fewer bytes than this are replaced; at most 16. The default is 8.
    pub min_salt: usize,
    /// Ceilings of memory and work, which apply to every scheme, and other limits. The default is
    /// [`Limits::server`].
    pub limits: Limits,
    /// The schemes of stored strings that are verified; `yescrypt` must be among them. The default
    /// is `yescrypt` alone.
    pub schemes: Vec<Scheme>,
    /// Which strings of other schemes a match replaces. The default is those that are not stronger
    /// than new hashes.
    pub replace: Replace,
    /// The keys for hash encryption.
    pub keys: Vec<Key>,
    /// A key for `$y$` strings that do not name one, which are then all taken to be encrypted with
    /// it. Nothing can check the assumption: if it is the wrong key, or a string is not encrypted,
    /// right passwords do not match. This is only for tables that were encrypted before keys had
    /// names, until all of their strings have been moved to a named key. While no key is active,
    /// new hashes are encrypted with it as well.
    pub assume_unnamed_key: Option<KeySource>,
    /// Seals, which bind stored strings to their accounts.
    pub seal: SealPolicy,
    /// The parameters of strings of Firebase.
    pub firebase: Option<Firebase>,
    /// The ROMs.
    pub roms: Vec<SiteRom>,
    /// The ROM for `$y$` strings that need one and do not name it. Nothing can check the
    /// assumption: if it is another ROM of the same size, right passwords do not match. Without it
    /// such strings are *unavailable*. This is only for hashes that crypt(3) with a ROM has made,
    /// and other strings without ids.
    pub assume_unnamed_rom: Option<RomId>,
    /// How old the last complete check of a ROM in memory may become before it is checked again:
    /// see [`Passwords::damaged_roms`](crate::Passwords::damaged_roms). A check reads the ROM at
    /// some gigabytes a second on one processor. The default is 10 minutes.
    pub check_roms: Duration,
    /// The threads, the memory and the queue.
    pub pool: PoolConfig,
    /// How long a login may take, from call to answer; `None` for no limit. See
    /// [`Passwords::within`](crate::Passwords::within).
    pub deadline: Option<Duration>,
    /// The cost of logins to unknown accounts.
    pub decoy: Decoy,
    /// Whether logins are remembered for a while: by default they are not.
    pub remember: Option<Remember>,
}

/// How logins are remembered, for clients that send the password with every request, as HTTP's
/// basic authentication does.
///
/// A login with the same account, stored string and password as one that matched before, within
/// this time, is answered at once, without computing a hash. A mismatch is never remembered. What
/// is kept is a tag under a random key of the process; whoever reads the memory of the process can
/// use both to try passwords for the accounts that are remembered at the speed of BLAKE2, which is
/// far higher than that of a password hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remember {
    /// For how long, from the login that was computed: above zero, at most a day. Using it does not
    /// extend it.
    pub time: Duration,
    /// How many logins at most, 1 to 2^22. They take 50 bytes each, which are reserved at the
    /// start. The one that was not used for longest makes room for another.
    pub entries: usize,
}

/// 5 minutes and 65,536 logins.
impl Default for Remember {
    fn default() -> Self {
        Remember { time: Duration::from_secs(300), entries: 1 << 16 }
    }
}

/// A key for hash encryption, or for seals.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name. If the name has a fingerprint, the key must match it.
    pub name: KeyId,
    /// Where the key is.
    pub source: KeySource,
    /// Whether new hashes are encrypted with it, or new seals made with it.
    pub active: bool,
}

/// Seals: tags over the account's id and its stored string, with a key that the database does not
/// have. A string that was copied from another account, altered or inserted is then
/// [`Error::Tampered`](crate::Error::Tampered).
///
/// ```
/// use saltern::policy::{Key, KeySource, Secret};
/// use saltern::{ErrorKind, Passwords, Policy};
/// let mut policy = Policy::default();
/// let source = KeySource::Value(Secret::new([7; 32]));
/// policy.seal.keys.push(Key { name: "2026".parse()?, source, active: true });
/// policy.seal.required = true;
/// let passwords = Passwords::new(policy)?;
/// let stored = passwords.for_account("alice").hash("correct horse").wait()?;
/// assert!(stored.starts_with("{seal=2026+"));
/// assert!(passwords.verify("alice", "correct horse", Some(&stored)).wait()?.is_match());
/// let moved = passwords.verify("root", "correct horse", Some(&stored)).wait().unwrap_err();
/// assert_eq!(moved.kind(), ErrorKind::Tampered);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct SealPolicy {
    /// The keys. New strings are sealed with the active one; strings with a seal of another one are
    /// checked with that one, and outdated. If no key is active, seals are checked, and new strings
    /// have none.
    pub keys: Vec<Key>,
    /// Whether a string without a seal is [`Error::Tampered`](crate::Error::Tampered) as well,
    /// unless it consists only of the marks of a locked account. Otherwise it is verified as if
    /// there were no seals, which is for tables that are being moved: until this is set, seals
    /// protect nothing from someone who can also remove them.
    pub required: bool,
}

/// Where a key is.
#[derive(Clone, Debug)]
pub enum KeySource {
    /// In a regular file of 32 bytes, or of 64 hexadecimal digits with an optional end of line. If
    /// there is a file beside it with `.fingerprint` appended to its name ([`fingerprint_path`]),
    /// the fingerprint in it must be that of the key.
    File(PathBuf),
    /// In memory.
    Value(Secret),
}

/// A ROM of a site.
#[derive(Clone, Debug)]
pub struct SiteRom {
    /// Its id: the first 16 digits of its hash.
    pub id: RomId,
    /// Where the ROM is.
    pub source: RomSource,
    /// Whether new hashes use it.
    pub active: bool,
}

/// Where a ROM is.
#[derive(Clone, Debug)]
pub enum RomSource {
    /// In an image file, which has its manifest beside it.
    #[cfg(feature = "rom")]
    #[cfg_attr(docsrs, doc(cfg(feature = "rom")))]
    Image {
        /// The file.
        path: PathBuf,
        /// The hash of the whole image.
        hash: RomHash,
        /// How the image gets into memory; with `None` it stays in its file, from which blocks are
        /// read when a hash needs them. An image in shared memory is mapped then.
        access: Option<Access>,
    },
    /// In memory.
    Value(Rom),
}

/// The cost of logins to unknown accounts, so that their response time does not give them away.
///
/// Such a login computes a hash of one of these costs. A keyed hash of the account name selects it:
/// always the same one for the same name, and over many names as often as in the table.
/// [`Census::costs`](crate::table::Census::costs) counts the costs of a table.
#[derive(Clone, Default, Debug)]
pub struct Decoy {
    /// A secret key, without which nobody can predict which cost a name gets. Required if there are
    /// several costs. Use the same key on all machines of a site.
    pub key: Option<KeySource>,
    /// The costs. If there are none, unknown accounts cost as much as new hashes.
    pub costs: Vec<DecoyCost>,
}

/// One of the costs of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecoyCost {
    /// A stored string of this cost. Its salt and its digest do not matter, and the digest may be
    /// left out.
    pub like: String,
    /// How many accounts have this cost, from 1 to 2^48. Only the proportions matter.
    pub share: u64,
}

impl Policy {
    /// Whether one of the keys has this name, whatever its fingerprint.
    pub(crate) fn has_key(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name.as_str() == name)
    }

    /// Whether one of the keys for seals has this name, whatever its fingerprint.
    pub(crate) fn has_seal_key(&self, name: &str) -> bool {
        self.seal.keys.iter().any(|key| key.name.as_str() == name)
    }

    /// Whether one of the ROMs has this id.
    pub(crate) fn has_rom(&self, id: &str) -> bool {
        self.roms.iter().any(|rom| rom.id.to_string() == id)
    }
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
            replace: Replace::default(),
            keys: Vec::new(),
            seal: SealPolicy::default(),
            firebase: None,
            assume_unnamed_key: None,
            assume_unnamed_rom: None,
            roms: Vec::new(),
            check_roms: Duration::from_secs(600),
            pool: PoolConfig::default(),
            deadline: None,
            decoy: Decoy::default(),
            remember: None,
        }
    }
}
