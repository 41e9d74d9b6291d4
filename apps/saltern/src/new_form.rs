//! The form of new strings: their settings, and notes on them.

use saltern_yescrypt::{Hasher, Params, Setting};

use crate::crypt3;
use crate::limits::explain;
use crate::protection::Protection;
use crate::rom::NewRoms;
use crate::site::Site;

/// The form of new strings.
pub(crate) struct NewForm {
    hasher: Hasher,
    /// What settings that are given must use.
    protection: Protection,
    /// Whether strings that name no key are encrypted.
    unnamed_key: bool,
}

impl NewForm {
    /// As the policy of a file has it.
    pub(crate) fn of_site(site: &Site) -> Self {
        let prepared = site.prepared();
        let unnamed_key = prepared.table().policy().assume_unnamed_key.is_some();
        let (hasher, protection) = (prepared.hasher().clone(), Protection::default());
        NewForm { hasher, protection, unnamed_key }
    }

    /// With these parameters and ROMs, and the keys of the site.
    ///
    /// # Errors
    ///
    /// Those of any setting of this form.
    pub(crate) fn of_options(
        site: &Site,
        params: Params,
        roms: &NewRoms,
        protection: Protection,
    ) -> anyhow::Result<Self> {
        let form = Self::of_site(site);
        let mut set = form.hasher.roms().clone();
        if let Some(id) = roms.active {
            set.activate(id)?;
        }
        let hasher = form.hasher.with_params(params).with_roms(set).with_named_roms(&roms.named);
        Ok(NewForm { hasher, protection, ..form })
    }

    /// The given setting, or a new one.
    ///
    /// # Errors
    ///
    /// If the given one would not use the keys and ROMs; if new ones cannot be hashed under.
    pub(crate) fn setting(&self, given: Option<&[u8]>) -> anyhow::Result<Setting> {
        let Some(text) = given else { return self.hasher.random_setting().map_err(explain) };
        let setting = Setting::parse(text)?;
        self.protection.check(&setting)?;
        Ok(setting)
    }

    /// Notes on a new string under this setting.
    pub(crate) fn notes(&self, setting: &Setting, password: &[u8]) -> Vec<String> {
        crypt3::notes(setting, self.unnamed_key, password)
    }
}
