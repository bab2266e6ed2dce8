//! Ends a process tree: TERM, grace, then KILL until nothing is left.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, waitpid};

use crate::boot_time;
use crate::process_table::{self, ProcessRow, ProcessTable};

const PAUSE: Duration = Duration::from_millis(10);
/// Rounds after which the processes that are left count as unkillable.
const ROUNDS: u32 = 1_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeEnd {
    pub(crate) rounds: u32,
    /// Processes that did not end, with the kernel function that they wait in.
    pub(crate) left: Vec<String>,
}

/// Sends TERM to everything below `root` except `spared`, waits for the grace, then kills all of it.
///
/// `spared` are our own processes of the run: if they ended first, the agent would have no grace.
pub(crate) fn end_tree(
    root: i32,
    spared: &dyn Fn(&ProcessTable) -> Vec<i32>,
    grace: Duration,
    cgroup: Option<&Path>,
) -> TreeEnd {
    if !grace.is_zero() {
        let table = ProcessTable::read();
        let spare = spared(&table);
        send(&agents(&table, root, &spare), Signal::TERM);
        let until = boot_time::now() + u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX);
        loop {
            reap_orphans(root);
            let table = ProcessTable::read();
            if agents(&table, root, &spare).is_empty() || boot_time::now() >= until {
                break;
            }
            thread::sleep(PAUSE);
        }
    }
    if let Some(cgroup) = cgroup {
        let _ = fs::write(cgroup.join("cgroup.kill"), "1");
    }
    kill_all(root)
}

/// Kills everything below `root` until nothing is left.
pub(crate) fn kill_all(root: i32) -> TreeEnd {
    let mut ended = TreeEnd::default();
    loop {
        reap_orphans(root);
        let table = ProcessTable::read();
        let left = agents(&table, root, &[]);
        if left.is_empty() {
            return ended;
        }
        if ended.rounds >= ROUNDS {
            ended.left = describe(&left);
            return ended;
        }
        ended.rounds += 1;
        // A stopped process cannot start another while the rest is killed.
        send(&left, Signal::STOP);
        send(&left, Signal::KILL);
        thread::sleep(if ended.rounds < 50 { Duration::from_millis(2) } else { PAUSE });
    }
}

/// The living processes below `root` but `spare`.
pub(crate) fn agents(table: &ProcessTable, root: i32, spare: &[i32]) -> Vec<ProcessRow> {
    table.descendants(root).into_iter().filter(|it| !spare.contains(&it.pid)).cloned().collect()
}

/// Each process with the kernel function that it waits in.
pub(crate) fn describe(processes: &[ProcessRow]) -> Vec<String> {
    processes.iter().map(|it| format!("pid {} in {}", it.pid, process_table::waits_in(it.pid))).collect()
}

pub(crate) fn send(processes: &[ProcessRow], signal: Signal) {
    for process in processes {
        process_table::signal_exactly(process.pid, process.start_time, signal);
    }
}

/// Waits for adopted children that have ended. The agent's own process has a `Child` that waits for it.
pub(crate) fn reap_orphans(root: i32) {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    if own != root {
        return;
    }
    for child in ProcessTable::read().children(own).filter(|it| it.state == 'Z') {
        if let Some(pid) = Pid::from_raw(child.pid)
            && !is_agent(child.pid)
        {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

fn is_agent(pid: i32) -> bool {
    AGENT.load(std::sync::atomic::Ordering::Relaxed) == pid
}

/// The direct child of the shim.
pub(crate) static AGENT: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);
