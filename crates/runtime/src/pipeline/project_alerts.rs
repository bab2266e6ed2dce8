//! Alerts of the project itself: the machine's clock jumped, or space runs out. They close by themselves.

use trackside_engine::Decision;
use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command, SpaceNews};
use trackside_engine::decide::{CLOCK, SPACE};
use trackside_engine::event::{Entry, Event};
use trackside_engine::project::project_key;
use trackside_store::projection_builder::OPEN_ALERT;
use trackside_store::{Reader, StoreError};

use super::decider::Decider;
use crate::space::SpacePressure;

/// The open alerts of the project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProjectAlerts {
    pub clock: Option<u64>,
    pub space: Option<u64>,
}

impl ProjectAlerts {
    /// Those that the projections know.
    pub fn open(reader: &mut dyn Reader) -> Result<Self, StoreError> {
        let mut alerts = Self::default();
        for seq in reader.notices(&[OPEN_ALERT], 0, usize::MAX)? {
            let Some(record) = reader.record(seq)? else { continue };
            if record.entity().is_some_and(|it| it == *project_key()) {
                alerts.follow(&record.entry()?);
            }
        }
        Ok(alerts)
    }

    /// Keeps track of them.
    pub fn follow(&mut self, entry: &Entry) {
        if entry.entity != *project_key() {
            return;
        }
        match &entry.event {
            Event::AlertRaised { kind, .. } if *kind == *CLOCK => self.clock = Some(entry.seq),
            Event::AlertRaised { kind, .. } if *kind == *SPACE => self.space = Some(entry.seq),
            Event::AlertResolved { alert } => {
                for open in [&mut self.clock, &mut self.space] {
                    open.take_if(|it| it == alert);
                }
            }
            _ => {}
        }
    }
}

impl Decider {
    /// Records in the journal that the machine's clock jumped or agrees again, and that space runs out or is back.
    pub(super) fn record_project_news(&mut self) {
        let clock = self.time.news(self.alerts.clock).map(Ask::Clock);
        let space = self.space_news().map(Ask::Space);
        for ask in [clock, space].into_iter().flatten() {
            let command = Command::new(Actor::engine(), ask);
            // It needs nothing of the store. If it fails, the next step tries again.
            if let Ok(Decision::Accepted(accepted)) = self.decide(&command) {
                self.record(accepted.entries);
                self.batch.content.commands += 1;
            }
        }
    }

    fn space_news(&self) -> Option<SpaceNews> {
        match (&self.pressure, self.alerts.space) {
            (Some(SpacePressure { is_out, message }), None) => {
                Some(SpaceNews::Low { is_out: *is_out, message: message.clone() })
            }
            (None, Some(alert)) => Some(SpaceNews::Enough { alert }),
            _ => None,
        }
    }
}
