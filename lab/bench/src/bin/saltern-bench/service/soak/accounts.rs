//! Accounts of a site whose logins are checked: their passwords are known here.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

use super::super::load::{Answer, Caller, request};
use super::super::results::End;

const ACCOUNTS: u64 = 48;

/// Lines of a batch.
const LINES: u64 = 32;

/// Milliseconds that there are for each login.
const WITHIN: u64 = 500;

/// So many faults are kept as text.
const KEPT: usize = 10;

/// The accounts, and what came of their logins.
pub(super) struct Accounts {
    all: Vec<Account>,
    pub(super) seen: Seen,
    faults: Mutex<Vec<String>>,
    ending: AtomicBool,
}

struct Account {
    password: String,
    stored: Mutex<String>,
}

/// Counts of logins and of lines.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) matches: AtomicU64,
    pub(super) mismatches: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) gone: AtomicU64,
    pub(super) lines: AtomicU64,
    pub(super) updates: AtomicU64,
    /// Logins that had a connection of their own.
    pub(super) fresh: AtomicU64,
    /// Matches of logins after a rotation, beside those above.
    pub(super) settled: AtomicU64,
}

impl Account {
    fn stored(&self) -> String {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores an update where the string still stands that it is for.
    fn update(&self, before: &str, new: &str) {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if *stored == before {
            new.clone_into(&mut stored);
        }
    }
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Relaxed);
}

fn login(password: &str, stored: Option<&str>) -> Vec<u8> {
    let body = json!({
        "account": "account", "password": password, "hash": stored, "timeout_ms": WITHIN
    });
    request("/v1/verify", &body.to_string())
}

impl Accounts {
    pub(super) fn new(caller: &Caller) -> anyhow::Result<Self> {
        let account = |number| {
            let password = format!("password {number}");
            let stored = Mutex::new(caller.hash(&password)?);
            anyhow::Ok(Account { password, stored })
        };
        let all = (0..ACCOUNTS).map(account).collect::<Result<_, _>>()?;
        let (seen, faults, ending) = (Seen::default(), Mutex::default(), AtomicBool::default());
        Ok(Accounts { all, seen, faults, ending })
    }

    /// Password and string of an account.
    pub(super) fn first(&self) -> (String, String) {
        (self.all[0].password.clone(), self.all[0].stored())
    }

    /// No more batches are to begin.
    pub(super) fn end(&self) {
        self.ending.store(true, Relaxed);
    }

    /// How many logins were answered.
    pub(super) fn answered(&self) -> u64 {
        let Seen { matches, mismatches, settled, .. } = &self.seen;
        [matches, mismatches, settled].iter().map(|count| count.load(Relaxed)).sum()
    }

