//! Runs that another version of Trackside started.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use trackside_shim::process_table::signal_exactly;
use trackside_shim::{PROTOCOL, RunFolder};

/// How long a shim takes at most after the agent's grace.
const MARGIN: Duration = Duration::from_secs(5);

/// Ends a run whose shim speaks another protocol: this version could neither read nor stop it. Returns why, or `None` for
/// a run that can be adopted.
pub(crate) fn end_foreign_run(folder: &RunFolder, grace: Duration) -> io::Result<Option<String>> {
    let Some(running) = folder.read::<Value>("running")? else { return Ok(None) };
    let number = |name: &str| running.get(name).and_then(Value::as_u64);
    let protocol = number("protocol");
    if protocol == Some(PROTOCOL.into()) {
        return Ok(None);
    }
    // A living lock shows that the machine was not restarted since.
    if let (Some(pid), Some(start)) =
        (number("pid").and_then(|it| i32::try_from(it).ok()), number("start_time"))
        && folder.is_alive()
    {
        signal_exactly(pid, start, Signal::TERM);
        let limit = Instant::now() + grace + MARGIN;
        while folder.is_alive() && Instant::now() < limit {
            thread::sleep(Duration::from_millis(50));
        }
        signal_exactly(pid, start, Signal::KILL);
    }
    let protocol = protocol.map_or("an unknown protocol".to_owned(), |it| format!("protocol {it}"));
    Ok(Some(format!(
        "It was started by another version of Trackside ({protocol}, this version has {PROTOCOL}), so it was ended and not continued"
    )))
}
