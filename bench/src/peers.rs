//! Other implementations of yescrypt and scrypt, and what all of them and Saltern are given to hash.

use std::ffi::{CStr, CString, OsStr, OsString};

use anyhow::{Context, ensure};
use saltern_yescrypt::{HashString, Hasher, Limits, Mode, Params, Setting, Workspace};

use crate::crypt_r::SystemCrypt;
use crate::upstream::Upstream;

/// A password and the setting to hash it under.
pub struct Job {
    /// The password.
    pub password: CString,
    /// Parameters and salt.
    pub setting: Setting,
    text: CString,
}

impl Job {
    /// The setting as text.
    #[must_use]
    pub fn text(&self) -> &CStr {
        &self.text
    }
}

/// Up to 256 passwords of one length, each with a salt of its own; `$7$` for classic scrypt, otherwise `$y$`.
///
/// # Errors
/// Those of [`Setting::new`] for parameters without a text.
pub fn jobs(params: &Params, count: u8) -> anyhow::Result<Vec<Job>> {
    let job = |number| {
        let setting = match params.mode {
            Mode::Classic => Setting::scrypt(params, &[number; 16])?,
            _ => Setting::new(params, &[number; 16])?,
        };
        let password = CString::new(format!("correct horse battery staple {number:3}"))?;
        Ok(Job { password, text: CString::new(setting.as_bytes())?, setting })
    };
    (0..count).map(job).collect()
}

/// The hasher that is measured: every parameter is allowed.
#[must_use]
pub fn hasher() -> Hasher<'static> {
    Hasher::new().with_limits(Limits::unlimited())
}

/// Another implementation.
pub enum Peer {
    /// The system's crypt_r(3).
    System(SystemCrypt),
    /// The crate `yescrypt`.
    YescryptCrate,
    /// The crate `scrypt`.
    ScryptCrate,
    /// yescrypt's own C code, and where it was found.
    Upstream(OsString, Box<Upstream>),
}

impl Peer {
    /// The peers there are. Only the system's library has to be there; `upstream` is a library with yescrypt's own C interface.
    ///
    /// # Errors
    /// Those of finding a library.
    pub fn all(upstream: Option<&OsStr>) -> anyhow::Result<Vec<Peer>> {
        let mut peers = vec![Self::system()?, Peer::YescryptCrate, Peer::ScryptCrate];
        match upstream {
            None => eprintln!("no --upstream: yescrypt's own C interface is not compared"),
            Some(path) => peers.push(Self::upstream(path)?),
        }
        Ok(peers)
    }

    fn system() -> anyhow::Result<Peer> {
        Ok(Peer::System(SystemCrypt::open().context("the system's libcrypt.so.1")?))
    }

    fn upstream(path: &OsStr) -> anyhow::Result<Peer> {
        let library = Upstream::open(path).with_context(|| format!("{}", path.display()))?;
        Ok(Peer::Upstream(path.to_owned(), Box::new(library)))
    }

    /// The same implementation with memory of its own, for another thread.
    ///
    /// # Errors
    /// Those of finding a library.
    pub fn again(&self) -> anyhow::Result<Peer> {
        match self {
            Peer::System(_) => Self::system(),
            Peer::YescryptCrate => Ok(Peer::YescryptCrate),
            Peer::ScryptCrate => Ok(Peer::ScryptCrate),
            Peer::Upstream(path, _) => Self::upstream(path),
        }
    }

    /// For people.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Peer::System(_) => "system crypt_r",
            Peer::YescryptCrate => "crate yescrypt 0.1",
            Peer::ScryptCrate => "crate scrypt 0.12",
            Peer::Upstream(..) => "upstream C, memory reused",
        }
    }

    /// Whether it computes this mode at all.
    #[must_use]
    pub fn computes(&self, mode: Mode) -> bool {
        match self {
            Peer::System(_) | Peer::Upstream(..) => mode != Mode::Worm,
            Peer::YescryptCrate => mode == Mode::Rw,
            Peer::ScryptCrate => mode == Mode::Classic,
        }
    }

    /// The hash; none if the implementation refuses the parameters. The two crates are asked for the bare hash, which leaves out the
    /// little work on the text around it.
    pub fn hash(&mut self, job: &Job) -> Option<[u8; 32]> {
        let (password, params) = (job.password.to_bytes(), job.setting.params());
        let mut hash = [0; 32];
        match self {
            Peer::System(library) => return hash_of(library.hash(&job.password, &job.text)),
            Peer::Upstream(_, library) => return hash_of(library.hash(password, &job.text)),
            Peer::YescryptCrate => {
                let mode = yescrypt::Mode::default();
                let theirs = yescrypt::Params::new(mode, params.n, params.r, params.p).ok()?;
                yescrypt::yescrypt(password, job.setting.salt(), &theirs, &mut hash).ok()?;
            }
            Peer::ScryptCrate => {
                let log_n = u8::try_from(params.n.ilog2()).ok()?;
                let theirs = scrypt::Params::new(log_n, params.r, params.p).ok()?;
                scrypt::scrypt(password, job.setting.salt(), &theirs, &mut hash).ok()?;
            }
        }
        Some(hash)
    }

    /// Makes sure that it computes the same as Saltern; returns the complete hashes.
    ///
    /// # Errors
    /// If it does not, or either refuses.
    pub fn agree(
        &mut self,
        jobs: &[Job],
        workspace: &mut Workspace,
    ) -> anyhow::Result<Vec<Vec<u8>>> {
        let mut hashes = Vec::new();
        for job in jobs {
            let (password, text) = (job.password.to_bytes(), job.text.to_bytes());
            let ours = hasher().hash_with_setting(workspace, password, text)?;
            let theirs = self.hash(job);
            let theirs =
                theirs.with_context(|| format!("{} refuses {:?}", self.name(), job.text))?;
            let same = *HashString::parse(&ours)?.hash() == theirs;
            ensure!(same, "{} computes another hash for {:?}", self.name(), job.text);
            hashes.push(ours);
        }
        Ok(hashes)
    }
}

/// The hash in a peer's string.
fn hash_of(text: Option<&CStr>) -> Option<[u8; 32]> {
    Some(*HashString::parse(text?.to_bytes()).ok()?.hash())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peers_that_are_always_there_agree_and_a_wrong_one_is_noticed() {
        let mut workspace = Workspace::new();
        for params in [Params::yescrypt(64, 8), Params::scrypt(64, 8, 1)] {
            let jobs = jobs(&params, 2).unwrap();
            let mut asked = 0;
            for mut peer in Peer::all(None).unwrap() {
                if peer.computes(params.mode) {
                    assert_eq!(peer.agree(&jobs, &mut workspace).unwrap().len(), 2);
                    asked += 1;
                }
            }
            assert_eq!(asked, 2);
        }
        // The crate `yescrypt` takes classic parameters for its own.
        let jobs = jobs(&Params::scrypt(64, 8, 1), 1).unwrap();
        assert!(Peer::YescryptCrate.agree(&jobs, &mut workspace).is_err());
    }
}
