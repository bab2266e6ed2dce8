//! Watches the space of the data folder, and refuses commands before the disk is full.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trackside_engine::command::{Ask, Command};
use trackside_store::space::{DiskSpace, bytes_text, folder_bytes};

use crate::answer::Failure;
use crate::work::Work;

/// The interval between checks.
const LOOK: Duration = Duration::from_secs(1);
/// Checks in a row with enough space until the alert closes.
const CALM: u32 = 5;
/// The interval between counts of all files. The databases are measured at every check.
const COUNT: Duration = Duration::from_secs(30);
/// The files that grow with every command.
const DATABASES: [&str; 4] = ["journal.db", "journal.db-wal", "state.db", "state.db-wal"];

/// Limits of the space of a data folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpaceLimits {
    /// The data folder; none if it is not watched.
    pub folder: Option<PathBuf>,
    /// The largest size of the folder, in bytes.
    pub quota: Option<u64>,
    /// Bytes of the disk that stay free for recovery work: redaction, stopping, and removing data. None for 256 MiB, or
    /// 5 % of a small disk.
    pub min_free: Option<u64>,
}

/// The default of `min_free` on a large disk.
const MIN_FREE: u64 = 256 * 1024 * 1024;

/// How much space there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SpaceStatus {
    #[default]
    Enough,
    /// It will run out: 80 % of the quota is used, or less than twice the reserve is free.
    Low(String),
    /// Commands are refused.
    Out(String),
}

impl SpaceLimits {
    /// Bytes of the disk that stay free.
    fn reserve(&self, disk: DiskSpace) -> u64 {
        self.min_free.unwrap_or(MIN_FREE.min(disk.total / 20))
    }

    /// The status for a disk and for the size of the folder.
    fn status(&self, disk: Option<DiskSpace>, used: u64) -> SpaceStatus {
        let mut status = SpaceStatus::Enough;
        if let Some(quota) = self.quota {
            let text =
                format!("the data folder has {} of the {} it may have", bytes_text(used), bytes_text(quota));
            if used >= quota {
                return SpaceStatus::Out(format!(
                    "{text}. Archive old entries and move the files of archive/ away, remove old backups, or raise --quota"
                ));
            }
            if used >= quota / 5 * 4 {
                status = SpaceStatus::Low(text);
            }
        }
        if let Some(space @ DiskSpace { free, .. }) = disk {
            let reserve = self.reserve(space);
            let text = format!("the disk of the data folder has {} free", bytes_text(free));
            if free < reserve {
                return SpaceStatus::Out(format!(
                    "{text}, and {} are reserved for recovery. Free some space, or lower --min-free",
                    bytes_text(reserve)
                ));
            }
            if free < reserve.saturating_mul(2) {
                status =
                    SpaceStatus::Low(format!("{text}. Below {} commands are refused", bytes_text(reserve)));
            }
        }
        status
    }
}

/// A reason for an alert about space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpacePressure {
    /// Commands are refused.
    pub is_out: bool,
    pub message: Arc<str>,
}

/// The status that callers see.
#[derive(Debug, Default)]
pub(crate) struct SpaceGuard {
    is_out: AtomicBool,
    status: RwLock<SpaceStatus>,
    /// Whether there is a reason for an alert, which most of the time there is not.
    is_pressed: AtomicBool,
    pressure: RwLock<Option<SpacePressure>>,
}

impl SpaceGuard {
    pub fn status(&self) -> SpaceStatus {
        self.status.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why there has to be an alert about space, if there has to be one.
    pub fn pressure(&self) -> Option<SpacePressure> {
        let is_pressed = self.is_pressed.load(Ordering::Acquire);
        is_pressed.then(|| self.pressure.read().unwrap_or_else(PoisonError::into_inner).clone()).flatten()
    }

    fn set_pressure(&self, pressure: Option<SpacePressure>) {
        let is_pressed = pressure.is_some();
        *self.pressure.write().unwrap_or_else(PoisonError::into_inner) = pressure;
        self.is_pressed.store(is_pressed, Ordering::Release);
    }

    fn set(&self, status: SpaceStatus) {
        self.is_out.store(matches!(status, SpaceStatus::Out(_)), Ordering::Release);
        *self.status.write().unwrap_or_else(PoisonError::into_inner) = status;
    }

    /// Refuses new data while there is no space. Recovery work and questions pass.
    pub fn check(&self, work: &Work) -> Result<(), Failure> {
        if !self.is_out.load(Ordering::Acquire) || !needs_space(work) {
            return Ok(());
        }
        self.check_space()
    }

    /// Refuses new data while there is no space.
    pub fn check_space(&self) -> Result<(), Failure> {
        match self.status() {
            SpaceStatus::Out(why) => Err(Failure::NoSpace(no_space(&why))),
            SpaceStatus::Enough | SpaceStatus::Low(_) => Ok(()),
        }
    }
}

/// The message for callers.
fn no_space(why: &str) -> String {
    format!(
        "nothing was changed: {why}. Reading and redaction work, and commands work again as soon as there is space"
    )
}

/// Whether this work adds data.
fn needs_space(work: &Work) -> bool {
    match work {
        Work::Command(command, _, options) => !options.from_reserve && !frees_space(command),
        Work::Atomic(commands, ..) => !commands.iter().all(frees_space),
        Work::Law(_, new, ..) => !new.is_empty(),
        Work::Look(..)
        | Work::Trial(..)
        | Work::Advance(..)
        | Work::CorrectClock(..)
        | Work::Sweep(..)
        | Work::Stop => false,
    }
}

/// Whether a command removes data.
fn frees_space(command: &Command) -> bool {
    matches!(command.ask, Ask::Redact(_))
}

/// The thread that watches. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct SpaceWatch {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl SpaceWatch {
    /// Checks once, then starts the thread. None if no folder is to be watched.
    pub fn start(
        limits: SpaceLimits,
        guard: impl Fn() -> Option<Arc<SpaceGuard>> + Send + 'static,
    ) -> std::io::Result<Option<Self>> {
        let Some(folder) = limits.folder.clone() else { return Ok(None) };
        let mut size = FolderSize { counted: None, others: 0 };
        let mut alarm = SpaceAlarm::default();
        if let Some(guard) = guard() {
            look(&limits, &folder, &mut size, &mut alarm, &guard);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let ended = stop.clone();
        let watch = move || {
            while !ended.load(Ordering::Acquire) {
                std::thread::park_timeout(LOOK);
                let Some(guard) = guard() else { return };
                look(&limits, &folder, &mut size, &mut alarm, &guard);
            }
        };
        let thread = std::thread::Builder::new().name("space".to_owned()).spawn(watch)?;
        Ok(Some(Self { thread: Some(thread), stop }))
    }
}

impl Drop for SpaceWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            thread.join().ok();
        }
    }
}

