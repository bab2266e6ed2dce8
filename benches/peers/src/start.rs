//! From a closed store to the first answer, and the memory that takes.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::machine::resident;
use crate::subject::{AnswerSender, CommandOutcome, LoadCommand, Subject};

/// For how long to wait for the first answer.
const PATIENCE: Duration = Duration::from_secs(120);
/// The number of a load that no plan reaches, so that its keys are new.
const LOAD: u32 = u32::MAX;

/// The start of a store.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreStart {
    /// From opening the store to the first answer.
    pub seconds: f64,
    pub entities: u64,
    /// Memory growth by the start, in bytes, if known.
    pub grown_by: Option<u64>,
}

impl StoreStart {
    /// Bytes of memory per entity, while all are idle.
    pub fn per_entity(&self) -> Option<f64> {
        self.grown_by.map(|it| it as f64 / self.entities.max(1) as f64)
    }
}

/// Opens the store in a folder.
pub type OpenStore<'a> = &'a dyn Fn(&Path) -> Result<Box<dyn Subject>, BenchError>;

/// Starts in this process.
pub fn here(open: OpenStore<'_>, folder: &Path) -> Result<StoreStart, BenchError> {
    let before = resident();
    let begun = Instant::now();
    let subject = open(folder)?;
    let (to, answers) = channel();
    // Another one each time, or the second start would repeat the first's idempotency key.
    let nth = subject.figures().commands.wrapping_add(u64::from(std::process::id()));
    subject.submit(LoadCommand { load: LOAD, caller: 0, callers: 1, nth }, AnswerSender::new(to, 0, begun));
    let answered = answers.recv_timeout(PATIENCE);
    let seconds = begun.elapsed().as_secs_f64();
    match answered {
        Ok(it) if it.outcome == CommandOutcome::Done => {}
        Ok(it) => {
            let why = format!("the first after a start: {:?}", it.outcome);
            return Err(BenchError::NotAccepted { refused: 1, asked: 1, why });
        }
        Err(_) => return Err(BenchError::Unanswered { waiting: 1, seconds: PATIENCE.as_secs() }),
    }
    let grown_by = before.zip(resident()).map(|(before, after)| after.saturating_sub(before));
    Ok(StoreStart { seconds, entities: subject.entities(), grown_by })
}

/// Starts in a process of its own: `program` calls [`here`] and prints the result as JSON.
pub fn start_apart(program: &mut Command) -> Result<StoreStart, BenchError> {
    let name = program.get_program().to_string_lossy().into_owned();
    let failed = |said: String| BenchError::Program { program: name.clone(), said };
    let output = program.output().map_err(|it| failed(it.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(|it| failed(it.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_prints_its_measurement() {
        let started = StoreStart { seconds: 1.25, entities: 1_000, grown_by: Some(512_000) };
        let text = serde_json::to_string(&started).unwrap();
        assert_eq!(start_apart(Command::new("echo").arg(text)).unwrap(), started);
        assert_eq!(started.per_entity(), Some(512.0));
    }

    #[test]
    fn a_process_that_fails_says_why() {
        let failed = start_apart(Command::new("sh").args(["-c", "echo no such store >&2; exit 3"]));
        assert!(failed.unwrap_err().to_string().contains("no such store"));
    }
}
