//! `[[users]]`: files of users, for proxies that ask whether a request may pass.

use std::path::PathBuf;
use std::sync::Arc;

use saltern::Error;
use saltern::policy::Invalid;
use serde::Deserialize;

use super::wrong;
use crate::site::UserFile;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UsersEntry {
    /// What `?users=` of a request names.
    pub(super) name: String,
    pub(super) file: PathBuf,
    /// For the challenge to browsers; the name if there is none.
    realm: Option<String>,
    #[serde(default)]
    update: bool,
}

impl UsersEntry {
    pub(super) fn check(&self, key: &str) -> Result<(), Invalid> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if self.name.is_empty() || !self.name.chars().all(plain) {
            let allowed = "letters, digits, dots, hyphens and underscores";
            return Err(wrong(format!("{key}.name"), "", allowed));
        }
        let visible = |c: char| matches!(c, ' '..='~') && c != '"' && c != '\\';
        if !self.realm.as_ref().is_none_or(|realm| realm.chars().all(visible)) {
            let allowed = "visible ASCII characters without quotes and backslashes";
            return Err(wrong(format!("{key}.realm"), "", allowed));
        }
        Ok(())
    }

    pub(super) fn open(&self) -> Result<Arc<UserFile>, Error> {
        let realm = self.realm.as_ref().unwrap_or(&self.name).clone();
        UserFile::open(self.name.clone(), realm, self.file.clone(), self.update).map(Arc::new)
    }
}
