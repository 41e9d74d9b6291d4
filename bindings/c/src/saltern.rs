//! Saltern's own interface (`include/saltern.h`): a site under a policy, and the bare functions.
#![allow(unsafe_code, reason = "functions for C")]

mod bare;
mod login;
mod many;
mod site;
mod status;
mod table;
mod ticket;

pub use self::bare::{saltern_derive, saltern_rom_attach, saltern_rom_free, saltern_rom_size};
pub use self::login::{Login, saltern_hash, saltern_verify};
pub use self::many::{saltern_hash_many, saltern_verify_many};
pub use self::site::{
    Site, saltern_bulk, saltern_close, saltern_for_account, saltern_notes, saltern_open,
    saltern_open_text, saltern_share, saltern_within,
};
pub use self::status::{Message, saltern_status_name, saltern_version};
pub use self::table::{saltern_needs_rehash, saltern_rekey, saltern_seal};
pub use self::ticket::{
    Waiting, saltern_hash_start, saltern_ticket_free, saltern_verify_start, saltern_wait,
};
