//! The operations, their paths, and the rights they need.

use super::protocol::protocol_enum;

protocol_enum! {
    /// What a client may do.
    enum Right {
        /// Verify passwords, and ask whether strings are outdated.
        Verify = "verify",
        /// Hash new passwords.
        Hash = "hash",
        /// Count stored strings, seal them, and move them to another key.
        Rekey = "rekey",
        /// See how the service does.
        Admin = "admin",
    }
}

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Op {
    /// Hash a new password.
    Hash,
    /// Verify a login.
    Verify,
    /// Whether a string is outdated.
    NeedsRehash,
    /// Move a string to the active key.
    Rekey,
    /// Seal a string for its account.
    Seal,
    /// Count a table.
    Census,
    /// Many at once.
    Batch,
    /// Whether a proxy may let a request pass.
    ForwardAuth,
    /// Whether the process is alive.
    Health,
    /// Whether requests can be served.
    Ready,
    /// Metrics for Prometheus.
    Metrics,
    /// The OpenAPI document.
    OpenApi,
    /// A page with the state of the service.
    Dashboard,
}

/// The content type of a request or an answer.
pub(crate) const JSON: &str = "application/json";

/// The content type of several of them, one per line.
pub(crate) const LINES: &str = "application/x-ndjson";

/// The number of operations.
pub(crate) const OPS: usize = 13;

/// A route: method, path and operation.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The operation.
    pub op: Op,
    /// Its name in metrics and logs, and the id of the operation.
    pub name: &'static str,
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The path.
    pub path: &'static str,
    /// The rights of which it needs one; empty if anyone who can connect may use it.
    pub rights: &'static [Right],
    /// What it does, in one line.
    pub about: &'static str,
}

/// All routes.
pub const ROUTES: [Route; OPS] = [
    post(Op::Hash, "hash", "/v1/hash", &[Right::Hash], "Hash a new password"),
    post(Op::Verify, "verify", "/v1/verify", &[Right::Verify], "Verify a login"),
    post(
        Op::NeedsRehash,
        "needs-rehash",
        "/v1/needs-rehash",
        &[Right::Verify],
        "Say whether a stored string is outdated, and why",
    ),
    post(
        Op::Rekey,
        "rekey",
        "/v1/rekey",
        &[Right::Rekey],
        "Re-encrypt a stored string with the active key, without the password",
    ),
    post(
        Op::Seal,
        "seal",
        "/v1/seal",
        &[Right::Rekey],
        "Seal a stored string for its account with the active key for seals, without the password",
    ),
    post(
        Op::Census,
        "census",
        "/v1/census",
        &[Right::Rekey],
        "Count a table of stored strings, one JSON object in each line",
    ),
    post(
        Op::Batch,
        "batch",
        "/v1/batch",
        &[Right::Verify, Right::Hash, Right::Rekey],
        "Process many lines while no login waits; each line needs the right for its operation",
    ),
    get(
        Op::ForwardAuth,
        "forward-auth",
        "/v1/forward-auth",
        &[Right::Verify],
        "Say whether a proxy may let a request pass, by its user name and password",
    ),
    get(Op::Health, "health", "/health", &[], "Say that the process is alive"),
    get(Op::Ready, "ready", "/ready", &[], "Say whether the service is ready for requests"),
    get(Op::Metrics, "metrics", "/metrics", &[Right::Admin], "Counts for Prometheus"),
    get(Op::OpenApi, "openapi", "/v1/openapi.json", &[], "This document"),
    get(
        Op::Dashboard,
        "dashboard",
        "/",
        &[Right::Admin],
        "A page that shows the state of the service",
    ),
];

const fn post(
    op: Op,
    name: &'static str,
    path: &'static str,
    rights: &'static [Right],
    about: &'static str,
) -> Route {
    Route { op, name, method: "POST", path, rights, about }
}

const fn get(
    op: Op,
    name: &'static str,
    path: &'static str,
    rights: &'static [Right],
    about: &'static str,
) -> Route {
    Route { op, name, method: "GET", path, rights, about }
}

/// The route of a path, whatever the method.
#[must_use]
pub fn find(path: &str) -> Option<&'static Route> {
    ROUTES.iter().find(|route| route.path == path)
}

impl Op {
    /// Its index among all operations.
    pub(crate) const fn index(self) -> usize {
        self as usize
    }

    /// Whether its requests consist of lines.
    pub(crate) const fn is_in_lines(self) -> bool {
        matches!(self, Op::Batch | Op::Census)
    }

    /// The rights of which it needs one; empty if none is needed.
    pub(crate) fn rights(self) -> &'static [Right] {
        ROUTES.get(self.index()).map_or(&[], |route| route.rights)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        ROUTES.get(self.index()).map_or("", |route| route.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_place() {
        for (at, route) in ROUTES.iter().enumerate() {
            assert_eq!(route.op.index(), at);
            assert_eq!(find(route.path).map(|found| found.op), Some(route.op));
        }
    }
}
