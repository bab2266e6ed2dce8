//! Notifications to systemd: ready, watchdog, stopping.

use std::time::Duration;

use tokio::sync::watch;

/// Sends a message to the service manager, if there is one.
pub(crate) fn tell(what: &str) {
    #[cfg(unix)]
    if let Some(path) = std::env::var_os("NOTIFY_SOCKET") {
        // A lost message does no harm.
        let _ = send(&path, what);
    }
    #[cfg(not(unix))]
    let _ = what;
}

#[cfg(unix)]
fn send(path: &std::ffi::OsStr, what: &str) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let socket = std::os::unix::net::UnixDatagram::unbound()?;
    match path.as_bytes().strip_prefix(b"@") {
        #[cfg(target_os = "linux")]
        Some(name) => {
            use std::os::linux::net::SocketAddrExt as _;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
            socket.send_to_addr(what.as_bytes(), &address)?;
        }
        #[cfg(not(target_os = "linux"))]
        Some(_) => {}
        None => {
            socket.send_to(what.as_bytes(), path)?;
        }
    }
    Ok(())
}

/// Sends watchdog messages at twice the required rate while `is_well`, until the server stops.
pub(crate) async fn keep_alive(is_well: impl Fn() -> bool, mut stopping: watch::Receiver<bool>) {
    let wanted = std::env::var("WATCHDOG_USEC").ok().and_then(|it| it.parse::<u64>().ok());
    let Some(wanted) = wanted.filter(|it| *it > 0) else { return };
    let half = Duration::from_micros(wanted / 2);
    loop {
        tokio::select! {
            () = tokio::time::sleep(half) => {}
            _ = stopping.wait_for(|it| *it) => return,
        }
        if is_well() {
            tell("WATCHDOG=1");
        }
    }
}
