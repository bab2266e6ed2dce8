//! Describes the machine, and its other load meanwhile. Read from `/proc`; mostly unknown on other systems.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

/// With more cores than this in use by others, a figure is doubtful.
const NOISY: f64 = 0.3;
/// The system counts processor time in hundredths of a second.
const TICKS: f64 = 100.0;

/// Facts about the machine, reported beside the figures.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    pub cores: usize,
    pub processor: String,
    pub memory_mib: u64,
    pub system: String,
    /// The disk of the run's folder.
    pub disk: String,
    /// The average of one minute.
    pub load_before: f64,
    pub load_after: f64,
}

impl Machine {
    pub fn look(folder: &Path) -> Self {
        let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let after = |text: &str, key: &str| {
            let line = text.lines().find(|it| it.starts_with(key));
            line.and_then(|it| it.split_once(':')).map(|(_, it)| it.trim().to_owned()).unwrap_or_default()
        };
        let memory = after(&text("/proc/meminfo"), "MemTotal");
        let kib: u64 = memory.split_whitespace().next().and_then(|it| it.parse().ok()).unwrap_or(0);
        Self {
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            processor: after(&text("/proc/cpuinfo"), "model name"),
            memory_mib: kib / 1_024,
            system: format!("{} {}", std::env::consts::OS, text("/proc/sys/kernel/osrelease").trim()),
            disk: disk(&text("/proc/mounts"), folder),
            load_before: load(),
            load_after: load(),
        }
    }
}

/// The average load of the last minute.
pub(crate) fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|it| it.parse().ok()).unwrap_or(0.0)
}

/// Memory of this process, in bytes, if known.
pub fn resident() -> Option<u64> {
    resident_of("self")
}

/// Memory of a process by its number, in bytes, if known.
pub(crate) fn resident_of(process: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|it| it.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1_024)
}

/// The file system of a folder: that of the longest mount it is under.
fn disk(mounts: &str, folder: &Path) -> String {
    let mounts = mounts.lines().filter_map(|it| {
        let mut words = it.split(' ');
        Some((words.next()?, words.next()?, words.next()?))
    });
    let under = mounts.filter(|(_, at, _)| folder.starts_with(at));
    let longest = under.max_by_key(|(_, at, _)| at.len());
    longest.map(|(device, at, kind)| format!("{kind} on {device} at {at}")).unwrap_or_default()
}

/// Measures the processor use of other processes since its creation.
#[derive(Debug)]
pub(crate) struct ProcessorWatch {
    begun: Instant,
    all: u64,
    ours: u64,
    each: BTreeMap<u32, (String, u64)>,
}

impl ProcessorWatch {
    pub(crate) fn begin() -> Self {
        Self { begun: Instant::now(), all: all_ticks(), ours: our_ticks(), each: others() }
    }

    /// A warning, if others were busy.
    pub(crate) fn end(self) -> Option<String> {
        let seconds = self.begun.elapsed().as_secs_f64().max(0.01);
        let cores = |ticks: u64| ticks as f64 / TICKS / seconds;
        let ours = our_ticks().saturating_sub(self.ours);
        let used = cores(all_ticks().saturating_sub(self.all).saturating_sub(ours));
        if used < NOISY {
            return None;
        }
        let mut busy: Vec<(u64, String)> = others()
            .into_iter()
            .map(|(id, (name, ticks))| {
                (ticks.saturating_sub(self.each.get(&id).map_or(0, |(_, before)| *before)), name)
            })
            .filter(|(ticks, _)| cores(*ticks) > 0.05)
            .collect();
        busy.sort_unstable_by(|a, b| b.cmp(a));
        let names: Vec<String> = busy.into_iter().take(3).map(|(_, name)| name).collect();
        let names = if names.is_empty() { "they have ended".to_owned() } else { names.join(", ") };
        Some(format!("noisy: other processes used {used:.1} cores meanwhile ({names})"))
    }
}

/// Processor time of all processes, in ticks: without idle time, disk waits, and time taken by other
/// virtual machines.
fn all_ticks() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    let fields = first.split_whitespace().skip(1).take(7).enumerate();
    fields.filter(|(nth, _)| ![3, 4].contains(nth)).filter_map(|(_, it)| it.parse::<u64>().ok()).sum()
}

/// Our own processor time, with that of processes we have waited for.
fn our_ticks() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    ticks(&text, 4).map_or(0, |(_, ticks)| ticks)
}

/// Name and processor time of every other process.
fn others() -> BTreeMap<u32, (String, u64)> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = all.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    let others = ids.filter(|it| *it != std::process::id());
    others
        .filter_map(|id| {
            let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            Some((id, ticks(&text, 2)?))
        })
        .collect()
}

/// Name, and the sum of the first `times` of the processor times, of a line as in `/proc/PID/stat`.
pub(crate) fn ticks(line: &str, times: usize) -> Option<(String, u64)> {
    // A name may contain brackets; the fields follow the last one.
    let (name, rest) = line.split_once('(')?.1.rsplit_once(')')?;
    let all = rest.split_whitespace().skip(11).take(times);
    Some((name.to_owned(), all.filter_map(|it| it.parse::<u64>().ok()).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_for_any_process_name() {
        let line = "42 (a) b (c) S 1 42 42 0 -1 4194560 100 200 0 0 30 12 5 2 20 0 1 0 99 0 0";
        assert_eq!(ticks(line, 2), Some(("a) b (c".to_owned(), 42)));
        assert_eq!(ticks(line, 4), Some(("a) b (c".to_owned(), 49)));
        assert_eq!(ticks("", 2), None);
    }

    #[test]
    fn a_folder_is_on_the_longest_mount() {
        let mounts = "/dev/a / ext4 rw 0 0\n/dev/b /srv xfs rw 0 0\ntmpfs /srv/fast tmpfs rw 0 0\n";
        assert_eq!(disk(mounts, Path::new("/srv/slow/x")), "xfs on /dev/b at /srv");
        assert_eq!(disk(mounts, Path::new("/srv/fast/x")), "tmpfs on tmpfs at /srv/fast");
        assert_eq!(disk(mounts, Path::new("/srvx")), "ext4 on /dev/a at /");
    }
}
