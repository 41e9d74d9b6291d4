//! What several fuzz targets share: how little a computation may cost, and what the reference does
//! not know.

use std::cell::RefCell;

use saltern_yescrypt::params::{FlavorPolicy, Syntax};
use saltern_yescrypt::{Limits, Scheme, Workspace};

/// Limits for any setting under which there is an answer within milliseconds.
#[must_use]
pub fn tight_limits() -> Limits {
    let mut limits = Limits::server();
    (limits.max_memory, limits.max_work) = (1 << 20, 1 << 23);
    (limits.flavors, limits.syntax) = (FlavorPolicy::Any, Syntax::Wide);
    limits.max_password = 4096;
    limits
}

/// Computes with the workspace of this thread.
pub fn with_workspace<T>(work: impl FnOnce(&mut Workspace) -> T) -> T {
    thread_local! {
        static WORKSPACE: RefCell<Workspace> = RefCell::new(Workspace::new());
    }
    WORKSPACE.with_borrow_mut(work)
}

/// Whether the reference knows strings of this kind. Neither extended strings nor names before
/// `$y$`: those are for `yescrypt_extended`.
#[must_use]
pub fn is_of_the_reference(text: &[u8]) -> bool {
    Scheme::of(text) != Some(Scheme::Extended) && !text.starts_with(b"{")
}
