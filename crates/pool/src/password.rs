//! Passwords of items.

use std::sync::Arc;

use saltern_wipe::Zeroizing;

/// A copy of a password, which everything that is computed with it shares. It is wiped when the
/// last of them has ended.
///
/// ```
/// use saltern_pool::Password;
/// let password = Password::from("secret");
/// assert_eq!(&*password.clone(), b"secret");
/// ```
#[derive(Clone)]
pub struct Password(Arc<Zeroizing<Vec<u8>>>);

impl<P: AsRef<[u8]> + ?Sized> From<&P> for Password {
    fn from(password: &P) -> Self {
        Password(Arc::new(Zeroizing::new(password.as_ref().to_vec())))
    }
}

impl std::ops::Deref for Password {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Omits the password.
impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Password").finish_non_exhaustive()
    }
}