    /// The first things that must not be.
    pub(super) fn faults(&self) -> Vec<String> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fault(&self, text: String) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.len() < KEPT {
            faults.push(text);
        }
    }

    /// One login: of 20, one goes away at once, one is of an unknown account, four have a wrong
    /// password; of five, one comes over a connection of its own.
    pub(super) async fn login(&self, caller: &Caller, random: u64) {
        let account = &self.all[(random >> 32) as usize % self.all.len()];
        let stored = account.stored();
        let (password, hash, expected) = match random % 20 {
            1 => (account.password.clone(), None, End::Mismatch),
            2..6 => (format!("{}!", account.password), Some(&*stored), End::Mismatch),
            _ => (account.password.clone(), Some(&*stored), End::Match),
        };
        let request = login(&password, hash);
        if random.is_multiple_of(20) {
            add(&self.seen.gone);
            return self.go_away(caller, &request).await;
        }
        let answer = match (random >> 8) % 5 {
            0 => {
                add(&self.seen.fresh);
                caller.ask_alone(&request).await
            }
            _ => caller.ask(&request).await,
        };
        let end = answer.as_ref().map_or(End::Other, Answer::end);
        match end {
            End::Match => add(&self.seen.matches),
            End::Mismatch => add(&self.seen.mismatches),
            End::Refused | End::Expired => return add(&self.seen.refused),
            End::Throttled | End::Other => {}
        }
        if end != expected {
            self.fault(format!("a login is {end:?}, not {expected:?}: {}", text(&answer)));
        }
        self.take_update(account, &stored, &answer);
    }

    async fn go_away(&self, caller: &Caller, request: &[u8]) {
        let gone = async { caller.connect().await?.write_all(request).await };
        if let Err(error) = gone.await {
            self.fault(format!("a connection was refused: {error}"));
        }
    }

    /// Whether there was one.
    fn take_update(&self, account: &Account, stored: &str, answer: &io::Result<Answer>) -> bool {
        let json = json_of(answer);
        let Some(update) = json["update"].as_str() else { return false };
        add(&self.seen.updates);
        account.update(stored, update);
        true
    }

    /// Logs everybody in until all strings are those of the policy.
    pub(super) async fn settle(self: Arc<Self>, caller: &Caller) -> anyhow::Result<()> {
        let mut logins = JoinSet::new();
        for number in 0..self.all.len() {
            let (accounts, caller) = (Arc::clone(&self), caller.clone());
            logins.spawn(async move { accounts.renew(&caller, &accounts.all[number]).await });
        }
        while let Some(done) = logins.join_next().await {
            done??;
        }
        Ok(())
    }

    /// Logs one in until its string is that of the policy.
    async fn renew(&self, caller: &Caller, account: &Account) -> anyhow::Result<()> {
        for _ in 0..1000 {
            let stored = account.stored();
            let request = login(&account.password, Some(&stored));
            let answer = caller.ask(&request).await;
            match answer.as_ref().map_or(End::Other, Answer::end) {
                End::Refused | End::Expired => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                End::Match => {
                    add(&self.seen.settled);
                    if !is_outdated(&answer) {
                        return Ok(());
                    }
                    // There is no update while others wait, as they do all the time here.
                    if !self.take_update(account, &stored, &answer) {
                        self.hash(caller, account, &stored).await;
                    }
                }
                end => anyhow::bail!("a login is {end:?}: {}", text(&answer)),
            }
        }
        anyhow::bail!("a string is not up to date after so many logins")
    }

    /// Asks for a new string, as whoever knows the password may; perhaps there is none now.
    async fn hash(&self, caller: &Caller, account: &Account, stored: &str) {
        let body = json!({ "password": account.password, "timeout_ms": WITHIN }).to_string();
        let answer = caller.ask(&request("/v1/hash", &body)).await;
        if let Some(new) = json_of(&answer)["hash"].as_str() {
            add(&self.seen.updates);
            account.update(stored, new);
        }
    }

    /// Batches one after the other, in which every other password is wrong.
    pub(super) async fn batches(self: Arc<Self>, caller: Caller) {
        for number in 0.. {
            if self.ending.load(Relaxed) {
                return;
            }
            let account = &self.all[number % self.all.len()];
            if let Err(error) = self.batch(&caller, account).await {
                self.fault(format!("a batch: {error}"));
            }
        }
    }

    async fn batch(&self, caller: &Caller, account: &Account) -> anyhow::Result<()> {
        let stored = account.stored();
        let line = |number: u64| {
            let wrong = if number.is_multiple_of(2) { "!" } else { "" };
            let password = format!("{}{wrong}", account.password);
            json!({ "op": "verify", "password": password, "hash": stored }).to_string() + "\n"
        };
        let body: String = (1..=LINES).map(line).collect();
        let head = format!(
            "POST /v1/batch HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\
             content-type: application/x-ndjson\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = caller.connect().await?;
        stream.write_all((head + &body).as_bytes()).await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        let (mut answered, mut complete) = (0, false);
        for answer in text.lines().filter(|line| line.starts_with('{')) {
            let answer = serde_json::from_str::<Value>(answer)?;
            if answer["outcome"] == "complete" {
                complete = true;
                continue;
            }
            let wrong = answer["line"].as_u64().unwrap_or(0).is_multiple_of(2);
            let expected = if wrong { "mismatch" } else { "match" };
            // Keys are those of the moment in which a line is done, which may be late: what the
            // string needs is taken away once the account has another one.
            let is_old = answer["outcome"] == "unavailable" && account.stored() != stored;
            ensure!(is_old || answer["outcome"] == expected, "not {expected}: {answer}");
            if let Some(update) = answer["update"].as_str() {
                account.update(&stored, update);
            }
            answered += 1;
        }
        let all = complete && answered == LINES;
        ensure!(all, "{answered} of {LINES} lines were answered: {text}");
        self.seen.lines.fetch_add(answered, Relaxed);
        Ok(())
    }
}

fn is_outdated(answer: &io::Result<Answer>) -> bool {
    json_of(answer)["outdated"].as_array().is_some_and(|reasons| !reasons.is_empty())
}

/// The body of an answer; null if there is none, or it is something else.
fn json_of(answer: &io::Result<Answer>) -> Value {
    let body = answer.as_ref().map_or(&[][..], |answer| &answer.body);
    serde_json::from_slice(body).unwrap_or_default()
}

fn text(answer: &io::Result<Answer>) -> String {
    match answer {
        Ok(answer) => format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body)),
        Err(error) => error.to_string(),
    }
}
