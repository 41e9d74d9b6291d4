//! Requests for one password or one stored string.

use std::sync::Arc;
use std::time::Duration;

use saltern::json::password;
use saltern::table::Table;
use saltern::{Outcome, Passwords, Ticket};
use serde_json::json;
use tokio::time::timeout;

use super::{Call, RequestContext};
use crate::api::{Answer, Hash, Kind, Op, Problem, Reason, Stored, Verdict, Verify};
use crate::site::Accounts;

/// Processes a request.
///
/// # Errors
/// Why it could not be processed. A wrong password is an answer.
pub(crate) async fn single(call: &Call, body: &[u8]) -> Result<Answer, Problem> {
    match call.op {
        Op::Hash => {
            let request = Hash::parse(body)?;
            let (passwords, time) = call.within(request.timeout_ms)?;
            let password = password(request.password, request.password_hex)?;
            let account = request.account.as_ref().map(|account| account.as_str());
            hash(&passwords, (account, &password), Some(time)).await
        }
        Op::Verify => {
            let mut request = Verify::parse(body)?;
            let (passwords, time) = call.within(request.timeout_ms)?;
            let password = password(request.password.take(), request.password_hex.take())?;
            let login = Login::of(&request, &password);
            verify(&call.context, &passwords, &login, Some(time)).await
        }
        Op::NeedsRehash => needs_rehash(&call.context, &Stored::parse(body)?.hash),
        Op::Rekey => rekey(&call.context, &Stored::parse(body)?),
        Op::Seal => seal(&call.context, &Stored::parse(body)?),
        _ => Err(Problem::new(Reason::Internal, "this is not a request for one password")),
    }
}

impl Call {
    /// Whether there is room and time for this request, as far as its head tells: what is refused
    /// here does not have to be read.
    pub(crate) fn has_time(&self) -> Result<(), Problem> {
        match self.op {
            Op::Hash | Op::Verify => Ok(self.within(None)?.0.admits()?),
            _ => Ok(()),
        }
    }

    /// The passwords of the site, with the time allowed for a request.
    pub(super) fn within(&self, asked: Option<u64>) -> Result<(Passwords, Duration), Problem> {
        let time = self.left(asked)?;
        Ok((self.context.passwords().within(time), time))
    }
}

/// The result of a ticket within this time: complete, or what is known by then.
async fn in_time<T: Send + 'static>(
    mut ticket: Ticket<T>,
    time: Option<Duration>,
) -> Result<T, Problem> {
    let Some(time) = time else { return Ok(ticket.await?) };
    if let Ok(result) = timeout(time, &mut ticket).await {
        return Ok(result?);
    }
    let late = || Problem::new(Reason::Expired, "the answer was not ready in time");
    Ok(ticket.known_now().ok_or_else(late)??)
}

/// A login.
pub(super) struct Login<'a> {
    pub(super) account: &'a str,
    pub(super) password: &'a [u8],
    pub(super) hash: Option<&'a str>,
    /// Whether an update is stored.
    pub(super) updates: bool,
}

impl<'a> Login<'a> {
    /// The login of a request, with its password.
    pub(super) fn of(asked: &'a Verify, password: &'a [u8]) -> Self {
        Login {
            account: asked.account.as_ref().map_or("", |account| account),
            password,
            hash: asked.hash.0.as_ref().map(|hash| hash.as_str()),
            updates: asked.update.unwrap_or(true),
        }
    }

    /// Counts a login of its account, if logins are limited. Dropping the result takes the count
    /// back, unless it is made to stand.
    fn is_not_too_often(&self, context: &RequestContext) -> Result<Counted<'a>, Problem> {
        let (accounts, account) = (context.current.accounts.as_ref(), self.account.as_bytes());
        if let Some(accounts) = accounts {
            if account.is_empty() {
                let missing = "`account` is missing: logins are limited per account here";
                return Err(Problem::malformed(missing));
            }
            accounts.take(account).map_err(|wait| {
                Problem::new(Reason::AccountRate, "this account has had too many logins")
                    .after(wait)
            })?;
        }
        Ok(Counted { accounts: accounts.cloned(), account })
    }
}

