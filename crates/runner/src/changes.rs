//! Learns of changes on the server at once, from its event stream.

use std::io::BufRead as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::server_api::ServerApi;

/// Set when something has changed on the server. Without a connection it stays unset, and regular requests find out.
#[derive(Clone, Debug, Default)]
pub struct ChangeSignal(Arc<AtomicBool>);

impl ChangeSignal {
    /// Follows the server's stream in a thread that lives as long as the process.
    pub fn follow(api: &ServerApi) -> std::io::Result<Self> {
        let signal = Self::default();
        let (api, changed) = (api.clone(), Arc::clone(&signal.0));
        std::thread::Builder::new().name("changes".to_owned()).spawn(move || {
            loop {
                if let Ok(stream) = api.changes() {
                    for line in stream.lines() {
                        match line {
                            Ok(line) if line.starts_with("data:") => changed.store(true, Ordering::Relaxed),
                            Ok(_) => {}
                            Err(_) => break,
                        }
                    }
                }
                std::thread::sleep(Duration::from_secs(1));
            }
        })?;
        Ok(signal)
    }

    /// Whether something has changed since the last call.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}
