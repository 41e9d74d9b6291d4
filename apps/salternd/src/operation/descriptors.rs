//! Descriptors: each connection takes one, and the system limits them per process.

use anyhow::bail;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::transport::{HANDSHAKES, Limits, TURNED_AWAY};

/// Descriptors for files, the pool, the log, and the listening sockets.
const OTHERS: u64 = 64;

/// Raises the limit of this process as far as allowed, and lowers the connection limits to fit, so
/// that new connections wait or are turned away instead of taking the last descriptor. Returns a
/// remark if a limit was lowered. Of the listeners, `tls` have handshakes.
///
/// # Errors
/// If there are not enough for one connection to each listener.
pub(super) fn fit(
    limits: Limits,
    listeners: usize,
    tls: usize,
) -> anyhow::Result<(Limits, Option<String>)> {
    let now = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: now.maximum, maximum: now.maximum };
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => now.maximum,
        Err(_) => now.current,
    };
    within(limits, listeners, tls, allowed.unwrap_or(u64::MAX))
}

fn within(
    limits: Limits,
    listeners: usize,
    tls: usize,
    descriptors: u64,
) -> anyhow::Result<(Limits, Option<String>)> {
    let others = OTHERS + (listeners * TURNED_AWAY + tls * HANDSHAKES) as u64;
    let each = descriptors.saturating_sub(others) / listeners.max(1) as u64;
    let each = usize::try_from(each).unwrap_or(usize::MAX);
    if limits.connections <= each {
        return Ok((limits, None));
    }
    if each == 0 {
        let least = others + listeners as u64;
        bail!("RLIMIT_NOFILE allows {descriptors} descriptors: at least {least} are needed");
    }
    let wanted = limits.connections;
    let note = format!(
        "limits.connections is {each} instead of {wanted}: RLIMIT_NOFILE allows {descriptors} \
         descriptors"
    );
    let client_connections = (limits.client_connections * each / wanted).max(1);
    Ok((Limits { connections: each, client_connections, ..limits }, Some(note)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn connections_are_lowered_to_what_there_is() {
        let second = Duration::from_secs(1);
        let limits = Limits {
            body: 1,
            bodies: 1,
            head: 8192,
            head_time: second,
            body_time: second,
            answer_time: second,
            connections: 4096,
            client_connections: 2048,
        };
        assert_eq!(within(limits, 1, 0, 4096 + 128).unwrap(), (limits, None));
        assert_eq!(within(limits, 2, 0, 2 * 4096 + 192).unwrap(), (limits, None));
        assert_eq!(within(limits, 2, 1, 2 * 4096 + 448).unwrap(), (limits, None));
        let (less, note) = within(limits, 1, 0, 1024).unwrap();
        assert_eq!((less.connections, less.client_connections), (896, 448));
        assert!(
            note.unwrap().starts_with(
                "limits.connections is 896 instead of 4096: RLIMIT_NOFILE allows 1024"
            )
        );
        let (less, _) = within(limits, 1, 0, 129).unwrap();
        assert_eq!((less.connections, less.client_connections), (1, 1));
        let (less, _) = within(limits, 1, 1, 1024).unwrap();
        assert_eq!((less.connections, less.client_connections), (640, 320));
        let error = within(limits, 2, 0, 193).unwrap_err().to_string();
        assert!(error.ends_with("at least 194 are needed"), "{error}");
    }
}
