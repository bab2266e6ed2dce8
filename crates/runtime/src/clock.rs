//! The project's clock. The only module that reads the machine's clocks.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use trackside_lifecycle::time::Timestamp;

use crate::failpoints::{Failpoint, is_enabled};
use crate::steering::{ClockAlarm, ClockDirection, LONGEST_ABSENCE, Steering};

/// The file in a project's folder that records a manual clock and its time.
const NOTE: &str = "clock";
const MANUAL: &str = "manual";

/// Notes are written one after the other, so that the last one has the latest time.
static NOTING: Mutex<()> = Mutex::new(());

/// The project's clock: the machine's, or a manual one.
#[derive(Clone, Debug)]
pub enum ProjectClock {
    /// The machine's. A running project uses it through [`SteeredClock`].
    System,
    /// Stands still until it is moved.
    Manual(Arc<AtomicI64>),
    /// The clock of a running project: elapsed time, steered towards the machine's clock.
    Steered(Arc<SteeredClock>),
    /// The clock of a simulated machine.
    #[cfg(feature = "simulation")]
    Simulated(Arc<SimulatedMachine>),
}

/// Project time of a running project, for all its threads.
#[derive(Debug)]
pub struct SteeredClock {
    machine: Machine,
    state: Mutex<ClockState>,
}

#[derive(Debug)]
struct ClockState {
    elapsed: ElapsedTime,
    steering: Steering,
}

/// Elapsed time that never goes back, in microseconds: a step back of the machine's monotonic clock counts as nothing.
/// No system should do that; clocks of virtual machines have done it.
#[derive(Debug)]
struct ElapsedTime {
    /// The last reading of the machine's clock.
    last: i64,
    /// The sum of all steps back.
    behind: i64,
}

impl ElapsedTime {
    fn from_reading(last: i64) -> Self {
        Self { last, behind: 0 }
    }

    /// Elapsed time at a reading. Readings come in the order in which they were made.
    fn at(&mut self, reading: i64) -> i64 {
        if !is_enabled(Failpoint::StepBackFollowed) {
            self.behind = self.behind.saturating_add(self.last.saturating_sub(reading).max(0));
        }
        self.last = reading;
        reading.saturating_add(self.behind)
    }
}

/// The clocks of a machine that a simulation moves.
#[cfg(feature = "simulation")]
#[derive(Debug, Default)]
pub struct SimulatedMachine {
    /// The time of day, in milliseconds. It may jump, stand still or go back.
    pub wall: AtomicI64,
    /// Elapsed time, in milliseconds. It may go back, which no system should do.
    pub monotonic: AtomicI64,
}

#[derive(Debug)]
enum Machine {
    Real(Stopwatch),
    #[cfg(feature = "simulation")]
    Simulated(Arc<SimulatedMachine>),
}

/// Elapsed time, including the time for which the machine was suspended.
#[derive(Debug)]
struct Stopwatch {
    began: Instant,
    /// The time since the boot then, in microseconds; none where the system has no such clock.
    booted: Option<i64>,
}

impl Stopwatch {
    fn start() -> Self {
        Self { began: Instant::now(), booted: since_boot() }
    }

    /// In microseconds; negative if the machine's clocks went back to before the start.
    fn elapsed(&self) -> i64 {
        let now = Instant::now();
        let micros = |it: Duration| i64::try_from(it.as_micros()).unwrap_or(i64::MAX);
        let ran = match now.checked_duration_since(self.began) {
            Some(since) => micros(since),
            None => -micros(self.began.saturating_duration_since(now)),
        };
        let passed = since_boot().zip(self.booted).map(|(now, then)| now.saturating_sub(then));
        passed.map_or(ran, |it| it.max(ran))
    }
}

/// The time since the boot, suspension included, in microseconds.
fn since_boot() -> Option<i64> {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(target_vendor = "apple")]
    let clock = rustix::time::ClockId::Monotonic;
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        let it = rustix::time::clock_gettime(clock);
        Some(it.tv_sec.saturating_mul(1_000_000).saturating_add(it.tv_nsec / 1_000))
    }
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    None
}

/// The time of day of the machine.
fn time_of_day() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_millisecond())
}