/// A counted login.
struct Counted<'a> {
    accounts: Option<Arc<Accounts>>,
    account: &'a [u8],
}

impl Counted<'_> {
    /// Keeps the count: the login has had an answer.
    fn stands(mut self) {
        self.accounts = None;
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if let Some(accounts) = &self.accounts {
            accounts.give_back(self.account);
        }
    }
}

pub(super) async fn hash(
    passwords: &Passwords,
    (account, password): (Option<&str>, &[u8]),
    time: Option<Duration>,
) -> Result<Answer, Problem> {
    if password.is_empty() {
        return Err(Problem::new(Reason::BadInput, "the password is empty"));
    }
    let ticket = match account {
        Some(account) => passwords.for_account(account).hash(password),
        None => passwords.hash(password),
    };
    Ok(Answer::hashed(in_time(ticket, time).await?))
}

pub(super) async fn verify(
    context: &RequestContext,
    passwords: &Passwords,
    login: &Login<'_>,
    time: Option<Duration>,
) -> Result<Answer, Problem> {
    let counted = login.is_not_too_often(context)?;
    let ticket = match login.updates {
        true => passwords.verify(login.account, login.password, login.hash),
        false => passwords.without_updates().verify(login.account, login.password, login.hash),
    };
    let cost = ticket.cost();
    let outcome = in_time(ticket, time).await;
    let outcome = outcome.inspect_err(|problem| tampered(context, Some(login.account), problem))?;
    counted.stands();
    if let Some((scheme, memory)) = cost {
        context.state.metrics.string(scheme, memory);
    }
    Ok(match outcome {
        Outcome::Mismatch => Answer::refused(Verdict::Mismatch),
        Outcome::Locked => Answer::refused(Verdict::Locked),
        Outcome::Match { outdated, update, remembered } => {
            let update = update.map(|update| update.new);
            if update.is_some() {
                context.state.metrics.update();
            }
            if remembered {
                context.state.metrics.remembered();
            }
            Answer::matched(words(&outdated), update, remembered)
        }
    })
}

pub(super) fn needs_rehash(context: &RequestContext, hash: &str) -> Result<Answer, Problem> {
    let reasons = context.current.passwords.table().needs_rehash(hash)?;
    Ok(Answer::checked(words(&reasons)))
}

pub(super) fn rekey(context: &RequestContext, stored: &Stored) -> Result<Answer, Problem> {
    let rekeyed = of_account(context.current.passwords.table(), stored).rekey(&stored.hash);
    rekeyed.map(Answer::rekeyed).map_err(Problem::from).inspect_err(told(context, stored))
}

pub(super) fn seal(context: &RequestContext, stored: &Stored) -> Result<Answer, Problem> {
    let sealed = of_account(context.current.passwords.table(), stored).seal(&stored.hash);
    sealed.map(Answer::sealed).map_err(Problem::from).inspect_err(told(context, stored))
}

/// The operations for the account of a string, if that was given.
pub(super) fn of_account(table: &Table, stored: &Stored) -> Table {
    match &stored.account {
        Some(account) => table.for_account(account.as_bytes()),
        None => table.clone(),
    }
}

fn told(context: &RequestContext, stored: &Stored) -> impl Fn(&Problem) {
    let account = stored.account.as_ref().map(|account| account.as_str());
    move |problem| tampered(context, account, problem)
}

/// Logs that a stored string is not the one sealed for its account, which is named by a hash:
/// BLAKE2b with 16 bytes, as `b2sum -l 128` computes it.
fn tampered(context: &RequestContext, account: Option<&str>, problem: &Problem) {
    if problem.kind != Kind::Tampered {
        return;
    }
    let hashed = account.map(saltern::table::account_digest);
    let fields = [
        ("client", json!(context.client.name)),
        ("account", json!(hashed)),
        ("detail", json!(problem.detail)),
    ];
    context.state.log.warn("tampered", &fields);
}

fn words(reasons: &saltern::table::Reasons) -> Vec<String> {
    reasons.words().into_iter().map(str::to_owned).collect()
}
