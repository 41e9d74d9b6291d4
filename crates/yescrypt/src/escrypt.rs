//! ROMs and settings of generation 0.5, for tests and for whoever makes such a ROM again. Its
//! hashes are those of [`Mode::Escrypt`](crate::Mode::Escrypt), its strings
//! ([`Scheme::Escrypt`](crate::Scheme::Escrypt)) are taken wherever others are.
//!
//! ```
//! let stored = "$7X3$86..../....WZaPV7LSUEKMo34.$q8iWUpUeRB8IIgagy7yEx4c.E7KUTRJ9uIy6jsG4ut.";
//! assert!(saltern_yescrypt::verify(b"pleaseletmein", stored)?);
//! # Ok::<(), saltern_yescrypt::Error>(())
//! ```

pub use crate::core::escrypt::{RomParams, init_rom};
pub use crate::text::escrypt::encode_setting;
