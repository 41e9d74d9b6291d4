//! From a password and a setting to a complete string, for the interfaces that take both. Limits
//! and memory are the caller's, and waiting calls are computed together.

use saltern_wipe::Zeroizing;
use saltern_yescrypt::keys::HashKey;
use saltern_yescrypt::params::{FlavorPolicy, Syntax};
use saltern_yescrypt::rom::{Rom, RomMemory};
use saltern_yescrypt::{Error, HashString, Hasher, Limits, Scheme, Setting};

use crate::arena::Memory;
use crate::gather::{self, Job};

/// The longest text of a setting that is read. Real settings are much shorter.
pub(crate) const MOST_SETTING: usize = 4096;

/// A password, its setting, and the site's ROM and key for the hash.
pub(crate) struct Request<'a> {
    pub(crate) password: &'a [u8],
    /// A setting or a complete string.
    pub(crate) setting: &'a [u8],
    pub(crate) key: Option<HashKey>,
    /// The image to compute the setting with.
    pub(crate) rom: Option<&'static [u8]>,
    /// As strict as crypt(3), or as upstream's library.
    pub(crate) syntax: Syntax,
}

/// An image in the caller's memory, valid for the duration of the call.
struct Borrowed(&'static [u8]);

impl RomMemory for Borrowed {
    fn bytes(&self) -> &[u8] {
        self.0
    }
}

/// Limits of a C library: none on costs, which the caller decides, and only the default flavour, as
/// in those libraries.
pub(crate) fn limits(syntax: Syntax) -> Limits {
    let mut limits = Limits::unlimited();
    (limits.flavors, limits.syntax) = (FlavorPolicy::DefaultOnly, syntax);
    limits
}

/// The complete string.
pub(crate) fn hash(request: Request<'_>, memory: Memory<'_>) -> Result<Vec<u8>, Error> {
    let Request { password, setting, key, rom, syntax } = request;
    let plain = setting.starts_with(b"$y$") || setting.starts_with(b"$7$");
    let setting = Setting::parse(setting)?;
    if !plain || key.is_some() && setting.scheme() != Scheme::Yescrypt {
        return Err(Error::KeyNotApplicable);
    }
    let mut hasher = Hasher::new().with_limits(limits(syntax));
    if let Some(key) = key {
        hasher = hasher.assuming_unnamed_key(key);
    }
    if let Some(rom) = rom {
        if setting.params().nrom == 0 {
            return Err(Error::RomNotUsed);
        }
        hasher = hasher.with_rom(Rom::new(Borrowed(rom))?);
    }
    let plan = hasher.plan(password, &setting)?;
    // The plan's parameters have no NROM, since it has the ROMs in a list.
    let params = setting.params().check(hasher.limits())?;
    let mut out = Zeroizing::new([0; 32]);
    let job = Job { params, rom, password, salt: &plan.salt, out: &mut *out };
    gather::compute(job, memory)?;
    hasher.complete(&setting, &out).map(HashString::into_bytes)
}
