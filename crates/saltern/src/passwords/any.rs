//! Logins where a password that the policy refuses is no error.

use crate::error::Error;
use crate::passwords::{Outcome, Passwords};
use crate::stored::{Stored, locked};
use crate::ticket::Ticket;

/// Work that takes about a millisecond.
const UNNOTICED: u64 = 2 << 20;

impl Passwords {
    /// [`Passwords::verify`] for programs that hash whatever somebody types: of a password that the
    /// policy refuses ([`Limits::admit_password`](crate::policy::Limits::admit_password)), they
    /// hash a stand-in, such as a digest in hexadecimal digits.
    ///
    /// Strings of yescrypt and scrypt are compared with the stand-in. Strings of other schemes,
    /// wrapped or not, are compared with the password itself, of which another program may have
    /// made them. Either way it is one computation, and for an account that does not exist as well.
    ///
    /// ```
    /// use saltern::{Passwords, Policy, policy::Scheme};
    /// let mut policy = Policy::default();
    /// policy.schemes.push(Scheme::Hex);
    /// let passwords = Passwords::new(policy)?;
    /// let (long, short) = ("a".repeat(600), "600 times a");
    /// let md5 = "f5091e6f3df8500fadf1c3ca00e10caf";
    /// assert!(passwords.verify("alice", &long, Some(md5)).wait().is_err());
    /// for stored in [md5, &passwords.hash(short).wait()?] {
    ///     let outcome = passwords.verify_any("alice", &long, short, Some(stored)).wait()?;
    ///     assert!(outcome.is_match());
    /// }
    /// # Ok::<(), saltern::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Passwords::verify`], about the stand-in instead of a password that the policy
    /// refuses; and at once those about the password itself if the scheme of the string takes more
    /// time for it than for the longest one that the policy takes. sha-crypt does; with the others,
    /// only passwords of 32 KiB or more do.
    pub fn verify_any(
        &self,
        account: impl AsRef<[u8]>,
        password: impl AsRef<[u8]>,
        stand_in: impl AsRef<[u8]>,
        stored: Option<&str>,
    ) -> Ticket<Outcome> {
        let (password, account) = (password.as_ref(), account.as_ref());
        let started = match self.admit(password) {
            Ok(()) => self.begin(account, password, stored),
            Err(refused) => {
                let given = self.given(account, password, stand_in.as_ref(), stored);
                let given = given.and_then(|given| given.ok_or(refused));
                given.and_then(|given| self.begin(account, given, stored))
            }
        };
        started.unwrap_or_else(|error| Ticket::done(Err(error)))
    }

    /// A password that the policy refuses, or its stand-in: what the string of the account is
    /// compared with; `None` for a password that would take too long.
    fn given<'p>(
        &self,
        account: &[u8],
        password: &'p [u8],
        stand_in: &'p [u8],
        stored: Option<&str>,
    ) -> Result<Option<&'p [u8]>, Error> {
        self.admit(stand_in)?;
        self.check_seal(account, stored)?;
        let text = stored.filter(|text| !locked(text));
        let hash = match text {
            Some(text) => Stored::parse(text)?.complete()?,
            None => self.inner.prepared.decoys().of(account).clone(),
        };
        let Some(setting) = hash.foreign() else { return Ok(Some(stand_in)) };
        let longest = self.table().policy().limits.max_password;
        let most = setting.cost(longest).work.saturating_add(UNNOTICED);
        Ok(match setting.cost(password.len()).work <= most {
            true => Some(password),
            false => text.is_none().then_some(stand_in),
        })
    }
}
