//! Passes messages from the folder `in` to the agent's standard input, each at most once.

use std::fs;
use std::io::Write as _;
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use crate::folder::RunFolder;

#[derive(Debug)]
pub(crate) struct StdinFeeder {
    folder: RunFolder,
    /// `None` after standard input was closed.
    messages: Option<SyncSender<u64>>,
    sent: u64,
}

impl StdinFeeder {
    pub(crate) fn start(folder: RunFolder, stdin: ChildStdin) -> std::io::Result<Self> {
        let (messages, numbers) = sync_channel(64);
        let own = folder.clone();
        thread::Builder::new()
            .name("steer".to_owned())
            .spawn(move || write_messages(&own, stdin, &numbers))?;
        Ok(Self { folder, messages: Some(messages), sent: 0 })
    }

    /// Hands over the messages that have arrived, in order of their numbers.
    pub(crate) fn poll(&mut self) {
        let Some(messages) = &self.messages else { return };
        loop {
            let next = self.sent + 1;
            if !self.folder.has(&format!("in/{next}")) {
                break;
            }
            match messages.try_send(next) {
                Ok(()) => self.sent = next,
                Err(TrySendError::Full(_)) => return,
                Err(TrySendError::Disconnected(_)) => {
                    self.messages = None;
                    return;
                }
            }
        }
        if self.folder.has("in/close") {
            // The thread writes the rest and drops standard input.
            self.messages = None;
        }
    }
}

/// A message is marked before it is written: after a crash it is not said twice.
fn write_messages(folder: &RunFolder, mut stdin: ChildStdin, numbers: &Receiver<u64>) {
    for number in numbers {
        let path = folder.file(&format!("in/{number}"));
        let taken = folder.file(&format!("in/{number}.taken"));
        let Ok(text) = fs::read(&path) else { continue };
        if fs::rename(&path, &taken).is_err() {
            continue;
        }
        if stdin.write_all(&text).and_then(|()| stdin.flush()).is_err() {
            return;
        }
        let _ = fs::rename(&taken, folder.file(&format!("in/{number}.done")));
    }
}