impl Machine {
    /// Elapsed microseconds and the time of day.
    fn read(&self) -> (i64, Timestamp) {
        match self {
            Self::Real(stopwatch) => (stopwatch.elapsed(), time_of_day()),
            #[cfg(feature = "simulation")]
            Self::Simulated(it) => (
                it.monotonic.load(Ordering::Acquire).saturating_mul(1_000),
                Timestamp(it.wall.load(Ordering::Acquire)),
            ),
        }
    }

    fn elapsed(&self) -> i64 {
        match self {
            Self::Real(stopwatch) => stopwatch.elapsed(),
            #[cfg(feature = "simulation")]
            Self::Simulated(_) => self.read().0,
        }
    }
}

impl SteeredClock {
    fn begin(machine: Machine, last: Option<Timestamp>) -> Self {
        let (reading, day) = machine.read();
        let steering = Steering::begin(last, reading, day);
        let state = Mutex::new(ClockState { elapsed: ElapsedTime::from_reading(reading), steering });
        Self { machine, state }
    }

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Elapsed microseconds.
    fn elapsed(&self) -> i64 {
        let mut state = self.state();
        let reading = self.machine.elapsed();
        state.elapsed.at(reading)
    }

    /// Gives the elapsed microseconds to `work`.
    fn with<T>(&self, work: impl FnOnce(&mut Steering, i64) -> T) -> T {
        let mut state = self.state();
        let reading = self.machine.elapsed();
        let elapsed = state.elapsed.at(reading);
        work(&mut state.steering, elapsed)
    }

    /// Gives the elapsed microseconds and the time of day to `work`.
    fn with_day<T>(&self, work: impl FnOnce(&mut Steering, i64, Timestamp) -> T) -> T {
        let mut state = self.state();
        let (reading, day) = self.machine.read();
        let elapsed = state.elapsed.at(reading);
        work(&mut state.steering, elapsed, day)
    }

    fn now(&self) -> Timestamp {
        self.with(|it, elapsed| it.at(elapsed))
    }
}

