//! Logins where a password that the policy refuses is no error.

use crate::error::Error;
use crate::passwords::{Outcome, Passwords};
use crate::stored::{Stored, locked};
use crate::ticket::Ticket;

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
    /// refuses. Such a password is *over limit* if the scheme of the string takes longer for it
    /// than [`Limits::max_work`](crate::policy::Limits) allows, which is decided at once.
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
            Err(_) => self.begin_any(account, password, stand_in.as_ref(), stored),
        };
        started.unwrap_or_else(|error| Ticket::done(Err(error)))
    }

    /// Verifies a password that the policy refuses, or its stand-in.
    fn begin_any(
        &self,
        account: &[u8],
        password: &[u8],
        stand_in: &[u8],
        stored: Option<&str>,
    ) -> Result<Ticket<Outcome>, Error> {
        self.admit(stand_in)?;
        let policy = self.table().policy();
        let text = stored.filter(|text| !locked(text));
        let hash = match text {
            Some(text) => Stored::parse(text)?.complete()?,
            None => self.inner.prepared.decoys().of(account).clone(),
        };
        let cost = hash.foreign().map(|setting| policy.admit_cost(&**setting, password.len()));
        let given = match cost {
            Some(Ok(())) => password,
            Some(Err(costly)) if text.is_some() => return Err(costly),
            _ => stand_in,
        };
        self.begin(account, given, stored)
    }
}
