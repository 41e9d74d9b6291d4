//! Logins where a password that the policy refuses is no error.

use saltern_yescrypt::Limits;

use crate::error::Error;
use crate::passwords::{Outcome, Passwords};
use crate::stored::Hash;
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
        let stand_in = Some(stand_in.as_ref());
        let given = Given { password: password.as_ref(), stand_in };
        let started = self.begin(account.as_ref(), given, stored);
        started.unwrap_or_else(|error| Ticket::done(Err(error)))
    }
}

/// What somebody has typed, and what stands in for it if the policy refuses it.
pub(super) struct Given<'p> {
    pub(super) password: &'p [u8],
    pub(super) stand_in: Option<&'p [u8]>,
}

/// What may be compared with a hash.
pub(super) enum Admitted<'p> {
    Password(&'p [u8]),
    Refused(Refused<'p>),
}

/// A password that the policy refuses, and its stand-in, which it does not.
pub(super) struct Refused<'p> {
    password: &'p [u8],
    stand_in: &'p [u8],
    why: Error,
    max_password: usize,
}

impl<'p> Given<'p> {
    /// Refuses a password that is too long, or that crypt(3) would refuse, whatever the account.
    pub(super) fn admitted(self, limits: &Limits) -> Result<Admitted<'p>, Error> {
        let Given { password, stand_in } = self;
        let Err(why) = limits.admit_password(password) else {
            return Ok(Admitted::Password(password));
        };
        let Some(stand_in) = stand_in else { return Err(why.into()) };
        limits.admit_password(stand_in)?;
        let max_password = limits.max_password;
        Ok(Admitted::Refused(Refused { password, stand_in, why: why.into(), max_password }))
    }
}

impl<'p> Refused<'p> {
    /// What this hash, or decoy, is compared with.
    ///
    /// # Errors
    /// Why the password was refused, if comparing it would take too long. A decoy is then compared
    /// with the stand-in.
    pub(super) fn compared_with(&self, hash: &Hash, is_decoy: bool) -> Result<&'p [u8], Error> {
        let Some(setting) = hash.foreign() else { return Ok(self.stand_in) };
        let most = setting.cost(self.max_password).work.saturating_add(UNNOTICED);
        match setting.cost(self.password.len()).work <= most {
            true => Ok(self.password),
            false if is_decoy => Ok(self.stand_in),
            false => Err(self.why.clone()),
        }
    }
}
