//! A server with accounts.
//!
//! ```text
//! cargo run -p saltern --example axum -- crates/saltern/examples/saltern.toml
//! curl -d '{"account":"alice","password":"correct horse"}' -H 'content-type: application/json' \
//!     http://127.0.0.1:8080/accounts
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use axum::{Json, Router, extract::State, routing::post};
use saltern::{Error, ErrorKind, Outcome, Passwords};

/// Stands for a database.
#[derive(Clone)]
pub(crate) struct Site {
    passwords: Passwords,
    accounts: Arc<Mutex<HashMap<String, String>>>,
}

/// The request to both addresses.
#[derive(serde::Deserialize)]
pub(crate) struct Login {
    account: String,
    password: String,
}

async fn register(State(site): State<Site>, Json(login): Json<Login>) -> StatusCode {
    match site.passwords.hash(&login.password).await {
        Ok(hash) => {
            let mut accounts = site.accounts.lock().unwrap_or_else(PoisonError::into_inner);
            accounts.insert(login.account, hash);
            StatusCode::CREATED
        }
        Err(error) => status(&error),
    }
}

async fn login(State(site): State<Site>, Json(login): Json<Login>) -> StatusCode {
    let accounts = || site.accounts.lock().unwrap_or_else(PoisonError::into_inner);
    let stored = accounts().get(&login.account).cloned();
    match site.passwords.verify(&login.account, &login.password, stored.as_deref()).await {
        Ok(Outcome::Match { update, .. }) => {
            if let Some(update) = update
                && let Some(stored) = accounts().get_mut(&login.account)
                && *stored == update.old
            {
                *stored = update.new;
            }
            StatusCode::OK
        }
        Ok(Outcome::Mismatch | Outcome::Locked) => StatusCode::FORBIDDEN,
        Err(error) => status(&error),
    }
}

/// The error for a client: only its kind.
fn status(error: &Error) -> StatusCode {
    match error.kind() {
        ErrorKind::BadInput | ErrorKind::OverLimit => StatusCode::BAD_REQUEST,
        ErrorKind::Unavailable | ErrorKind::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
        // Not the fault of the client: somebody has to look at the table.
        ErrorKind::Tampered | ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The routes, with initial accounts.
pub(crate) fn app(passwords: Passwords, accounts: HashMap<String, String>) -> Router {
    let site = Site { passwords, accounts: Arc::new(Mutex::new(accounts)) };
    let routes = Router::new().route("/accounts", post(register)).route("/login", post(login));
    routes.with_state(site)
}

/// Starts the server.
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = std::env::args().nth(1).ok_or("the policy: a file such as saltern.toml")?;
    let app = app(Passwords::open(policy)?, HashMap::new());
    axum::serve(tokio::net::TcpListener::bind("127.0.0.1:8080").await?, app).await?;
    Ok(())
}
