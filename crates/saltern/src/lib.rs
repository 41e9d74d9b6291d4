//! The passwords of a site: hash them, verify them, and store the update.
//!
//! ```
//! use saltern::{Passwords, Policy};
//! # fn main() -> Result<(), saltern::Error> {
//! let passwords = Passwords::new(Policy::default())?; // once, for the whole program
//! let stored = passwords.hash("correct horse").wait()?;
//! let outcome = passwords.verify("alice", "correct horse", Some(&stored)).wait()?;
//! assert!(outcome.is_match());
//! # Ok(()) }
//! ```
//!
//! In async code, write `.await` instead of `.wait()`, under any executor: hashes are computed in
//! the threads of a pool, which has a memory budget and a queue with deadlines.
//!
//! A server reads its policy from a file with [`Policy::read`]. The policy sets the cost of new
//! hashes and the limits for stored ones, the schemes, keys and ROMs, and the cost of logins to
//! unknown accounts; the module [`policy`] describes it. The module [`table`] works on stored
//! strings without passwords: it counts them, finds outdated ones, and moves a whole table to
//! another key.
//!
//! # Outcomes
//! The password matches, it does not match, or the account is locked: [`Outcome`]. Everything else
//! is an [`Error`] of one of six kinds ([`ErrorKind`]), and never means that a password is wrong.
//!
//! # Features
//! * `file` (default): policies in files.
//! * `rom`: ROMs.
//! * `argon2`, `bcrypt`, `sha-crypt`, `pbkdf2`, `scram`, `firebase`, `digest`: verifiers for
//!   strings of other schemes ([`policy::Scheme`]). `legacy` stands for all of these.
//! * `libcrypt`: the schemes that only the machine's libcrypt computes; it is loaded at run time.
//! * `json`: tables as lines of JSON, and passwords in JSON.

// To change … open …
//     the steps of a login; waiting         passwords.rs, passwords/*.rs; ticket.rs
//     which strings are outdated            rehash.rs; strength.rs
//     an old scheme                         foreign/<name>.rs, its lines in foreign.rs, scheme.rs, formats.rs, Cargo.toml
//     names and prefixes of strings         formats.rs; stored.rs
//     another program's form of a scheme    forms/<scheme>.rs, its line in formats.rs
//     seals                                 seal.rs (text); seal_keys.rs (tags); opened.rs (what is required)
//     a key of saltern.toml                 policy/file.rs, policy/words.rs; policy/rules.rs; policy/text.rs (writing)
//     errors of a policy and their places   invalid.rs; policy/document.rs
//     Firebase's parameters; its key        policy/firebase.rs; signer_key.rs; foreign/firebase.rs
//     key files; ROMs of a policy           policy/key_file.rs; opened.rs; scrubber.rs
//     logins that are remembered            remembered.rs
//     the cost of unknown accounts          decoy.rs; cost_class.rs
//     tables without passwords              table.rs; table/census.rs; table/lines.rs, table/bounded.rs
//     files of users                        users.rs
//     JSON that is wiped                    json.rs, json/fields.rs
#![cfg_attr(docsrs, feature(doc_cfg))]

mod cost_class;
mod decoy;
mod error;
mod foreign;
mod formats;
mod forms;
mod invalid;
#[cfg(feature = "json")]
#[cfg_attr(docsrs, doc(cfg(feature = "json")))]
pub mod json;
mod opened;
mod passwords;
pub mod policy;
mod prepared;
mod rehash;
mod remembered;
mod scheme;
mod scrubber;
mod seal;
mod seal_keys;
mod signer_key;
mod stored;
mod strength;
pub mod table;
mod task;
mod ticket;
pub mod users;

pub use self::error::{Error, ErrorKind};
pub use self::passwords::{Outcome, Passwords, Update};
pub use self::policy::Policy;
pub use self::prepared::Prepared;
pub use self::ticket::Ticket;
