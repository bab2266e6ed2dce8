//! Damaged rows of the projections that decisions and reads met.

use std::collections::BTreeMap;

use trackside_engine::key::EntityKey;
use trackside_store::store::RowHealing;
use trackside_store::{Store, StoreError};

/// The damage that is not repaired yet.
#[derive(Debug, Default)]
pub(super) struct Damage {
    /// Entities whose rows could not be rebuilt, and why not.
    rows: BTreeMap<EntityKey, String>,
    /// A damaged row that several entities share.
    shared: Option<String>,
    /// Whether all rows were compared and repaired since shared damage was met first.
    compared: bool,
    /// A full comparison is to begin.
    wants_comparison: bool,
    /// The comparison did not help: everything is to be rebuilt at the next start.
    wants_rebuild: bool,
    /// Repairs that are under way, one inside the other.
    pub mending: u32,
    /// Rows for the flusher to heal.
    to_heal: Option<RowHealing>,
    /// How often rows were to be healed, and how often the flusher did it.
    heals_requested: u64,
    heals_done: u64,
}

impl Damage {
    /// Takes note of an error, if it is about damaged rows that several entities share.
    pub fn meet(&mut self, error: &StoreError) {
        if !error.is_state_damage() {
            return;
        }
        if self.compared {
            self.wants_rebuild = true;
        } else if self.shared.is_none() {
            self.wants_comparison = true;
        }
        self.shared = Some(error.to_string());
    }

    /// A sweep could not be completed.
    pub fn comparison_failed(&mut self, error: &StoreError) {
        self.compared |= error.is_state_damage();
        self.meet(error);
    }

    /// An entity could not be rebuilt.
    pub fn note(&mut self, key: &EntityKey, error: &StoreError) {
        self.rows.insert(key.clone(), error.to_string());
    }

    /// An entity is right again.
    pub fn resolve(&mut self, key: &EntityKey) {
        self.rows.remove(key);
    }

    /// All rows were compared with the journal, and those that differed were rebuilt. `is_whole` if no damaged row is
    /// left in any table. `can_rebuild` if the journal has all that a rebuild needs.
    pub fn compared_all(&mut self, is_whole: bool, can_rebuild: bool) {
        self.compared = !is_whole && can_rebuild;
        if is_whole {
            (self.shared, self.wants_comparison) = (None, false);
        } else {
            // Everything was tried that can be done while the project runs.
            self.shared.get_or_insert_with(|| "state.db has damaged rows. They are not used".to_owned());
            self.wants_rebuild = can_rebuild;
        }
    }

    /// Has the flusher remove damaged rows and write lost keys.
    pub fn heal(&mut self, healing: RowHealing) {
        self.to_heal = Some(healing);
        self.heals_requested += 1;
    }

    pub fn take_healing(&mut self) -> Option<RowHealing> {
        self.to_heal.take()
    }

    /// The flusher has healed rows this often.
    pub fn healed(&mut self, times: u64) {
        self.heals_done = times;
    }

    /// Whether the flusher has healed all that it was asked to.
    pub fn is_healed(&self) -> bool {
        self.to_heal.is_none() && self.heals_done >= self.heals_requested
    }

    /// Whether a full comparison is to begin now.
    pub fn takes_comparison(&mut self) -> bool {
        std::mem::take(&mut self.wants_comparison)
    }

    /// Requests a rebuild at the next start, if nothing else helps.
    pub fn request_rebuild(&mut self, store: &dyn Store) {
        if std::mem::take(&mut self.wants_rebuild)
            && let Some(why) = &self.shared
        {
            store.request_rebuild(why);
        }
    }

    /// The damage that is left, for people.
    pub fn problem(&self) -> Option<String> {
        if let Some(why) = &self.shared {
            return Some(why.clone());
        }
        let (key, why) = self.rows.first_key_value()?;
        Some(match self.rows.len() {
            1 => format!("{key} cannot be rebuilt: {why}"),
            more => format!("{key} and {} more cannot be rebuilt: {why}", more - 1),
        })
    }
}
