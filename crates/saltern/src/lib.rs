//! The passwords of a site: hash, verify, and store the update.
//!
//! ```
//! use saltern::{Outcome, Passwords, Policy};
//! # fn main() -> Result<(), saltern::Error> {
//! let passwords = Passwords::new(Policy::default())?; // once, for the whole program
//! let stored = passwords.hash("correct horse").wait()?;
//! let outcome = passwords.verify("alice", "correct horse", Some(&stored)).wait()?;
//! assert_eq!(outcome, Outcome::Match { update: None });
//! # Ok(()) }
//! ```
//!
//! In async code, `.await` takes the place of `.wait()`, under any executor: the hashes are
//! computed in threads of a pool with a budget of memory and a queue that knows deadlines.
//!
//! A server reads its policy from a file, [`Policy::read`], that says what new hashes cost, what
//! stored ones may cost, which schemes, keys and ROMs there are, and what unknown accounts cost.
//! [`policy`] describes it. [`table`] is for stored strings without passwords: what is there, what
//! is outdated, moving a whole table to another key.
//!
//! # Outcomes
//! A login matches, does not, or is locked: [`Outcome`]. Whatever else happens is an [`Error`] of
//! one of five kinds ([`ErrorKind`]), and never means that a password is wrong.
//!
//! # Features
//! `file` (default): policies in files. `rom`: ROMs. `argon2`, `bcrypt`, `sha-crypt`, `pbkdf2`,
//! `digest`: verifiers of old strings ([`policy::Scheme`]); `legacy`: all of these. `libcrypt`:
//! what the machine's libcrypt knows beside. `json`: tables in lines of JSON.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod class;
mod decoy;
mod error;
mod foreign;
mod invalid;
mod passwords;
pub mod policy;
mod prepared;
mod rehash;
mod scheme;
mod site;
mod stored;
mod strength;
pub mod table;
mod ticket;

pub use self::error::{Error, ErrorKind};
pub use self::passwords::{Outcome, Passwords, Update};
pub use self::policy::Policy;
pub use self::prepared::Prepared;
pub use self::ticket::Ticket;
