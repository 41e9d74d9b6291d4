//! A policy whose files have been read and whose ROMs are attached.

use std::sync::Arc;

use saltern_pool::{Pool, PoolConfig};
use saltern_yescrypt::Hasher;

use crate::decoy::Decoys;
use crate::error::Error;
use crate::foreign;
use crate::opened::OpenedPolicy;
use crate::policy::Policy;
use crate::remembered::Remembered;
use crate::stored::{Hash, Stored};
use crate::table::Table;

/// Everything that [`Passwords`](crate::Passwords) need except threads: a policy whose keys have
/// been read and whose ROMs are attached. Clones are cheap and share everything.
///
/// For programs that start their threads later or share one pool among several policies
/// ([`Passwords::in_pool`](crate::Passwords::in_pool)). One that is made before a process forks
/// serves the children as well, each with its own pool: they share the memory that ROMs were copied
/// into.
///
/// ```
/// use std::sync::Arc;
/// use saltern::{Passwords, Policy, Prepared, policy::Params};
/// let mut cheap = Policy::default();
/// cheap.params = Params::from_cost(2)?;
/// let [cheap, dear] = [Prepared::new(cheap)?, Prepared::new(Policy::default())?];
/// let pool = Arc::new(saltern_pool::Pool::new(dear.pool_config()).map_err(saltern::Error::from)?);
/// let [cheap, dear] = [cheap, dear].map(|policy| Passwords::in_pool(&policy, Arc::clone(&pool)));
/// let stored = cheap.hash("correct horse").wait()?;
/// assert!(dear.verify("alice", "correct horse", Some(&stored)).wait()?.is_match());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Prepared {
    table: Table,
    decoys: Arc<Decoys>,
    remembered: Option<Arc<Remembered>>,
}

impl Prepared {
    /// Reads the key files and attaches the ROMs.
    ///
    /// # Errors
    /// Those of [`Passwords::new`](crate::Passwords::new), except those of the pool.
    pub fn new(policy: Policy) -> Result<Self, Error> {
        Self::beside(&policy, None)
    }

    /// Opens a policy, reusing what a present site has in memory.
    pub(crate) fn beside(policy: &Policy, present: Option<&OpenedPolicy>) -> Result<Self, Error> {
        let mut opened = OpenedPolicy::attach(policy, present)?;
        let decoys = decoys(&mut opened, OpenedPolicy::can_compute)?;
        let remembered = policy.remember.as_ref().map(Remembered::new).transpose()?;
        Ok(Prepared {
            table: Table::of(opened),
            decoys: Arc::new(decoys),
            remembered: remembered.map(Arc::new),
        })
    }

    /// Checks everything that [`Passwords::new`](crate::Passwords::new) would refuse, except ROMs
    /// themselves, which take long to attach and need not be there: of these the manifests are
    /// read. Returns remarks for the operator. Takes little memory, and starts a thread for a
    /// moment, or one for each of [`PoolConfig::processors`].
    ///
    /// ```
    /// use saltern::{Policy, Prepared};
    /// let mut policy = Policy::default();
    /// assert!(Prepared::check(&policy)?.is_empty());
    /// policy.assume_unnamed_rom = Some("0123456789abcdef".parse()?);
    /// assert!(Prepared::check(&policy).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Passwords::new`](crate::Passwords::new).
    pub fn check(policy: &Policy) -> Result<Vec<String>, Error> {
        let mut opened = OpenedPolicy::open(policy)?;
        opened.check_inactive()?;
        decoys(&mut opened, OpenedPolicy::could_compute)?;
        let mut config = policy.pool.clone();
        let bound = config.processors.len().min(config.threads).max(1);
        (config.threads, config.prepare) = (bound, None);
        drop(Pool::new(config)?);
        Ok(opened.notes)
    }

    /// A handle for the strings of one account: [`Table::for_account`].
    #[must_use]
    pub fn for_account(&self, account: impl AsRef<[u8]>) -> Self {
        Prepared { table: self.table.for_account(account), ..self.clone() }
    }

    /// The operations on stored strings that need no password.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Whether a stored string could be verified: it can be read, the policy admits it, and its key
    /// and its ROM are available. Computes no hash, and does not involve a password. `false` for a
    /// locked account without a hash.
    ///
    /// ```
    /// use saltern::{Policy, Prepared};
    /// let prepared = Prepared::new(Policy::default())?;
    /// let stored = "$y$j75$LdJMENpBABJJ3hIHjB1Bi.$LOFz5qVpaHYHlkfy7RM1hH9gRBSqy5mk4KRmFVRFKM4";
    /// assert!(prepared.can_verify(stored)?);
    /// assert!(!prepared.can_verify("!")?);
    /// # Ok::<(), saltern::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those that a login would have ([`Passwords::verify`](crate::Passwords::verify)), and *bad
    /// input* for a sealed string without its account ([`Prepared::for_account`]).
    pub fn can_verify(&self, stored: &str) -> Result<bool, Error> {
        let opened = self.opened();
        let sealed = opened.check_seal(self.table.account(), stored)?;
        let Some(hash) = Stored::of(sealed)?.hash else { return Ok(false) };
        opened.policy.admit(&hash)?;
        opened.can_compute(&hash).map(|()| true)
    }

    /// The configuration of a pool for this policy: [`Policy::pool`], with the sources for ROMs
    /// that stay in their files.
    #[must_use]
    pub fn pool_config(&self) -> PoolConfig {
        let opened = self.opened();
        #[allow(unused_mut, reason = "which features there are decides")]
        let mut config = opened.policy.pool.clone();
        #[cfg(feature = "rom")]
        if config.sources.is_none() {
            config.sources = opened.roms.sources();
        }
        config
    }

    /// The hasher of new strings, with the policy's parameters, limits, keys and ROMs. Copies of it
    /// make settings of other parameters or with other ROMs, for
    /// [`Passwords::hash_with_setting`](crate::Passwords::hash_with_setting).
    ///
    /// ```
    /// use saltern::{Passwords, Policy, Prepared, policy::Params};
    /// let prepared = Prepared::new(Policy::default())?;
    /// let hasher = prepared.hasher().clone().with_params(Params::scrypt_from_cost(6)?);
    /// assert!(hasher.random_setting()?.as_bytes().starts_with(b"$7$B"));
    /// # Ok::<(), saltern::Error>(())
    /// ```
    #[must_use]
    pub fn hasher(&self) -> &Hasher {
        &self.opened().hasher
    }

    pub(crate) fn opened(&self) -> &OpenedPolicy {
        &self.table.opened
    }

    pub(crate) fn decoys(&self) -> &Decoys {
        &self.decoys
    }

    /// The logins that are remembered, if the policy wants it.
    pub(crate) fn remembered(&self) -> Option<&Remembered> {
        self.remembered.as_deref()
    }
}

/// The decoys of a site, once it is known that all it needs is available.
fn decoys(
    opened: &mut OpenedPolicy,
    computable: impl Fn(&OpenedPolicy, &Hash) -> Result<(), Error>,
) -> Result<Decoys, Error> {
    let new = opened.new_setting()?;
    foreign::ready(&opened.policy.schemes)?;
    let decoys = Decoys::new(&opened.policy, &new, &mut opened.notes)?;
    for hash in decoys.hashes() {
        // An error that occurs only for unknown accounts would give them away.
        let failed = |error| Error::unavailable("a cost of [[decoy.costs]]", error);
        computable(opened, hash).map_err(failed)?;
    }
    Ok(decoys)
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Prepared {{ {:?} }}", self.table)
    }
}