/// The size of the folder. Files other than the databases are counted now and then.
struct FolderSize {
    counted: Option<Instant>,
    others: u64,
}

impl FolderSize {
    fn bytes(&mut self, folder: &Path) -> u64 {
        let size = |name: &str| std::fs::metadata(folder.join(name)).map_or(0, |it| it.len());
        let databases = DATABASES.map(size).iter().sum::<u64>();
        if self.counted.is_none_or(|it| it.elapsed() >= COUNT) {
            self.others = folder_bytes(folder).saturating_sub(databases);
            self.counted = Some(Instant::now());
        }
        databases + self.others
    }
}

/// Decides when an alert about space opens and closes.
#[derive(Debug, Default)]
struct SpaceAlarm {
    pressure: Option<SpacePressure>,
    /// Checks in a row that found enough space.
    calm: u32,
}

impl SpaceAlarm {
    /// It opens when space is low, unless the disk has no room for the entry, and closes when there has been enough for
    /// some checks. Its text stays, so that one shortage is one alert.
    fn see(&mut self, status: &SpaceStatus, has_room: bool) {
        self.calm = if *status == SpaceStatus::Enough { self.calm.saturating_add(1) } else { 0 };
        let (is_out, message) = match status {
            SpaceStatus::Enough => (false, None),
            SpaceStatus::Low(why) => (false, Some(format!("Space is low: {why}"))),
            SpaceStatus::Out(why) => (true, Some(format!("Commands are refused: {why}"))),
        };
        if self.calm >= CALM {
            self.pressure = None;
        } else if let Some(message) = message.filter(|_| has_room && self.pressure.is_none()) {
            self.pressure = Some(SpacePressure { is_out, message: message.into() });
        }
    }
}

fn look(
    limits: &SpaceLimits,
    folder: &Path,
    size: &mut FolderSize,
    alarm: &mut SpaceAlarm,
    guard: &SpaceGuard,
) {
    let used = if limits.quota.is_some() { size.bytes(folder) } else { 0 };
    let disk = DiskSpace::of(folder).ok();
    let status = limits.status(disk, used);
    alarm.see(&status, disk.is_none_or(|it| it.free >= limits.reserve(it) / 2));
    guard.set_pressure(alarm.pressure.clone());
    guard.set(status);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_shortage_is_one_alert() {
        let (mut alarm, low) = (SpaceAlarm::default(), SpaceStatus::Low("8 of 10".to_owned()));
        let out = SpaceStatus::Out("10 of 10".to_owned());
        alarm.see(&out, false);
        assert_eq!(alarm.pressure, None, "the disk has no room for the entry");
        alarm.see(&low, true);
        let opened = alarm.pressure.clone().unwrap();
        assert_eq!((&*opened.message, opened.is_out), ("Space is low: 8 of 10", false));
        alarm.see(&out, true);
        for _ in 1..CALM {
            alarm.see(&SpaceStatus::Enough, true);
        }
        alarm.see(&low, true);
        for _ in 1..CALM {
            alarm.see(&SpaceStatus::Enough, true);
            assert_eq!(alarm.pressure, Some(opened.clone()));
        }
        alarm.see(&SpaceStatus::Enough, true);
        assert_eq!(alarm.pressure, None);
    }

    #[test]
    fn space_is_low_before_it_is_out() {
        let limits = SpaceLimits { quota: Some(1_000), min_free: Some(100), ..SpaceLimits::default() };
        let disk = |free| Some(DiskSpace { free, total: 10_000 });
        assert_eq!(limits.status(disk(5_000), 799), SpaceStatus::Enough);
        let low = limits.status(disk(5_000), 800);
        assert!(matches!(&low, SpaceStatus::Low(why) if why.contains("800 B of the 1000 B")), "{low:?}");
        let out = limits.status(disk(5_000), 1_000);
        assert!(matches!(&out, SpaceStatus::Out(why) if why.contains("raise --quota")), "{out:?}");
        assert!(matches!(limits.status(disk(199), 0), SpaceStatus::Low(_)));
        let out = limits.status(disk(99), 0);
        assert!(matches!(&out, SpaceStatus::Out(why) if why.contains("lower --min-free")), "{out:?}");
        // By default, 5 % of a small disk stay free.
        let default = SpaceLimits::default();
        assert!(matches!(default.status(disk(499), 0), SpaceStatus::Out(_)));
        assert_eq!(default.status(disk(1_000), 0), SpaceStatus::Enough);
    }
}
