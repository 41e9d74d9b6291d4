//! escrypt, or yescrypt 0.5: the generation of March 2014, whose strings begin with `$7X`.
//!
//! It is here to verify what was stored long ago, and makes no hashes unless asked by a setting. [`Hasher`](crate::Hasher) and
//! [`verify`](crate::verify()) take `$7X` strings like others, under the same limits; what stands in this module is the bare function, its
//! parameters and strings, and its ROMs. Against yescrypt 1.1 it has two S-boxes that are never written, Salsa20/8 everywhere, hashing of its
//! own before and after, and three independent [`Flags`] in place of a mode. A [`Workspace`](crate::Workspace) serves both.
//!
//! What a string does not say: the ROM and the mask with which it is read. They are configuration, see
//! [`Hasher::with_escrypt_rom`](crate::Hasher::with_escrypt_rom). And strings of the revision 0.3.1, a little older, look the same but were
//! computed in a way that is not known here: for them every password is a mismatch. `$7$` is classic scrypt and belongs to the parent module.
//!
//! ```
//! let stored = "$7X3$86..../....WZaPV7LSUEKMo34.$q8iWUpUeRB8IIgagy7yEx4c.E7KUTRJ9uIy6jsG4ut.";
//! assert!(saltern_yescrypt::verify(b"pleaseletmein", stored)?);
//! let setting = saltern_yescrypt::escrypt::Setting::parse(stored.as_bytes())?;
//! assert_eq!((setting.params().n, setting.params().flags.bits()), (1024, 5));
//! # Ok::<(), saltern_yescrypt::Error>(())
//! ```

pub use crate::core::escrypt::{
    CheckedParams, Flags, Params, Rom, RomParams, Tuning, derive, init_rom,
};
pub use crate::text::escrypt::{HashString, Setting, is_escrypt};
