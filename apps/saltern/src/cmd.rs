//! The subcommands, one module each.

pub(crate) mod census;
pub(crate) mod checksalt;
pub(crate) mod completions;
pub(crate) mod hash;
pub(crate) mod inspect;
pub(crate) mod key;
pub(crate) mod man;
pub(crate) mod needs_rehash;
pub(crate) mod policy;
pub(crate) mod reencrypt;
pub(crate) mod rom;
pub(crate) mod seal;
pub(crate) mod sum;
pub(crate) mod tune;
pub(crate) mod users;
pub(crate) mod verify;
pub(crate) mod wrap;
