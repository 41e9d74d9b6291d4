//! Whether crypt(3) would hash with a setting.

use crate::error::Error;
use crate::site::limits::{FlavorPolicy, Limits};
use crate::text::encoding::Setting;
use crate::text::scheme::Scheme;

impl Setting {
    /// Whether crypt(3) on a plain Linux hashes with this text, a setting or complete string of
    /// `$y$` or `$7$`: with the default flavour, without ROM or key, and in its narrower ranges.
    /// Computes nothing and ignores what the hash would cost.
    ///
    /// ```
    /// use saltern_yescrypt::Setting;
    /// assert!(Setting::checksalt("$y$j9T$LdJMENpBABJJ3hIHjB1Bi.").is_ok());
    /// assert!(Setting::checksalt("$7$A6..../....a salt").is_err()); // a space
    /// assert!(Setting::checksalt("$7X3$36..../....a").is_err());
    /// assert!(Setting::checksalt("$scrypt$ln=4,r=8,p=1$aM15713r3Xsvxbi31lqr1Q").is_err());
    /// ```
    ///
    /// # Errors
    /// [`Error::RefusedByCrypt`] for what Saltern could compute nevertheless; [`Error::Malformed`],
    /// [`Error::InvalidParameter`], [`Error::FlavorNotAllowed`] or [`Error::RomUnavailable`] for
    /// the rest.
    pub fn checksalt(text: impl AsRef<[u8]>) -> Result<(), Error> {
        let parsed = Setting::parse(&text)?;
        let known = matches!(parsed.scheme(), Scheme::Yescrypt | Scheme::Scrypt);
        if !known || !text.as_ref().starts_with(b"$") {
            return Err(Error::RefusedByCrypt { why: "it does not know such strings" });
        }
        let mut limits = Limits::unlimited();
        (limits.flavors, limits.rom) = (FlavorPolicy::DefaultOnly, false);
        parsed.params().check(&limits)?;
        parsed.refused_by_crypt().map_or(Ok(()), |why| Err(Error::RefusedByCrypt { why }))
    }
}
