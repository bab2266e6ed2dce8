//! What a run uses, and whether it does anything.

use std::collections::BTreeSet;
use std::fs;

use crate::boot_time;
use crate::process_table::{self, ProcessRow};
use crate::records::LivenessSample;

/// Clock ticks a second, as `/proc` counts them. The kernel fixes this number for programs.
const TICKS: u64 = 100;
const PAGE: u64 = 4096;

/// Processor time and memory of the processes below one process.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    sample: LivenessSample,
    ticks: u64,
    /// Pid and start time of the processes of the last sample.
    processes: BTreeSet<(i32, u64)>,
}

impl Sampler {
    pub(crate) fn take(&mut self, root: i32, output: u64, last_output: u64) -> LivenessSample {
        let now = boot_time::now();
        let processes = below(root);
        let own = process_table::row(root).map_or(0, |it| it.ticks);
        let ticks = own + processes.iter().map(|it| it.ticks).sum::<u64>();
        let switches = processes.iter().map(|it| process_table::switches(it.pid)).sum();
        let memory = processes.iter().map(|it| it.pages * PAGE).sum();
        let living: BTreeSet<(i32, u64)> = processes.iter().map(|it| (it.pid, it.start_time)).collect();
        let is_first = self.sample.at == 0;
        let started = if is_first { 0 } else { living.difference(&self.processes).count() };
        self.processes = living;
        let sample = &mut self.sample;
        sample.started += started as u64;
        if switches != sample.switches || ticks > self.ticks {
            sample.last_switch = now;
        }
        if ticks > self.ticks {
            sample.last_cpu = now;
            self.ticks = ticks;
        }
        sample.at = now;
        sample.output = output;
        sample.last_output = last_output;
        sample.cpu = self.ticks * 1000 / TICKS;
        sample.switches = switches;
        sample.memory = memory;
        sample.peak_memory = sample.peak_memory.max(memory);
        sample.processes = u32::try_from(processes.len()).unwrap_or(u32::MAX);
        sample.clone()
    }
}

/// Living processes below `root`, found through the kernel's lists of children: cheaper than reading all of `/proc`.
fn below(root: i32) -> Vec<ProcessRow> {
    let (mut found, mut open) = (Vec::new(), vec![root]);
    while let Some(parent) = open.pop() {
        let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else { continue };
        for thread in threads.flatten() {
            let Ok(children) = fs::read_to_string(thread.path().join("children")) else { continue };
            for pid in children.split_whitespace().filter_map(|it| it.parse().ok()) {
                if let Some(row) = process_table::row(pid)
                    && !matches!(row.state, 'Z' | 'X')
                {
                    open.push(pid);
                    found.push(row);
                }
            }
        }
    }
    found
}

/// What a run has been doing lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunActivity {
    /// It wrote output or used the processor.
    Busy,
    /// Its processes were scheduled, but did neither.
    Waiting,
    /// Nothing at all.
    Silent,
}

impl LivenessSample {
    /// Activity within the last `window` nanoseconds before the sample.
    pub fn activity(&self, window: u64) -> RunActivity {
        let recent = |moment: u64| moment + window > self.at;
        if recent(self.last_output) || recent(self.last_cpu) {
            RunActivity::Busy
        } else if recent(self.last_switch) {
            RunActivity::Waiting
        } else {
            RunActivity::Silent
        }
    }
}
