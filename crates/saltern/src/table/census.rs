//! What is in a table.

use std::collections::BTreeMap;

use crate::class::label;
use crate::policy::DecoyCost;
use crate::rehash::Target;
use crate::scheme::Scheme;
use crate::stored::{Hash, Stored};

/// More costs than any table has that was not made to fill memory.
const MAX_COSTS: usize = 10_000;
/// Strings that need a ROM and name none.
pub(super) const UNNAMED: &str = "unnamed";

/// Counts of the strings of a table. See [`Table::count`](super::Table::count).
#[derive(Clone, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Census {
    /// All that was counted, but not what could not be read.
    pub accounts: u64,
    /// Of these, locked ones.
    pub locked: u64,
    /// What could not be read.
    pub bad: u64,
    /// What the policy does not verify: schemes that it does not accept, costs above its limits.
    pub refused: u64,
    /// By scheme; wrapped ones by that of the hash within.
    pub schemes: BTreeMap<Scheme, u64>,
    /// By cost, as [`DecoyCost::like`] has it. Locked accounts are not in it, nor
    /// what is refused.
    pub costs: BTreeMap<String, u64>,
    /// Of more than 10 000 different costs the rest.
    pub other_costs: u64,
    /// By the name of the key, where there is one.
    pub keys: BTreeMap<String, u64>,
    /// By the id of the ROM, where one is needed; `unnamed` where none is named.
    pub roms: BTreeMap<String, u64>,
    /// Hashes over hashes.
    pub wrapped: u64,
    /// Those for which there is any [reason](super::Reasons) to be replaced.
    pub outdated: u64,
    /// Those that only a login can replace.
    pub needs_login: u64,
    /// Those below the floor.
    pub below_floor: u64,
}

impl Census {
    pub(super) fn add_bad(&mut self) {
        self.bad += 1;
    }

    pub(super) fn add(&mut self, stored: &Stored<'_>, target: &Target, refused: bool) {
        self.accounts += 1;
        self.locked += u64::from(stored.locked);
        self.refused += u64::from(refused);
        let Some(hash) = &stored.hash else { return };
        *self.schemes.entry(hash.scheme()).or_default() += 1;
        let reasons = target.reasons(hash);
        self.wrapped += u64::from(reasons.wrapped);
        self.outdated += u64::from(reasons.any());
        self.needs_login += u64::from(reasons.needs_password());
        self.below_floor += u64::from(reasons.floor);
        if let Some(setting) = hash.ours().map(saltern_yescrypt::HashString::setting) {
            if let Some(key) = setting.key_id() {
                *self.keys.entry(key.as_str().to_owned()).or_default() += 1;
            }
            let named = setting.rom_id().into_iter().chain(setting.roms().iter().map(|rom| rom.id));
            let mut named: Vec<String> = named.map(|id| id.to_string()).collect();
            if named.is_empty() && setting.params().nrom != 0 {
                named.push(UNNAMED.to_owned());
            }
            for id in named {
                *self.roms.entry(id).or_default() += 1;
            }
        }
        if !stored.locked && !refused {
            self.add_cost(hash);
        }
    }

    fn add_cost(&mut self, hash: &Hash) {
        let label = label(hash);
        if self.costs.len() >= MAX_COSTS && !self.costs.contains_key(&label) {
            self.other_costs += 1;
            return;
        }
        *self.costs.entry(label).or_default() += 1;
    }

    /// The costs for [`Decoy::costs`](crate::policy::Decoy), the most frequent first, at most so
    /// many: what is left out is as rare as it is visible.
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
