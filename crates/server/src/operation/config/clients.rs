//! `[[clients]]` in `salternd.toml`.

use std::sync::Arc;

use serde::Deserialize;

use super::{ConfigError, rate, wrong};
use crate::api::Right;
use crate::site::{Bucket, Client, Rate, Rights, Who};

/// An entry of the file: a program that asks.
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
}

/// A user or a group, by number or by name.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a name, or a number from 0 to 4294967295")]
enum Id {
    Number(u32),
    Name(String),
}

impl ClientEntry {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.burst.is_some() && self.rate.is_none() {
            return wrong(" clients.burst: expected only with `rate`");
        }
        if self.requests == Some(0) {
            return wrong(" clients.requests = 0: expected 1 or more");
        }
        self.rate()?;
        self.who().map(drop)
    }

    /// Whether no peer can be this client by itself.
    pub(super) fn is_nobody(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty() && self.certificates.is_empty()
    }

    /// The client, with what is counted of the one of before.
    pub(super) fn client(&self, before: Option<&Client>) -> Result<Client, ConfigError> {
        let mut client = Client::new(&self.name, self.who()?, Rights::of(&self.rights));
        client.rate = self.rate()?.map(|rate| Arc::new(Bucket::new(rate)));
        client.most = self.requests.unwrap_or(usize::MAX);
        if let Some(before) = before {
            client.go_on_from(before);
        }
        Ok(client)
    }

    fn rate(&self) -> Result<Option<Rate>, ConfigError> {
        let burst = || self.rate.as_deref().map_or(2, Rate::in_a_second);
        rate("clients.rate", self.rate.as_deref(), self.burst.unwrap_or_else(burst))
    }

    fn who(&self) -> Result<Who, ConfigError> {
        Ok(Who {
            users: ids("clients.users", &self.users, "/etc/passwd")?,
            groups: ids("clients.groups", &self.groups, "/etc/group")?,
            certificates: self.certificates.clone(),
        })
    }
}

/// The numbers of users or groups, of which those with names are looked up in a file.
fn ids(key: &str, ids: &[Id], file: &str) -> Result<Vec<u32>, ConfigError> {
    let number = |id: &Id| match id {
        Id::Number(number) => Ok(*number),
        Id::Name(name) => {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let found = text.lines().find_map(|line| {
                let mut fields = line.split(':');
                (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
            });
            let unknown =
                || wrong(format!(" {key} = {name:?}: expected a number or a name in {file}"));
            found.map_or_else(unknown, Ok)
        }
    };
    ids.iter().map(number).collect()
}
