//! Waits for changes of a lifecycle, up to a limit.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::feed::{self, FeedFilter};
use crate::server_lookup::{RequestError, ServerConnection};

/// The longest pause without a look: what a command waits for may depend on the time, or on other lifecycles.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Follows the changes of a lifecycle in the background.
#[derive(Debug)]
pub(crate) struct ChangeWaiter {
    changes: Receiver<Result<(), RequestError>>,
    until: Instant,
}

impl ChangeWaiter {
    /// Waits at most this long in all. Changes from now on are noticed.
    pub(crate) fn new(server: &ServerConnection, lifecycle: &str, timeout: Duration) -> Self {
        let (tell, changes) = channel();
        let (server, after) = (server.clone(), feed::position(server));
        let wanted = FeedFilter { lifecycle: Some(lifecycle.to_owned()), after, ..FeedFilter::default() };
        thread::spawn(move || {
            let ended = feed::follow(&server, wanted, &mut |_| tell.send(Ok(())).is_ok());
            if let Err(error) = ended {
                let _ = tell.send(Err(error));
            }
        });
        Self { changes, until: Instant::now() + timeout }
    }

    /// Waits for the next change, or for some seconds. Returns false once the time has run out.
    pub(crate) fn next(&self) -> Result<bool, RequestError> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        match self.changes.recv_timeout(left.min(LONGEST_PAUSE)) {
            Ok(change) => change?,
            Err(RecvTimeoutError::Timeout) => return Ok(true),
            // The stream ended without an error, which it does only after its receiver.
            Err(RecvTimeoutError::Disconnected) => return Ok(false),
        }
        // Changes that arrived together are one reason to look again.
        while let Ok(change) = self.changes.try_recv() {
            change?;
        }
        Ok(true)
    }
}
