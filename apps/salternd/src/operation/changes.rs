//! What a reload has changed, for the log: a line for each key, ROM, client and part of the policy.

use saltern::Policy;
use saltern::policy::{Key, RomSource};
use serde_json::{Value, json};

use crate::site::Current;

/// One change.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Change {
    what: &'static str,
    name: String,
    change: &'static str,
}

impl Change {
    pub(super) fn fields(&self) -> [(&'static str, Value); 3] {
        [("what", json!(self.what)), ("name", json!(self.name)), ("change", json!(self.change))]
    }
}

/// The differences between what was used for requests and what is now.
pub(super) fn changes(before: &Current, new: &Current) -> Vec<Change> {
    let policies = [before, new].map(|current| current.passwords.table().policy());
    let named = |keys: &[Key]| -> Vec<_> {
        keys.iter().map(|key| (key.name.to_string(), key.active)).collect()
    };
    let keys = policies.map(|policy| named(&policy.keys));
    let seal_keys = policies.map(|policy| named(&policy.seal.keys));
    let roms = policies.map(|policy| {
        let named = policy.roms.iter().map(|rom| (rom.id.to_string(), rom.active));
        named.collect::<Vec<_>>()
    });
    // A client is the same as long as its name, its rights and its weight are.
    let clients = [before, new].map(|current| {
        let described = |client: &std::sync::Arc<crate::site::Client>| {
            let described = (&client.who, client.rights, client.share, client.most);
            (client.name.clone(), format!("{described:?}"))
        };
        current.clients.0.iter().map(described).collect::<Vec<_>>()
    });
    let into = |active: &bool| if *active { "activated" } else { "deactivated" };
    let mut all = of_names("key", &keys, into);
    all.extend(of_names("seal key", &seal_keys, into));
    all.extend(of_names("rom", &roms, into));
    all.extend(of_names("client", &clients, |_| "changed"));
    all.extend(of_policy(policies));
    all
}

/// Names that are gone, new, or in another state.
fn of_names<S: PartialEq>(
    what: &'static str,
    [before, new]: &[Vec<(String, S)>; 2],
    into: impl Fn(&S) -> &'static str,
) -> Vec<Change> {
    let state = |of: &'_ [(String, S)], name: &str| of.iter().position(|(known, _)| known == name);
    let gone = before.iter().filter(|(name, _)| state(new, name).is_none());
    let gone = gone.map(|(name, _)| (name, "removed"));
    let others = new.iter().filter_map(|(name, now)| match state(before, name) {
        None => Some((name, "added")),
        Some(at) => (before[at].1 != *now).then(|| (name, into(now))),
    });
    let change = |(name, change): (&String, _)| Change { what, name: name.clone(), change };
    gone.chain(others).map(change).collect()
}

/// Parts of the policy that differ, by the name that they have in its file.
fn of_policy([before, new]: [&Policy; 2]) -> Vec<Change> {
    let parts = |policy: &Policy| {
        [
            ("params", format!("{:?}", policy.params)),
            ("floor", format!("{:?} {}", policy.floor, policy.min_salt)),
            ("limits", format!("{:?}", policy.limits)),
            ("schemes", format!("{:?} {:?}", policy.schemes, policy.replace)),
            ("pool", format!("{:?} {:?}", policy.pool, policy.deadline)),
            ("decoy", format!("{:?}", policy.decoy.costs)),
            ("seal", policy.seal.required.to_string()),
            ("firebase", format!("{:?}", policy.firebase)),
            ("remember", format!("{:?}", policy.remember)),
        ]
    };
    let pairs = parts(before).into_iter().zip(parts(new));
    let changed = pairs.filter(|(before, new)| before != new);
    let change =
        |((name, _), _)| Change { what: "policy", name: str::to_owned(name), change: "changed" };
    changed.map(change).collect()
}

/// ROMs in memory whose files a next start would not find or not take, one line each.
pub(super) fn roms_without_files(policy: &Policy) -> Vec<String> {
    let missing = policy.roms.iter().filter_map(|rom| {
        let RomSource::Image { path, hash, .. } = &rom.source else { return None };
        let error = saltern_rom::check(path, Some(*hash)).err()?;
        Some(format!(
            "the ROM {} is in memory, but its file cannot be used, so the next start would fail: \
             {error}",
            rom.id
        ))
    });
    missing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_come_go_and_change_are_told() {
        let named = |all: &[(&str, bool)]| -> Vec<_> {
            all.iter().map(|(name, active)| ((*name).to_owned(), *active)).collect()
        };
        let keys = [named(&[("a", true), ("b", false)]), named(&[("b", true), ("c", false)])];
        let found = of_names("key", &keys, |active| if *active { "activated" } else { "?" });
        let found: Vec<_> = found.iter().map(|change| (&*change.name, change.change)).collect();
        assert_eq!(found, [("a", "removed"), ("b", "activated"), ("c", "added")]);
    }

    #[test]
    fn parts_of_the_policy_are_told_by_name() {
        let (before, mut new) = (Policy::default(), Policy::default());
        assert_eq!(of_policy([&before, &new]), []);
        new.min_salt += 1;
        new.deadline = Some(std::time::Duration::from_millis(7));
        new.seal.required = true;
        let found: Vec<_> = of_policy([&before, &new]).into_iter().map(|one| one.name).collect();
        assert_eq!(found, ["floor", "pool", "seal"]);
    }
}
