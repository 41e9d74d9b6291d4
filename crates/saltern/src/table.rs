//! Stored strings without passwords: what is outdated, what is there, and other keys for all of it.
//!
//! [`Table`] works on single strings, [`each_line`] on files of them: lines that are strings, lines
//! with fields such as those of `/etc/shadow`, and lines of JSON.
//!
//! # Moving to another key
//! Add the new key to the policy and make it the active one; both are there from then on. Put every
//! string through [`Table::rekey`], writing where the old one still stands, as often as you like: a
//! second run changes nothing. Count the table anew ([`Census`]); when [`Table::retire_key`] has no
//! objection, take the old key out of the policy. ROMs retire in the same way
//! ([`Table::retire_rom`]), but only logins move strings from one to another.

mod census;
mod lines;

pub use self::census::Census;
pub use self::lines::{Entry, Format, Report, each_line};
use crate::error::Error;
use crate::policy::Policy;
pub use crate::rehash::Reasons;
use crate::scheme::Scheme;
use crate::site::Site;
use crate::stored::Stored;

/// What can be done with stored strings without passwords and without hashing: no threads, no
/// memory worth mentioning, and no ROM is attached.
///
/// ```
/// use saltern::{Policy, table::Table};
/// let table = Table::open(&Policy::default())?;
/// let stored = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4";
/// let reasons = table.needs_rehash(stored)?;
/// assert!(reasons.cost && !reasons.floor); // 1 MiB, where new hashes take 16
/// # Ok::<(), saltern::Error>(())
/// ```
pub struct Table {
    pub(crate) site: Site,
}

impl Table {
    /// Reads the files of keys, and of ROMs the manifests.
    ///
    /// # Errors
    /// [`Error::Policy`]; [`Error::Unavailable`] for a key or a ROM that is not there or is another
    /// one.
    pub fn open(policy: &Policy) -> Result<Self, Error> {
        Site::open(policy).map(|site| Table { site })
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.site.policy
    }

    /// What people should know about files of keys: loose permissions.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.site.notes
    }

    /// The scheme of a stored string, of a wrapped one that of the hash within, whether the policy
    /// accepts it or not; none for a locked account without a string.
    ///
    /// # Errors
    /// *Bad input* for what is no stored string.
    pub fn scheme(&self, stored: &str) -> Result<Option<Scheme>, Error> {
        Ok(Stored::parse(stored)?.hash.map(|hash| hash.scheme()))
    }

    /// In what a stored string is not what a new one would be; none of it for a locked account
    /// without a string. After a match, [`Passwords::verify`](crate::Passwords::verify) has an
    /// update if there is any reason; strings of other schemes that are stronger than new hashes
    /// are kept.
    ///
    /// # Errors
    /// *Bad input* for what is no stored string.
    pub fn needs_rehash(&self, stored: &str) -> Result<Reasons, Error> {
        let hash = Stored::parse(stored)?.hash;
        Ok(hash.map(|hash| self.site.target.reasons(&hash)).unwrap_or_default())
    }

    /// The same hash, encrypted with the active key, or with none if none is active. `None` if it
    /// is so already, or cannot be encrypted: strings of other schemes. No password is needed, and
    /// the password stays what it was. Marks of locked accounts stay.
    ///
    /// ```
    /// use saltern::{Policy, policy::{Key, KeySource, Secret}, table::Table};
    /// let secret = Secret::new([7; 32]);
    /// let mut policy = Policy::default();
    /// let source = KeySource::Value(secret);
    /// policy.keys.push(Key { name: "2026".parse()?, source, active: true });
    /// let table = Table::open(&policy)?;
    /// let plain = "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";
    /// let new = table.rekey(plain)?.unwrap();
    /// assert!(new.starts_with("{key=2026+"));
    /// assert_eq!(table.rekey(&new)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// *Bad input* for what is no stored string, *unavailable* for a key that it names and that the
    /// policy does not have.
    pub fn rekey(&self, stored: &str) -> Result<Option<String>, Error> {
        let Stored { before, hash, .. } = Stored::parse(stored)?;
        let rekeyed = hash.map(|hash| self.site.rekeyed(&hash)).transpose()?.flatten();
        Ok(rekeyed.map(|rekeyed| before.to_owned() + &rekeyed))
    }

    /// Adds a string to a census.
    ///
    /// # Errors
    /// *Bad input* for what is no stored string, which is counted as such.
    pub fn count(&self, stored: &str, census: &mut Census) -> Result<(), Error> {
        match Stored::parse(stored) {
            Ok(stored) => {
                let policy = self.policy();
                let refused = |hash| policy.admit(hash, 0).is_err();
                let refused = stored.hash.as_ref().is_some_and(refused);
                census.add(&stored, &self.site.target, refused);
                Ok(())
            }
            Err(error) => {
                census.add_bad();
                Err(error)
            }
        }
    }

    /// Whether a key can be taken out of the policy, as far as a census of the whole table says:
    /// nothing needs it, nothing is there that could not be read, and it is not the active one.
    ///
    /// # Errors
    /// [`Error::InUse`], with who needs it.
    pub fn retire_key(&self, name: &str, census: &Census) -> Result<(), Error> {
        let active = self.site.target.key.is_some_and(|key| key.as_str() == name);
        let used = census.keys.get(name).copied().unwrap_or(0);
        retire(format!("the key {name}"), active, used, census)
    }

    /// The same for a ROM, by its id. Strings that name no ROM are taken to need it.
    ///
    /// # Errors
    /// [`Error::InUse`], with who needs it.
    pub fn retire_rom(&self, id: &str, census: &Census) -> Result<(), Error> {
        let active = self.site.target.rom.is_some_and(|rom| rom.id.to_string() == id);
        let used = [id, census::UNNAMED].iter().filter_map(|id| census.roms.get(*id)).sum();
        retire(format!("the ROM {id}"), active, used, census)
    }
}

fn retire(what: String, active: bool, used: u64, census: &Census) -> Result<(), Error> {
    let why = if active {
        "new hashes are made with it".to_owned()
    } else if used > 0 {
        format!("{used} stored strings need it")
    } else if census.bad > 0 {
        format!("{} stored strings could not be read, and may need it", census.bad)
    } else {
        return Ok(());
    };
    Err(Error::InUse { what, why })
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table {{ {:?} }}", self.site.target)
    }
}