impl ProjectClock {
    pub fn manual(now: Timestamp) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(now.0)))
    }

    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => time_of_day(),
            Self::Manual(now) => Timestamp(now.load(Ordering::Acquire)),
            Self::Steered(clock) => clock.now(),
            #[cfg(feature = "simulation")]
            Self::Simulated(machine) => Timestamp(machine.wall.load(Ordering::Acquire)),
        }
    }

    /// A time that only measures intervals, for work that is spread over time. None for a manual clock: nothing waits
    /// for one.
    pub(crate) fn interval_time(&self) -> Option<Duration> {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        match self {
            Self::System => Some(START.elapsed()),
            Self::Manual(_) => None,
            Self::Steered(clock) => Some(Duration::from_micros(u64::try_from(clock.elapsed()).unwrap_or(0))),
            #[cfg(feature = "simulation")]
            Self::Simulated(machine) => {
                let elapsed = machine.monotonic.load(Ordering::Acquire);
                Some(Duration::from_millis(u64::try_from(elapsed).unwrap_or(0)))
            }
        }
    }

    pub fn is_manual(&self) -> bool {
        matches!(self, Self::Manual(_))
    }

    /// The clock of a project that starts now; `last` is the time of its last entry.
    pub(crate) fn begin(&self, last: Option<Timestamp>) -> Self {
        let machine = match self {
            Self::System => Machine::Real(Stopwatch::start()),
            #[cfg(feature = "simulation")]
            Self::Simulated(machine) => Machine::Simulated(machine.clone()),
            Self::Manual(_) | Self::Steered(_) => return self.clone(),
        };
        Self::Steered(Arc::new(SteeredClock::begin(machine, last)))
    }

    /// Whether a start does not believe a machine's clock that is this far ahead of the last entry.
    pub fn is_too_far_ahead(machine: Timestamp, last: Timestamp) -> bool {
        machine.since(last) > LONGEST_ABSENCE
    }

    /// Why a start after this last entry would not follow the machine's clock, if it would not.
    pub fn alarm_at_start(last: Option<Timestamp>) -> Option<ClockAlarm> {
        Steering::begin(last, 0, time_of_day()).alarm()
    }

    /// Compares with the machine's clock and returns the time.
    pub(crate) fn tick(&self) -> Timestamp {
        let Self::Steered(clock) = self else { return self.now() };
        clock.with_day(|it, elapsed, day| {
            it.tick(elapsed, day);
            if is_enabled(Failpoint::JumpFollowed) && it.at(elapsed) < day {
                it.move_to(day);
            }
            it.at(elapsed)
        })
    }

    /// Why the time does not follow the machine's clock, if it does not.
    pub fn alarm(&self) -> Option<ClockAlarm> {
        match self {
            Self::Steered(clock) => clock.state().steering.alarm(),
            _ => None,
        }
    }

    /// The time of the machine's clock, unless the clock is manual.
    pub fn machine_time(&self) -> Option<Timestamp> {
        match self {
            Self::Manual(_) => None,
            Self::Steered(clock) => Some(clock.machine.read().1),
            _ => Some(self.now()),
        }
    }

    /// The time to which project time can be moved, or why it cannot.
    pub(crate) fn correction(&self, direction: ClockDirection) -> Result<Timestamp, String> {
        let Self::Steered(clock) = self else {
            return Err("This server uses a manual clock. Move it with: trackside clock advance".to_owned());
        };
        clock.with_day(|it, elapsed, day| it.refuses(direction, elapsed, day).map(|()| day))
    }

    /// Moves project time to a time that [`Self::correction`] returned.
    pub(crate) fn move_to(&self, time: Timestamp) {
        if let Self::Steered(clock) = self {
            clock.with_day(|it, elapsed, day| {
                it.tick(elapsed, day);
                it.move_to(time);
            });
        }
    }

    /// Project time is not before the last entry: for a correction that was not committed.
    pub(crate) fn hold(&self, last: Timestamp) {
        if let Self::Steered(clock) = self {
            clock.with(|it, elapsed| it.hold(last, elapsed));
        }
    }

    /// Moves a manual clock, never backwards.
    pub(crate) fn set(&self, to: Timestamp) {
        if let Self::Manual(now) = self {
            now.fetch_max(to.0, Ordering::AcqRel);
        }
    }

    /// Records a manual clock and its time in the project's folder, durably: for the next start, and for
    /// commands that run without a server.
    pub fn note(&self, folder: &Path) -> io::Result<()> {
        let _alone = NOTING.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_manual() {
            return write(folder, &format!("{MANUAL} {}\n", self.now()));
        }
        match fs::remove_file(folder.join(NOTE)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether the note in a folder says that its project has a manual clock.
    pub fn is_manual_in(folder: &Path) -> bool {
        read_note(folder).is_some()
    }

    /// The noted time of that clock, if there is one.
    pub fn noted_in(folder: &Path) -> Option<Timestamp> {
        Timestamp::parse(read_note(folder)?.trim())
    }
}

/// The rest of the note. Notes of earlier builds contain nothing else.
fn read_note(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join(NOTE)).ok()?;
    text.strip_prefix(MANUAL).map(str::to_owned)
}

/// Writes the note whole or not at all.
fn write(folder: &Path, text: &str) -> io::Result<()> {
    let (note, beside) = (folder.join(NOTE), folder.join("clock.new"));
    let mut file = File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, &note)?;
    // Systems that cannot sync a folder do not need it.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elapsed_time_never_goes_back_and_does_not_stand_still() {
        let mut it = ElapsedTime::from_reading(10);
        let readings = [10, 40, 15, 25, -3_600_000_000, -3_599_999_990];
        assert_eq!(readings.map(|reading| it.at(reading)), [10, 40, 40, 50, 50, 60]);
    }

    #[test]
    fn a_note_records_the_time_of_a_manual_clock() {
        let folder = std::env::temp_dir().join(format!("trackside-clock-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert!(!ProjectClock::is_manual_in(&folder) && ProjectClock::noted_in(&folder).is_none());
        let clock = ProjectClock::manual(Timestamp(0));
        clock.set(Timestamp(1_500));
        clock.note(&folder).unwrap();
        assert!(ProjectClock::is_manual_in(&folder));
        assert_eq!(ProjectClock::noted_in(&folder), Some(Timestamp(1_500)));
        fs::write(folder.join(NOTE), "manual\n").unwrap();
        assert!(
            ProjectClock::is_manual_in(&folder) && ProjectClock::noted_in(&folder).is_none(),
            "as it was before"
        );
        ProjectClock::System.note(&folder).unwrap();
        ProjectClock::System.note(&folder).unwrap();
        assert!(!ProjectClock::is_manual_in(&folder));
        fs::remove_dir_all(&folder).unwrap();
    }
}
