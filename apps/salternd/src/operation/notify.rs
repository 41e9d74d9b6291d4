//! Notifying a service manager (sd_notify(3)), if there is one.

use std::env::var_os;
use std::os::unix::net::UnixDatagram;

/// Notifies the service manager; does nothing without one.
pub(super) fn notify(message: &str) {
    let Some(address) = var_os("NOTIFY_SOCKET") else { return };
    let Ok(socket) = UnixDatagram::unbound() else { return };
    let text = address.to_string_lossy();
    let _ = match text.strip_prefix('@') {
        #[cfg(target_os = "linux")]
        Some(name) => {
            use std::os::linux::net::SocketAddrExt;
            use std::os::unix::net::SocketAddr;
            let Ok(address) = SocketAddr::from_abstract_name(name) else { return };
            socket.send_to_addr(message.as_bytes(), &address)
        }
        _ => socket.send_to(message.as_bytes(), &address),
    };
}
