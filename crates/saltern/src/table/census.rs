//! Counts of the strings in a table.

use std::collections::BTreeMap;

use saltern_yescrypt::keys::KeyId;

use crate::cost_class::key;
use crate::opened::OpenedPolicy;
use crate::policy::DecoyCost;
use crate::scheme::Scheme;
use crate::stored::{Hash, Stored};

/// More costs, keys or ROMs than any honest table has; bounds the memory.
const MAX_DISTINCT: usize = 10_000;
/// Strings that need a ROM and name none.
pub(super) const UNNAMED: &str = "unnamed";

/// Counts of the strings of a table. See [`Table::count`](super::Table::count). With the feature
/// `json` it is `Serialize`: an object with these fields.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "json", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Census {
    /// Strings that could be read, including those of locked accounts.
    pub accounts: u64,
    /// Strings of locked accounts.
    pub locked: u64,
    /// Strings that could not be read. No other count includes them.
    pub bad: u64,
    /// Strings that the policy does not verify: their scheme is not accepted, or their cost is
    /// above the limits.
    pub refused: u64,
    /// Those of the refused that no policy verifies: schemes that are known only by name, such as
    /// `bcrypt in the Spring format`.
    pub unsupported: BTreeMap<String, u64>,
    /// Strings by scheme; a wrapped string counts for the scheme of the hash within.
    pub schemes: BTreeMap<Scheme, u64>,
    /// Strings by cost, in the form of [`DecoyCost::like`]. Locked accounts and refused strings are
    /// not counted here.
    pub costs: BTreeMap<String, u64>,
    /// Strings with further costs, after 10 000 different ones.
    pub other_costs: u64,
    /// Sealed strings. If the policy has keys for seals and the account was given, the seal is
    /// right.
    pub sealed: u64,
    /// Strings with a hash and without a seal.
    pub unsealed: u64,
    /// Strings that are not the ones sealed for their accounts. Beside this they are counted only
    /// as accounts.
    pub tampered: u64,
    /// Strings with the seal of a key that the policy, which has others, does not have. Beside this
    /// they are counted only as accounts.
    pub unknown_seals: u64,
    /// Strings that [`Table::seal`](super::Table::seal) would change.
    pub needs_seal: u64,
    /// Sealed strings by the name of the key.
    pub seals: BTreeMap<String, u64>,
    /// Sealed strings with further keys that the policy does not have, after 10 000 different ones.
    pub other_seals: u64,
    /// Encrypted strings by the name of the key.
    pub keys: BTreeMap<String, u64>,
    /// Strings with further keys that the policy does not have, after 10 000 different ones.
    pub other_keys: u64,
    /// Strings that need a ROM, by its id; `unnamed` for those that do not name it.
    pub roms: BTreeMap<String, u64>,
    /// Strings with further ROMs that the policy does not have, after 10 000 different ones.
    pub other_roms: u64,
    /// Wrapped strings.
    pub wrapped: u64,
    /// Strings for which there is any [reason](super::Reasons) to replace them.
    pub outdated: u64,
    /// Strings that only a login can replace.
    pub needs_login: u64,
    /// Strings of other schemes that are kept because they are stronger than new hashes:
    /// [`Policy::replace`](crate::Policy::replace) decides.
    pub kept: u64,
    /// Strings below the floor.
    pub below_floor: u64,
    /// Strings that [`Table::rekey`](super::Table::rekey) would change.
    pub needs_rekey: u64,
    /// Strings of other schemes that [`Passwords::wrap`](crate::Passwords::wrap) would wrap.
    pub needs_wrap: u64,
}

impl Census {
    /// Adds a count made elsewhere under the same policy.
    pub(super) fn merge(&mut self, mut other: Census, opened: &OpenedPolicy) {
        let sums = self.numbers_mut().into_iter().zip(other.numbers_mut());
        sums.for_each(|((_, sum), (_, count))| *sum += *count);
        for (scheme, count) in other.schemes {
            *self.schemes.entry(scheme).or_default() += count;
        }
        for (name, count) in other.unsupported {
            *self.unsupported.entry(name).or_default() += count;
        }
        // Keys and ROMs of the policy are always counted separately, so that none looks unused that
        // is needed.
        for (like, count) in other.costs {
            add(&mut self.costs, like, count, false, &mut self.other_costs);
        }
        for (name, count) in other.keys {
            let known = opened.policy.has_key(&name);
            add(&mut self.keys, name, count, known, &mut self.other_keys);
        }
        for (name, count) in other.seals {
            let known = opened.policy.has_seal_key(&name);
            add(&mut self.seals, name, count, known, &mut self.other_seals);
        }
        for (id, count) in other.roms {
            let known = id == UNNAMED || opened.policy.has_rom(&id);
            add(&mut self.roms, id, count, known, &mut self.other_roms);
        }
    }

