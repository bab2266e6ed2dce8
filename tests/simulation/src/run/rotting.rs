//! Bits flip in the files of the store.

use super::*;

/// The share of crashes after which the files have other bits, in percent.
const BETWEEN_RUNS: usize = 40;
/// Restarts after which everything must be repaired.
const RESTARTS: usize = 4;

impl SimulationRun<'_> {
    /// Opens the files, if the store has files. False if they are refused.
    pub(super) fn open_files(&mut self) -> Result<bool, BrokenPromise> {
        let Some(files) = &mut self.files else { return Ok(true) };
        if self.wants_rebuild.lock().unwrap().take().is_some() {
            files.remove_projections();
        }
        match files.open() {
            Ok(store) => {
                self.store = store;
                Ok(true)
            }
            Err(why) => {
                self.log.add(format!("the files are not opened: {why}"));
                self.refused(&why.to_string())?;
                Ok(false)
            }
        }
    }

    /// The files or the start were refused: the message must name the damage. A person does what it says.
    pub(super) fn refused(&mut self, why: &str) -> Result<(), BrokenPromise> {
        let Some(files) = &mut self.files else { return Ok(()) };
        if why.contains("state.db") {
            files.remove_projections();
        } else if files.has_damaged_entries() && (why.contains("journal") || why.contains("rules")) {
            files.restore_entries();
        } else {
            return Err(BrokenPromise::new("a refusal names the damage", why.to_owned()));
        }
        Ok(())
    }

    /// Nothing in memory survives.
    pub(super) fn forget_memory(&mut self) {
        match &mut self.files {
            None => {
                self.memory = self.memory.reopen();
                self.store = Arc::new(self.memory.clone());
            }
            Some(files) => {
                self.store = Arc::new(MemoryStore::new());
                files.next_process(0);
            }
        }
    }

    /// A bit flips while the project runs, or a person restores the journal.
    pub(super) fn flip(&mut self) -> Result<(), BrokenPromise> {
        let Some(files) = &mut self.files else { return Ok(()) };
        if !self.installed || self.stepper.is_none() {
            return Ok(());
        }
        let flipped = match self.dice.below(10) {
            0..=6 => files.flip_row(),
            7 if !files.has_damaged_entries() => {
                let flipped = files.flip_entry();
                self.damaged_entries_are_refused()?;
                flipped
            }
            _ => {
                self.journal_is_restored();
                None
            }
        };
        self.rotten |= flipped.is_some();
        self.model.rotten = self.rotten;
        flipped.into_iter().for_each(|it| self.log.add(it));
        Ok(())
    }

    fn damaged_entries_are_refused(&self) -> Result<(), BrokenPromise> {
        for seq in self.files.iter().flat_map(RottingFiles::damaged_entries) {
            let mut reader = self.store.reader().unwrap();
            if reader.record(seq).is_ok() || reader.records(seq - 1, 1).is_ok() {
                return Err(BrokenPromise::new("a damaged entry is not served", format!("entry {seq}")));
            }
        }
        Ok(())
    }

    fn journal_is_restored(&mut self) {
        let Some(files) = self.files.as_mut().filter(|it| it.has_damaged_entries()) else { return };
        files.restore_entries();
        self.log.add("the journal is restored");
        // Followers that met the damage start again.
        self.listeners.iter_mut().for_each(JournalListener::cut_off);
    }

    pub(super) fn rot_between_runs(&mut self) {
        let Some(files) = &mut self.files else { return };
        if !self.installed || !self.dice.percent(BETWEEN_RUNS) || self.disk.is_calm() {
            return;
        }
        let flipped = files.next_process(1 + self.dice.below(2));
        self.rotten |= !flipped.is_empty();
        self.model.rotten = self.rotten;
        flipped.into_iter().for_each(|it| self.log.add(it));
    }

    /// The last of it. A new process finds the present damage.
    pub(super) fn rot_ends(&mut self) -> Result<(), BrokenPromise> {
        self.journal_is_restored();
        self.crash()
    }

    /// Damaged rows are repaired by sweeps, or by the rebuild that a start makes if one was requested.
    pub(super) fn is_repaired(&mut self) -> Result<(), BrokenPromise> {
        for _ in 0..RESTARTS {
            let Some(files) = &self.files else { return Ok(()) };
            let damage = files.first_damage(&*self.store);
            let problem = self.stepper.as_ref().and_then(Stepper::problem);
            if damage.is_none() && problem.is_none() && self.is_done() {
                (self.rotten, self.model.rotten) = (false, false);
                return Ok(());
            }
            self.log.add(format!("still damaged: {damage:?}, {problem:?}"));
            self.crash()?;
            for _ in 0..40 {
                self.step += 25;
                self.deliver();
                self.decider_step()?;
                self.commit()?;
                self.flush()?;
            }
            self.take_sweep()?;
        }
        let damage = self.files.as_ref().and_then(|it| it.first_damage(&*self.store));
        let problem = self.stepper.as_ref().and_then(Stepper::problem);
        Err(BrokenPromise::new("damaged rows are repaired", format!("{damage:?}, {problem:?}")))
    }
}
