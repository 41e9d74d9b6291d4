//! `[[listen]]` in `salternd.toml`.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::clients::ClientEntry;
use super::{Invalid, wrong};
use crate::transport::TlsFiles;

/// Where the service listens.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listen {
    pub(crate) unix: Option<PathBuf>,
    /// The mode of the socket.
    pub(crate) mode: Option<Mode>,
    pub(crate) tcp: Option<SocketAddr>,
    pub(crate) client: Option<String>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) authorities: Option<PathBuf>,
}

/// The mode of a socket, in octal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mode(pub(crate) u32);

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mode = u32::from_str_radix(&text, 8).ok().filter(|mode| *mode <= 0o777);
        let wrong = || format!("{text:?}: expected octal digits such as \"0660\"");
        mode.map(Mode).ok_or_else(|| D::Error::custom(wrong()))
    }
}

impl Listen {
    /// Refuses invalid values in the entry with this key.
    pub(super) fn check(&self, key: &str) -> Result<(), Invalid> {
        let files = [&self.certificate, &self.key, &self.authorities];
        let named = files.iter().filter(|file| file.is_some()).count();
        match (&self.unix, self.tcp, &self.client) {
            (Some(_), None, None) if named == 0 => Ok(()),
            (None, Some(tcp), Some(_)) if !tcp.ip().is_loopback() => {
                Err(wrong(format!("{key}.tcp"), "", "a loopback address with `client`"))
            }
            (None, Some(_), Some(_)) if named == 0 && self.mode.is_none() => Ok(()),
            (None, Some(_), None) if named == 3 && self.mode.is_none() => Ok(()),
            _ => Err(wrong(
                key,
                "",
                "`unix`, with or without `mode`; or `tcp` with `certificate`, `key` and \
                 `authorities`; or `tcp` with `client`",
            )),
        }
    }

    /// Whether everybody who connects there is this client.
    pub(super) fn stands_for(&self, client: &ClientEntry) -> bool {
        self.client.as_ref() == Some(&client.name)
    }

    /// The files for TLS, if there are any.
    pub(crate) fn tls(&self) -> Option<TlsFiles> {
        Some(TlsFiles {
            certificate: self.certificate.clone()?,
            key: self.key.clone()?,
            authorities: self.authorities.clone()?,
        })
    }
}
