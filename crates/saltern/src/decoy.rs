//! The cost of a login for an account that does not exist.

use saltern_blake2::{Error as Blake2, blake2b};

use crate::cost_class::example;
use crate::error::Error;
use crate::policy::{Policy, Secret, read_key};
use crate::scheme::Scheme;
use crate::stored::Hash;

/// A personalisation that no other use of the key has.
const PERSONAL: &[u8] = b"saltern decoy 1";

/// The costs of a table, and their assignment to names.
pub(crate) struct Decoys {
    choice: blake2b::Params,
    /// Each with the sum of its share and those before it.
    costs: Vec<(u64, Hash)>,
    /// The last of them, up to the sum of all shares.
    last: (u64, Hash),
}

impl Decoys {
    /// The costs of a policy, or else that of new hashes, which have the setting `new`.
    pub(crate) fn new(policy: &Policy, new: &str, notes: &mut Vec<String>) -> Result<Self, Error> {
        let key = policy.decoy.key.as_ref().map(|source| read_key(source, notes)).transpose()?;
        // Without a key there is one cost only.
        let key = key.unwrap_or_else(|| Secret::new([0; 32]));
        let failed = |_| Error::Failed { scheme: Scheme::Yescrypt, why: "the decoy's hash" };
        let choice = choice(&key).map_err(failed)?;
        let (mut costs, mut sum) = (Vec::new(), 0);
        for cost in &policy.decoy.costs {
            sum = cost.share.saturating_add(sum);
            costs.push((sum, example(&cost.like)?));
        }
        let last = match costs.pop() {
            Some(last) => last,
            None => (1, example(new)?),
        };
        Ok(Decoys { choice, costs, last })
    }

    /// The hash whose cost an account that does not exist gets: always the same for one name.
    pub(crate) fn of(&self, account: &[u8]) -> &Hash {
        let hash = self.choice.hash(account);
        let first = hash.as_bytes().first_chunk().copied().unwrap_or_default();
        let total = self.last.0;
        // The hash as a fraction of 2^64, in shares. Costs that stay keep most of their accounts
        // when shares change.
        let at = (u128::from(u64::from_be_bytes(first)) * u128::from(total)) >> 64;
        let found = self.costs.iter().find(|(sum, _)| u128::from(*sum) > at);
        &found.unwrap_or(&self.last).1
    }

    /// All of them.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = &Hash> {
        self.costs.iter().chain([&self.last]).map(|(_, hash)| hash)
    }
}

fn choice(key: &Secret) -> Result<blake2b::Params, Blake2> {
    blake2b::Params::new().hash_length(8)?.key(key.bytes())?.personal(PERSONAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost_class::key;
    use crate::policy::{DecoyCost, KeySource};

    /// The distribution of costs over unknown accounts is that of the table: chi-squared over three
    /// costs, of which two degrees of freedom are left. 13.8 is exceeded once in a thousand times;
    /// the key is fixed, so that the test always comes out the same.
    #[test]
    fn unknown_accounts_have_the_costs_of_the_table_and_keep_them() {
        let mut policy = Policy::default();
        policy.decoy.key = Some(KeySource::Value(Secret::new([7; 32])));
        let shares = [
            (70, "$y$j75$......................"),
            (25, "$y$j9T$......"),
            (5, "$7$46..../....SodiumChloride"),
        ];
        policy.decoy.costs =
            shares.map(|(share, like)| DecoyCost { like: like.to_owned(), share }).to_vec();
        let decoys = Decoys::new(&policy, "", &mut Vec::new()).unwrap();
        let labels = shares.map(|(_, like)| key(&example(like).unwrap()));
        let mut counts = [0_u32; 3];
        for number in 0..20_000_u32 {
            let account = format!("user{number}");
            let cost = key(decoys.of(account.as_bytes()));
            assert_eq!(cost, key(decoys.of(account.as_bytes())));
            counts[labels.iter().position(|label| *label == cost).unwrap()] += 1;
        }
        let squares = shares.iter().zip(counts).map(|((share, _), count)| {
            let expected = f64::from(*share as u32) * 200.0;
            (f64::from(count) - expected).powi(2) / expected
        });
        let chi: f64 = squares.sum();
        assert!(chi < 13.8, "{counts:?}: {chi}");
    }
}
