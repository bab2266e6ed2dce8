//! Processor time and memory of a process, thread by thread. Read from `/proc`; mostly unknown on other systems.

use std::collections::BTreeMap;

use crate::machine::ticks;

/// The system counts processor time in hundredths of a second.
const TICK: f64 = 0.01;

/// Processor time, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessorTime {
    pub all: f64,
    /// The part that the system used for us: sockets, files, wake-ups.
    pub system: f64,
}

impl ProcessorTime {
    fn of(line: &str) -> Option<(String, Self)> {
        let (name, all) = ticks(line, 2)?;
        let (_, user) = ticks(line, 1)?;
        Some((name, Self { all: all as f64 * TICK, system: all.saturating_sub(user) as f64 * TICK }))
    }

    /// The usage of the calling thread.
    pub fn here() -> Self {
        let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
        Self::of(&text).map(|(_, it)| it).unwrap_or_default()
    }

    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let less = |now: f64, then: f64| (now - then).max(0.0);
        Self { all: less(self.all, before.all), system: less(self.system, before.system) }
    }

    pub fn add(&mut self, other: &Self) {
        self.all += other.all;
        self.system += other.system;
    }
}

/// The processor time of every thread of a process.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    whole: ProcessorTime,
    threads: BTreeMap<u32, (String, ProcessorTime)>,
}

impl Usage {
    pub fn of(process: u32) -> Self {
        let read = |path: String| std::fs::read_to_string(path).ok().and_then(|it| ProcessorTime::of(&it));
        let listed = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        let ids = listed.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
        let threads =
            ids.filter_map(|id| Some((id, read(format!("/proc/{process}/task/{id}/stat"))?))).collect();
        let whole = read(format!("/proc/{process}/stat")).map(|(_, it)| it).unwrap_or_default();
        Self { whole, threads }
    }

    /// Processor time since an earlier snapshot, by thread name.
    pub fn since(&self, before: &Self) -> Groups {
        let mut groups = Groups::default();
        for (id, (name, spent)) in &self.threads {
            let earlier = before.threads.get(id).map(|(_, it)| *it).unwrap_or_default();
            groups.put(group(name), &spent.since(&earlier));
        }
        // A thread that has ended is in the whole and nowhere else.
        let known = groups.total();
        let whole = self.whole.since(&before.whole);
        let rest = whole.since(&known);
        if rest.all > known.all * 0.01 {
            groups.put("ended", &rest);
        }
        groups
    }
}

/// Threads with the same job differ only by a number.
fn group(name: &str) -> &str {
    name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '-')
}

/// Processor time by the name of threads.
#[derive(Clone, Debug, Default)]
pub struct Groups(BTreeMap<String, ProcessorTime>);

impl Groups {
    pub fn put(&mut self, name: &str, spent: &ProcessorTime) {
        self.0.entry(name.to_owned()).or_default().add(spent);
    }

    pub fn merge(&mut self, other: &Self) {
        for (name, spent) in &other.0 {
            self.put(name, spent);
        }
    }

    pub fn total(&self) -> ProcessorTime {
        let mut total = ProcessorTime::default();
        self.0.values().for_each(|it| total.add(it));
        total
    }

    /// Microseconds per command, largest first; negligible ones are left out.
    pub fn micros(&self, commands: f64) -> Vec<(String, f64)> {
        let each = |it: &ProcessorTime| it.all * 1e6 / commands.max(1.0);
        let all = self.0.iter().map(|(name, spent)| (name.clone(), each(spent)));
        let mut all: Vec<(String, f64)> = all.filter(|(_, it)| *it >= 0.05).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(whole: f64, threads: &[(u32, &str, f64)]) -> Usage {
        let spent = |all: f64| ProcessorTime { all, system: all / 2.0 };
        let threads = threads.iter().map(|(id, name, all)| (*id, ((*name).to_owned(), spent(*all))));
        Usage { whole: spent(whole), threads: threads.collect() }
    }

    #[test]
    fn threads_are_grouped_by_job_and_ended_ones_still_count() {
        let before = usage(5.0, &[(1, "http-0", 1.0), (2, "http-1", 2.0), (3, "decider", 2.0)]);
        let after = usage(15.0, &[(1, "http-0", 3.0), (2, "http-1", 5.0), (4, "reads-9", 1.0)]);
        let spent = after.since(&before);
        let told: Vec<(String, f64)> = spent.micros(1_000_000.0);
        let expected =
            [("http", 5.0), ("ended", 4.0), ("reads", 1.0)].map(|(name, it)| (name.to_owned(), it));
        assert_eq!(told, expected);
        assert_eq!(spent.total().system, 5.0);
    }

    #[test]
    fn this_thread_reports_its_processor_time() {
        if std::path::Path::new("/proc/thread-self/stat").exists() {
            let before = ProcessorTime::here();
            let until = std::time::Instant::now() + std::time::Duration::from_millis(60);
            while std::time::Instant::now() < until {}
            assert!(ProcessorTime::here().all > before.all);
            assert!(!Usage::of(std::process::id()).threads.is_empty());
        }
    }
}
