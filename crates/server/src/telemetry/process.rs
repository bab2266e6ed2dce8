//! Resource usage of this process, where the system reports it.

use std::path::Path;

/// Clock ticks per second in /proc; the same on every Linux.
const TICKS: f64 = 100.0;

/// Resource usage of this process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Process {
    pub cpu_seconds: Option<f64>,
    pub resident_bytes: Option<f64>,
    pub virtual_bytes: Option<f64>,
    pub open_files: Option<f64>,
    pub most_open_files: Option<f64>,
    pub threads: Option<f64>,
    pub started_at: Option<f64>,
}

/// The disk of the data folder.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Disk {
    pub free: f64,
    pub size: f64,
}

impl Process {
    pub fn now() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let (stat, status, limits, machine) = (
            read("/proc/self/stat"),
            read("/proc/self/status"),
            read("/proc/self/limits"),
            read("/proc/stat"),
        );
        // The program name comes first, in parentheses, and may contain anything.
        let fields: Vec<&str> =
            stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').collect()).unwrap_or_default();
        let field = |n: usize| fields.get(n).and_then(|it| it.parse::<f64>().ok());
        let kilobytes = |name: &str| word_after(&status, name).map(|it| it * 1024.0);
        let cpu_seconds = field(11).zip(field(12)).map(|(user, system)| (user + system) / TICKS);
        let started_at =
            word_after(&machine, "btime").zip(field(19)).map(|(boot, ticks)| boot + ticks / TICKS);
        Self {
            cpu_seconds,
            resident_bytes: kilobytes("VmRSS:"),
            virtual_bytes: kilobytes("VmSize:"),
            open_files: std::fs::read_dir("/proc/self/fd").ok().map(|it| it.count() as f64),
            most_open_files: word_after(&limits, "Max open files"),
            threads: word_after(&status, "Threads:"),
            started_at,
        }
    }
}

impl Disk {
    pub fn of(folder: &Path) -> Option<Self> {
        #[cfg(unix)]
        {
            let told = rustix::fs::statvfs(folder).ok()?;
            let bytes = |blocks: u64| blocks as f64 * told.f_frsize as f64;
            Some(Self { free: bytes(told.f_bavail), size: bytes(told.f_blocks) })
        }
        #[cfg(not(unix))]
        {
            let _ = folder;
            None
        }
    }
}

/// The number after these words at the start of a line.
fn word_after(text: &str, words: &str) -> Option<f64> {
    let line = text.lines().find_map(|it| it.strip_prefix(words))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_something() {
        let process = Process::now();
        assert!(process.resident_bytes.is_some_and(|it| it > 100_000.0), "{process:?}");
        assert!(process.virtual_bytes >= process.resident_bytes, "{process:?}");
        assert!(process.open_files.is_some_and(|it| it >= 3.0), "{process:?}");
        assert!(process.most_open_files >= process.open_files, "{process:?}");
        assert!(process.threads.is_some_and(|it| it >= 1.0), "{process:?}");
        assert!(
            process.cpu_seconds.is_some() && process.started_at.is_some_and(|it| it > 1.7e9),
            "{process:?}"
        );
        let disk = Disk::of(Path::new("/")).unwrap();
        assert!(disk.free > 0.0 && disk.free <= disk.size, "{disk:?}");
        assert!(Disk::of(Path::new("/nowhere at all")).is_none());
    }
}
