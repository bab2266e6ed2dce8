//! Decides when the store fails.

use std::sync::{Arc, Mutex};

use trackside_random::Random;
use trackside_store::memory::{Call, Faults, StoreFault};

/// The rates of failing calls, per thousand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FaultRates {
    pub append_before: usize,
    pub append_after: usize,
    pub project: usize,
    pub read: usize,
}

impl FaultRates {
    /// Mostly fine, now and then a storm.
    pub fn random(dice: &mut Random) -> Self {
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
pub(crate) struct FaultyDisk(Arc<Mutex<DiskFaults>>);

#[derive(Debug)]
struct DiskFaults {
    dice: Random,
    fault_rates: FaultRates,
    quiet: bool,
    read_failed: bool,
    faults: usize,
}

impl FaultyDisk {
    pub fn new(seed: u64) -> Self {
        let fault_rates = FaultRates::default();
        let state =
            DiskFaults { dice: Random::new(seed), fault_rates, quiet: false, read_failed: false, faults: 0 };
        Self(Arc::new(Mutex::new(state)))
    }

    pub fn set(&self, fault_rates: FaultRates) {
        self.0.lock().unwrap().fault_rates = fault_rates;
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

    pub fn is_calm(&self) -> bool {
        self.0.lock().unwrap().quiet
    }

    /// Whether a read failed since the last call.
    pub fn read_failed(&self) -> bool {
        std::mem::replace(&mut self.0.lock().unwrap().read_failed, false)
    }

    pub fn faults(&self) -> usize {
        self.0.lock().unwrap().faults
    }
}

impl Faults for FaultyDisk {
    fn on(&mut self, call: Call) -> Option<StoreFault> {
        let mut state = self.0.lock().unwrap();
        if state.quiet {
            return None;
        }
        let fault_rates = state.fault_rates;
        let (before, after) = match call {
            Call::Append(_) => (fault_rates.append_before, fault_rates.append_after),
            Call::Project(_) | Call::DropPayloads(_) => (fault_rates.project / 2, fault_rates.project / 2),
            Call::ExpireKeys | Call::Tidy | Call::Clear | Call::Cut(_) => (fault_rates.project, 0),
            Call::Read => (fault_rates.read, 0),
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
