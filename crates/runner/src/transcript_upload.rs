//! Sends the transcript of a run to the server.

use std::time::{Duration, Instant};

use crate::run_monitor::RunMonitor;
use crate::server_api::ApiError;
use crate::transcript::{TranscriptLine, read_after};

/// Transcript lines in one request, and their size.
const PORTION: usize = 200;
const PORTION_BYTES: usize = 512 * 1024;
/// Portions that one look sends at most.
const PORTIONS: usize = 10;

/// How far the transcript has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upload {
    /// The server has every line, or refuses the rest for good.
    Complete,
    /// There are more lines.
    Partial,
    /// It was not possible now.
    Later,
}

impl RunMonitor<'_, '_> {
    /// Sends lines of the transcript that the server does not have: a bounded number, so that an agent that writes without
    /// pause cannot keep the runner from its leases.
    pub(crate) fn upload(&mut self, now: bool) -> Upload {
        if !now && Instant::now() < self.next.upload {
            return Upload::Later;
        }
        self.next.upload = Instant::now() + Duration::from_millis(400);
        let Some(run) = &mut self.record.run else { return Upload::Complete };
        for _ in 0..PORTIONS {
            let next = run.next_line.max(1);
            let Ok(lines) = read_after(&self.run.transcript_folder(), next - 1, PORTION) else {
                return Upload::Later;
            };
            let lines = portion(&lines);
            if lines.is_empty() {
                return Upload::Complete;
            }
            match self.agent.api().append_transcript(&run.id, lines) {
                Ok(expected) if expected > next => run.next_line = expected,
                // The server has an older state, as after a restore: continue there.
                Ok(expected) => {
                    let stuck = expected == next;
                    run.next_line = expected;
                    if stuck {
                        return Upload::Later;
                    }
                }
                Err(ApiError::Refused(problem)) if problem.status != 409 => {
                    // Refused for good, such as over the quota: the lines stay on this machine.
                    return Upload::Complete;
                }
                Err(_) => {
                    self.is_server_away = true;
                    self.next.upload = Instant::now() + Duration::from_secs(2);
                    return Upload::Later;
                }
            }
        }
        Upload::Partial
    }
}

/// As many lines as fit into one request.
fn portion(lines: &[TranscriptLine]) -> &[TranscriptLine] {
    let mut bytes = 0;
    let fits = |it: &&TranscriptLine| {
        bytes += serde_json::to_vec(it).map_or(0, |it| it.len());
        bytes <= PORTION_BYTES
    };
    let count = lines.iter().take_while(fits).count().max(1).min(lines.len());
    lines.get(..count).unwrap_or_default()
}
