//! Ends the processes of a run whose shim was killed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::boot_time;
use crate::folder::RunFolder;
use crate::process_table::{ProcessRow, ProcessTable};
use crate::records::{RUN_VARIABLE, RunSpec, RunningRecord};
use crate::termination::{self, send};

const PAUSE: Duration = Duration::from_millis(10);
/// Rounds of KILL in one call.
const ROUNDS: u32 = 200;

/// Ends every process of a run whose shim is dead. Returns those that no signal ended.
///
/// The kernel ends them itself in the tier `pidns`. In the others they are found by their cgroup, by the variable
/// `TRACKSIDE_RUN`, by the session of the shim, and below one that was found. A process that emptied its environment and
/// began a session of its own is found in the tier `cgroup` only.
pub fn end_leftovers(folder: &RunFolder) -> io::Result<Vec<String>> {
    let (shim, spec) = (folder.read::<RunningRecord>("running")?, folder.read::<RunSpec>("spec")?);
    let (Some(shim), Some(spec)) = (shim, spec) else { return Ok(Vec::new()) };
    // After a restart of the machine the recorded numbers belong to other processes.
    if shim.boot_id != boot_time::boot_id() || folder.is_alive() {
        return Ok(Vec::new());
    }
    let mut rounds = 0;
    loop {
        if let Some(cgroup) = &shim.cgroup {
            let _ = fs::write(cgroup.join("cgroup.kill"), "1");
        }
        let left = processes_of(&ProcessTable::read(), &spec.run, &shim);
        if left.is_empty() {
            break;
        }
        if rounds == ROUNDS {
            return Ok(termination::describe(&left));
        }
        rounds += 1;
        send(&left, Signal::STOP);
        send(&left, Signal::KILL);
        thread::sleep(PAUSE);
    }
    if let Some(cgroup) = &shim.cgroup {
        let _ = fs::remove_dir(cgroup);
    }
    Ok(Vec::new())
}

fn processes_of(table: &ProcessTable, run: &str, shim: &RunningRecord) -> Vec<ProcessRow> {
    let mut found = table.with_variable(RUN_VARIABLE, run);
    // The number of the shim may belong to another process by now, which has sessions of its own.
    if table.get(shim.pid).is_none_or(|it| it.start_time == shim.start_time) {
        found.extend(table.session(shim.pid).filter(|it| it.start_time >= shim.start_time));
    }
    let members = shim.cgroup.iter().filter_map(|it| fs::read_to_string(it.join("cgroup.procs")).ok());
    for pid in members.flat_map(|it| it.lines().filter_map(|it| it.parse().ok()).collect::<Vec<i32>>()) {
        found.extend(table.get(pid));
    }
    let below: Vec<&ProcessRow> = found.iter().flat_map(|it| table.descendants(it.pid)).collect();
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let all: BTreeMap<i32, ProcessRow> = found
        .into_iter()
        .chain(below)
        .filter(|it| it.pid != own && !it.has_ended())
        .map(|it| (it.pid, it.clone()))
        .collect();
    all.into_values().collect()
}
