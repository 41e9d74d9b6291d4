//! `[[clients]]` in `salternd.toml`.

use std::sync::Arc;

use serde::Deserialize;

use super::{Invalid, rate, wrong};
use crate::api::Right;
use crate::site::{Bucket, Client, Rate, Rights, Who};

/// An entry of the file: a program that sends requests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientEntry {
    pub(super) name: String,
    #[serde(default)]
    users: Vec<Id>,
    #[serde(default)]
    groups: Vec<Id>,
    #[serde(default)]
    certificates: Vec<String>,
    rights: Vec<Right>,
    rate: Option<String>,
    burst: Option<u32>,
    requests: Option<usize>,
    weight: Option<u32>,
}

/// A user or a group, by number or by name.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a name, or a number from 0 to 4294967295")]
enum Id {
    Number(u32),
    Name(String),
}

impl ClientEntry {
    /// Refuses invalid values in the entry with this key.
    pub(super) fn check(&self, key: &str) -> Result<(), Invalid> {
        if self.burst.is_some() && self.rate.is_none() {
            return Err(wrong(format!("{key}.burst"), "", "only with `rate`"));
        }
        if self.requests == Some(0) {
            return Err(wrong(format!("{key}.requests"), "", "1 or more"));
        }
        if let Some(name) = self.certificates.iter().find(|name| !is_a_name(name)) {
            let allowed = "a whole name or URI as it stands in the certificate, without `*`";
            return Err(wrong(format!("{key}.certificates"), format!("{name:?}"), allowed));
        }
        if self.weight.is_some_and(|weight| !(1..=1000).contains(&weight)) {
            return Err(wrong(format!("{key}.weight"), "", "1 to 1000"));
        }
        self.rate(key)?;
        self.who(key).map(drop)
    }

    /// Whether no peer is identified as this client by the entry itself.
    pub(super) fn is_nobody(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty() && self.certificates.is_empty()
    }

    /// The client, with the counts of the earlier one.
    pub(super) fn client(&self, key: &str, before: Option<&Client>) -> Result<Client, Invalid> {
        let mut client = Client::new(&self.name, self.who(key)?, Rights::of(&self.rights));
        client.rate = self.rate(key)?.map(|rate| Arc::new(Bucket::new(rate)));
        client.most = self.requests.unwrap_or(usize::MAX);
        client.share = client.share.weight(self.weight.unwrap_or(1));
        if let Some(before) = before {
            client.go_on_from(before);
        }
        Ok(client)
    }

    fn rate(&self, key: &str) -> Result<Option<Rate>, Invalid> {
        let burst = || self.rate.as_deref().map_or(2, Rate::in_a_second);
        rate(&format!("{key}.rate"), self.rate.as_deref(), self.burst.unwrap_or_else(burst))
    }

    fn who(&self, key: &str) -> Result<Who, Invalid> {
        Ok(Who {
            users: ids(&format!("{key}.users"), &self.users, "/etc/passwd")?,
            groups: ids(&format!("{key}.groups"), &self.groups, "/etc/group")?,
            certificates: self.certificates.clone(),
        })
    }
}

/// Whether a name in a certificate can be this one, which is compared as it is.
fn is_a_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c == '*' || c.is_whitespace() || c.is_control())
}

/// The numbers of users or groups; names are looked up in a file.
fn ids(key: &str, ids: &[Id], file: &str) -> Result<Vec<u32>, Invalid> {
    let number = |id: &Id| match id {
        Id::Number(number) => Ok(*number),
        Id::Name(name) => {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let found = text.lines().find_map(|line| {
                let mut fields = line.split(':');
                (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
            });
            let allowed = || format!("a number or a name in {file}");
            found.ok_or_else(|| wrong(key, format!("{name:?}"), allowed()))
        }
    };
    ids.iter().map(number).collect()
}
