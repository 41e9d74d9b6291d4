//! The schemes of strings, and how to distinguish them.

use super::extended;
use super::names::Ids;
use super::phc;

/// The kinds of string that are known here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Scheme {
    /// `$y$`: yescrypt in all its modes.
    Yescrypt,
    /// `$7$`: classic scrypt.
    Scrypt,
    /// `$7X`: generation 0.5 ([`Mode::Escrypt`](crate::params::Mode::Escrypt)). New hashes use it
    /// only if a setting asks for it.
    ///
    /// A string does not identify the ROM or the mask with which it is read; they are configured
    /// with [`Hasher::with_escrypt_rom`](crate::Hasher::with_escrypt_rom). Strings of the slightly
    /// older revision 0.3.1 look the same but were computed in a way that is not known here: for
    /// them every password is a mismatch.
    Escrypt,
    /// `$scrypt$ln=`…: classic scrypt in the PHC string format, as other libraries write it.
    /// Verified only, never made; hashes have 32 bytes.
    ScryptPhc,
    /// `$saltern-yescrypt$`: what `$y$` cannot express, such as several ROMs. Only Saltern computes
    /// these.
    Extended,
}

impl Scheme {
    const ALL: [Scheme; 5] =
        [Scheme::Yescrypt, Scheme::Scrypt, Scheme::Escrypt, Scheme::ScryptPhc, Scheme::Extended];

    /// The prefix of the scheme's strings.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Scheme::Yescrypt => "$y$",
            Scheme::Scrypt => "$7$",
            Scheme::Escrypt => "$7X",
            Scheme::ScryptPhc => phc::PREFIX,
            Scheme::Extended => extended::PREFIX,
        }
    }

    /// The scheme of a string, by its prefix alone, after the ids `{…}` of a ROM and a key, if any.
    #[must_use]
    pub fn of(text: impl AsRef<[u8]>) -> Option<Self> {
        let text = text.as_ref();
        if Ids::precede(text) {
            let (_, rest) = Ids::split(text).ok()?;
            return rest
                .starts_with(Scheme::Yescrypt.prefix().as_bytes())
                .then_some(Scheme::Yescrypt);
        }
        Scheme::ALL.into_iter().find(|scheme| text.starts_with(scheme.prefix().as_bytes()))
    }
}
