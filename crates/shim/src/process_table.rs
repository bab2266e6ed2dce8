//! The processes of this machine, from `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One process. Pid and start time together identify it for as long as the machine runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessRow {
    pub pid: i32,
    pub parent: i32,
    pub state: char,
    pub session: i32,
    /// In clock ticks after boot.
    pub start_time: u64,
    /// Clock ticks of this process and of the children that it waited for.
    pub ticks: u64,
    /// Resident pages.
    pub pages: u64,
}

impl ProcessRow {
    /// Only its exit code is left.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// One look at every process.
#[derive(Clone, Debug, Default)]
pub struct ProcessTable(BTreeMap<i32, ProcessRow>);

impl ProcessTable {
    pub fn read() -> Self {
        let Ok(entries) = fs::read_dir("/proc") else { return Self::default() };
        let pids = entries.flatten().filter_map(|it| it.file_name().to_str()?.parse().ok());
        Self(pids.filter_map(|pid| Some((pid, row(pid)?))).collect())
    }

    pub fn get(&self, pid: i32) -> Option<&ProcessRow> {
        self.0.get(&pid)
    }

    /// All processes below `root`, without it and without those that have ended.
    pub fn descendants(&self, root: i32) -> Vec<&ProcessRow> {
        let mut children: BTreeMap<i32, Vec<&ProcessRow>> = BTreeMap::new();
        for row in self.0.values() {
            children.entry(row.parent).or_default().push(row);
        }
        let (mut found, mut open, mut seen) = (Vec::new(), vec![root], BTreeSet::from([root]));
        while let Some(parent) = open.pop() {
            for row in children.get(&parent).into_iter().flatten() {
                if seen.insert(row.pid) {
                    open.push(row.pid);
                    found.push(*row);
                }
            }
        }
        found.retain(|it| !it.has_ended());
        found
    }

    pub fn children(&self, root: i32) -> impl Iterator<Item = &ProcessRow> {
        self.0.values().filter(move |it| it.parent == root)
    }

    /// The processes of a session.
    pub fn session(&self, id: i32) -> impl Iterator<Item = &ProcessRow> {
        self.0.values().filter(move |it| it.session == id)
    }

    /// Processes whose environment contains a variable with this value, among those that this user may read.
    pub fn with_variable(&self, name: &str, value: &str) -> Vec<&ProcessRow> {
        let wanted = format!("{name}={value}");
        let has = |it: &&ProcessRow| {
            let Ok(environment) = fs::read(format!("/proc/{}/environ", it.pid)) else { return false };
            environment.split(|byte| *byte == 0).any(|it| it == wanted.as_bytes())
        };
        self.0.values().filter(|it| !it.has_ended()).filter(has).collect()
    }
}

/// One process, if it exists.
pub fn row(pid: i32) -> Option<ProcessRow> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name is in brackets and may contain spaces and brackets.
    let mut fields = text.get(text.rfind(')')? + 2..)?.split(' ');
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let rest: Vec<u64> = fields.map(|it| it.trim().parse().unwrap_or(0)).collect();
    let session = i32::try_from(*rest.get(1)?).unwrap_or(0);
    let ticks = rest.get(9..13)?.iter().sum();
    Some(ProcessRow { pid, parent, state, session, start_time: *rest.get(17)?, ticks, pages: *rest.get(19)? })
}

/// Voluntary context switches of a process.
pub(crate) fn switches(pid: i32) -> u64 {
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { return 0 };
    let line = status.lines().find_map(|it| it.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|it| it.trim().parse().ok()).unwrap_or(0)
}

/// The kernel function in which a process waits.
pub(crate) fn waits_in(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default()
}

/// Sends a signal to exactly this process: never to another that got its pid.
pub fn signal_exactly(pid: i32, start_time: u64, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return false };
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    let same = row(pid.as_raw_nonzero().get()).is_some_and(|it| it.start_time == start_time);
    same && pidfd_send_signal(&process, signal).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_with_its_parent_and_start_time() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let found = row(pid).unwrap();
        assert_eq!(found.parent, own);
        assert_eq!(found.session, rustix::process::getsid(None).unwrap().as_raw_nonzero().get());
        assert!(found.start_time >= row(own).unwrap().start_time);
        assert!(ProcessTable::read().descendants(own).iter().any(|it| it.pid == pid));
        assert!(
            !signal_exactly(pid, found.start_time + 1, Signal::KILL),
            "another start time is another process"
        );
        assert!(child.try_wait().unwrap().is_none());
        assert!(signal_exactly(pid, found.start_time, Signal::KILL));
        assert!(!child.wait().unwrap().success());
    }
}
