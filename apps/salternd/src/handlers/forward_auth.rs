//! Whether a proxy may let a request pass, by the user name and the password that came with it.

use std::sync::Arc;

use saltern_wipe::Zeroizing;
use serde_json::json;
use tokio::time::timeout;

use super::single::{Login, verify};
use super::{Call, RequestContext};
use crate::api::{Answer, Kind, Problem, Reason, Verdict, Verified};
use crate::site::UserFile;

/// A user name and a password, as a browser sends them.
pub(crate) struct Credentials {
    pub(crate) user: String,
    pub(crate) password: Zeroizing<Vec<u8>>,
}

/// The answer for a proxy.
pub(crate) enum Access {
    Granted {
        user: String,
    },
    /// Without credentials, or with wrong ones.
    Denied {
        realm: String,
    },
}

/// Checks credentials against a file of users: that of this name, or the first one.
///
/// # Errors
/// Why they could not be checked.
pub(crate) async fn forward_auth(
    call: Call,
    users: Option<&str>,
    credentials: Option<Credentials>,
) -> Result<Access, Problem> {
    let file = call.context.current.users.named(users).map(Arc::clone);
    let unknown = || Problem::new(Reason::BadInput, "salternd.toml has no such [[users]]");
    let checked = match (file.ok_or_else(unknown), credentials) {
        (Err(problem), _) => Err(problem),
        (Ok(file), None) => {
            call.done();
            return Ok(Access::Denied { realm: file.realm.clone() });
        }
        (Ok(file), Some(credentials)) => check(&call, &file, credentials).await,
    };
    match checked {
        Ok((answer, access)) => {
            call.end(&Ok(answer));
            Ok(access)
        }
        Err(problem) => {
            call.end(&Err(problem.clone()));
            Err(problem)
        }
    }
}

async fn check(
    call: &Call,
    file: &Arc<UserFile>,
    credentials: Credentials,
) -> Result<(Answer, Access), Problem> {
    let Credentials { user, password } = credentials;
    let denied = || Access::Denied { realm: file.realm.clone() };
    // Nobody can have such a name or such a password, whoever is in the file.
    let context = &call.context;
    let limits = &context.current.passwords.table().policy().limits;
    if user.is_empty() || limits.admit_password(&password).is_err() {
        return Ok((Answer::refused(Verdict::Mismatch), denied()));
    }
    let late = |_| Problem::new(Reason::Expired, "the file of users was not read in time");
    let failed = |_| Problem::new(Reason::Internal, "the file of users was not read");
    let (state, name) = (Arc::clone(&context.state), file.name.clone());
    let stay = move |error: &saltern::Error| {
        let fields = [("users", json!(name)), ("detail", json!(error.to_string()))];
        state.log.warn_seldom("users", "users-stay", &fields);
    };
    let users = timeout(call.left(None)?, file.users(stay)).await;
    let users = users.map_err(late)?.map_err(failed)?;
    let (passwords, time) = call.within(None)?;
    let hash = users.find(&user).filter(|stored| !stored.is_empty());
    let login = Login { account: &user, password: &password, hash, updates: file.update };
    let answer = match verify(context, &passwords, &login, Some(time)).await {
        // A string that is damaged, that was not sealed for this user, or that the policy refuses:
        // nobody outside learns that there is such a user. The operator does.
        Err(problem)
            if hash.is_some()
                && matches!(problem.kind, Kind::BadInput | Kind::OverLimit | Kind::Tampered) =>
        {
            context.state.metrics.problem(&problem);
            let fields = [("users", json!(file.name)), ("detail", json!(problem.detail))];
            context.state.log.warn_seldom("users", "users-refused", &fields);
            let unknown = Login { hash: None, ..login };
            verify(context, &passwords, &unknown, Some(time)).await?
        }
        answer => answer?,
    };
    let Answer::Verified(Verified { outcome: Verdict::Match, update, .. }) = &answer else {
        return Ok((answer, denied()));
    };
    if let (Some(old), Some(new)) = (hash, update) {
        store(context, file, &user, (old, new)).await;
    }
    Ok((answer, Access::Granted { user }))
}

/// Replaces an outdated string in the file. If that fails, the old one stays, and the next login
/// tries again.
async fn store(context: &RequestContext, file: &Arc<UserFile>, user: &str, change: (&str, &str)) {
    let (file, state) = (Arc::clone(file), Arc::clone(&context.state));
    let (user, old, new) = (user.to_owned(), change.0.to_owned(), change.1.to_owned());
    let stored = tokio::task::spawn_blocking(move || {
        if let Err(error) = file.replace(&user, &old, &new) {
            let fields = [("users", json!(file.name)), ("detail", json!(error.to_string()))];
            state.log.warn_seldom("users", "users-not-updated", &fields);
        }
    });
    // A panic was logged where it happened, and costs nobody the login.
    let _ = stored.await;
}