    /// The counts that are one number, with the names of their fields.
    ///
    /// ```
    /// let census = saltern::table::Census::default();
    /// assert!(census.numbers().contains(&("needs_rekey", 0)));
    /// ```
    #[must_use]
    pub fn numbers(&self) -> [(&'static str, u64); 20] {
        self.clone().numbers_mut().map(|(name, number)| (name, *number))
    }

    fn numbers_mut(&mut self) -> [(&'static str, &mut u64); 20] {
        [
            ("accounts", &mut self.accounts),
            ("locked", &mut self.locked),
            ("bad", &mut self.bad),
            ("refused", &mut self.refused),
            ("outdated", &mut self.outdated),
            ("needs_rekey", &mut self.needs_rekey),
            ("needs_wrap", &mut self.needs_wrap),
            ("needs_login", &mut self.needs_login),
            ("kept", &mut self.kept),
            ("below_floor", &mut self.below_floor),
            ("wrapped", &mut self.wrapped),
            ("sealed", &mut self.sealed),
            ("unsealed", &mut self.unsealed),
            ("tampered", &mut self.tampered),
            ("unknown_seals", &mut self.unknown_seals),
            ("needs_seal", &mut self.needs_seal),
            ("other_seals", &mut self.other_seals),
            ("other_keys", &mut self.other_keys),
            ("other_roms", &mut self.other_roms),
            ("other_costs", &mut self.other_costs),
        ]
    }

    pub(super) fn add_bad(&mut self) {
        self.bad += 1;
    }

    /// Counts the seal of a string that has a hash.
    pub(super) fn add_seal(&mut self, key: Option<KeyId>, opened: &OpenedPolicy) {
        self.needs_seal += u64::from(key != opened.seals.active());
        self.sealed += u64::from(key.is_some());
        self.unsealed += u64::from(key.is_none());
        if let Some(key) = key {
            let (key, known) = (key.as_str().to_owned(), opened.policy.has_seal_key(key.as_str()));
            count(&mut self.seals, key, known, &mut self.other_seals);
        }
    }

    /// Counts a string that is not the one sealed for its account, or of which nobody knows it.
    pub(super) fn add_unsound(&mut self, tampered: bool, locked: bool) {
        self.accounts += 1;
        self.locked += u64::from(locked);
        self.tampered += u64::from(tampered);
        self.unknown_seals += u64::from(!tampered);
    }

    /// Counts a string of a scheme that is known only by name.
    pub(super) fn add_unsupported(&mut self, name: &str, locked: bool) {
        self.accounts += 1;
        self.locked += u64::from(locked);
        self.refused += 1;
        *self.unsupported.entry(name.to_owned()).or_default() += 1;
    }

    pub(super) fn add(&mut self, stored: &Stored<'_>, opened: &OpenedPolicy, refused: bool) {
        self.accounts += 1;
        self.locked += u64::from(stored.locked);
        self.refused += u64::from(refused);
        let Some(hash) = &stored.hash else { return };
        *self.schemes.entry(hash.scheme()).or_default() += 1;
        let mut reasons = opened.reasons(stored.sealed_with, hash);
        reasons.scheme |= !opened.policy.schemes.contains(&hash.scheme());
        self.wrapped += u64::from(matches!(hash, Hash::Wrapped(..)));
        self.outdated += u64::from(reasons.any());
        self.needs_login += u64::from(reasons.needs_password());
        self.kept += u64::from(!refused && opened.target.keeps(hash));
        self.below_floor += u64::from(reasons.floor);
        self.needs_rekey += u64::from(reasons.key);
        self.needs_wrap += u64::from(matches!(hash, Hash::Foreign(_)));
        self.add_seal(stored.sealed_with, opened);
        if let Some(key) = hash.key() {
            let (key, known) = (key.as_str().to_owned(), opened.policy.has_key(key.as_str()));
            count(&mut self.keys, key, known, &mut self.other_keys);
        }
        if hash.needs_unnamed_rom() {
            count(&mut self.roms, UNNAMED.to_owned(), true, &mut self.other_roms);
        }
        for id in hash.roms() {
            let known = opened.policy.roms.iter().any(|of_policy| of_policy.id == id);
            count(&mut self.roms, id.to_string(), known, &mut self.other_roms);
        }
        if !stored.locked && !refused {
            count(&mut self.costs, key(hash), false, &mut self.other_costs);
        }
    }

    /// The costs for [`Decoy::costs`](crate::policy::Decoy), the most frequent first, and at most
    /// this many. An account whose cost is left out can be distinguished from an unknown one, so
    /// leave out only rare costs.
    ///
    /// ```
    /// use saltern::{Policy, table::{Census, Table}};
    /// let mut policy = Policy::default();
    /// let (table, mut census) = (Table::open(&policy)?, Census::default());
    /// let stored = "$y$jD5.7$LdJMENpBABJJ3hIHjB1Bi.$HboGM6qPrsK.StKYGt6KErmUYtioHreJd98oIugoNB6";
    /// table.count(stored, &mut census)?;
    /// policy.decoy.costs = census.costs(20);
    /// assert_eq!(policy.decoy.costs[0].like, "$y$jD5.7$......................");
    /// # Ok::<(), saltern::Error>(())
    /// ```
    #[must_use]
    pub fn costs(&self, most: usize) -> Vec<DecoyCost> {
        let mut costs: Vec<_> = self
            .costs
            .iter()
            .map(|(like, &share)| DecoyCost { like: like.clone(), share })
            .collect();
        costs.sort_by(|a, b| b.share.cmp(&a.share).then_with(|| a.like.cmp(&b.like)));
        costs.truncate(most);
        costs
    }
}

/// Counts one more of this name; among the others if the name is new and not known, once the limit
/// of names is reached.
fn count(counts: &mut BTreeMap<String, u64>, name: String, known: bool, others: &mut u64) {
    add(counts, name, 1, known, others);
}

/// Counts this many more of a name.
fn add(
    counts: &mut BTreeMap<String, u64>,
    name: String,
    count: u64,
    known: bool,
    others: &mut u64,
) {
    if known || counts.len() < MAX_DISTINCT || counts.contains_key(&name) {
        *counts.entry(name).or_default() += count;
    } else {
        *others += count;
    }
}
