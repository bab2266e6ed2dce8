//! Decides when the store fails.

use std::sync::{Arc, Mutex};

use trackside_random::Random;
use trackside_store::memory::{Call, Faults, StoreFault};

/// The rates of failing calls, per thousand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weather {
    pub append_before: usize,
    pub append_after: usize,
    pub project: usize,
    pub read: usize,
}

impl Weather {
    /// Mostly fine, now and then a storm.
    pub fn drawn(dice: &mut Random) -> Self {
        match dice.below(10) {
            0..=3 => Self::default(),
            4..=7 => Self { append_before: 30, append_after: 30, project: 60, read: 3 },
            8 => Self { append_before: 250, append_after: 250, project: 300, read: 60 },
            _ => Self { append_before: 0, append_after: 0, project: 900, read: 0 },
        }
    }
}

/// The disk of the simulation; its faults can be switched off.
#[derive(Clone, Debug)]
pub(crate) struct Disk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    dice: Random,
    weather: Weather,
    quiet: bool,
    read_failed: bool,
    faults: usize,
}

impl Disk {
    pub fn new(seed: u64) -> Self {
        let weather = Weather::default();
        let state = State { dice: Random::new(seed), weather, quiet: false, read_failed: false, faults: 0 };
        Self(Arc::new(Mutex::new(state)))
    }

    pub fn set(&self, weather: Weather) {
        self.0.lock().unwrap().weather = weather;
    }

    /// Does work while nothing fails.
    pub fn quietly<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = std::mem::replace(&mut self.0.lock().unwrap().quiet, true);
        let done = work();
        self.0.lock().unwrap().quiet = before;
        done
    }

    /// Ends all failures.
    pub fn calm(&self) {
        self.0.lock().unwrap().quiet = true;
    }

    /// Whether a read failed since the last call.
    pub fn read_failed(&self) -> bool {
        std::mem::replace(&mut self.0.lock().unwrap().read_failed, false)
    }

    pub fn faults(&self) -> usize {
        self.0.lock().unwrap().faults
    }
}

impl Faults for Disk {
    fn on(&mut self, call: Call) -> Option<StoreFault> {
        let mut state = self.0.lock().unwrap();
        if state.quiet {
            return None;
        }
        let weather = state.weather;
        let (before, after) = match call {
            Call::Append(_) => (weather.append_before, weather.append_after),
            Call::Project(_) | Call::DropPayloads(_) => (weather.project / 2, weather.project / 2),
            Call::ExpireKeys | Call::Tidy | Call::Clear | Call::Cut(_) => (weather.project, 0),
            Call::Read => (weather.read, 0),
        };
        let drawn = state.dice.below(1_000);
        let fault = match drawn {
            it if it < before => Some(StoreFault::Before),
            it if it < before + after => Some(StoreFault::After),
            _ => None,
        };
        state.read_failed |= fault.is_some() && call == Call::Read;
        state.faults += usize::from(fault.is_some());
        fault
    }

    fn lost(&mut self, unsaved: usize) -> usize {
        let mut state = self.0.lock().unwrap();
        let all = state.dice.percent(30);
        if all { unsaved } else { state.dice.below(unsaved + 1) }
    }
}
