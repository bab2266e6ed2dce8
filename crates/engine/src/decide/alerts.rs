//! People acknowledge and resolve alerts.

use trackside_lifecycle::name::Name;

use super::request::Request;
use super::{DecisionBuilder, Stop, unknown_entity};
use crate::actor::ActorKind;
use crate::command::AlertAction;
use crate::event::Event;
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::project::project_key;
use crate::refusal::{Code, Refusal};
use crate::view::Found;

/// Most alerts of one entity that are open at a time: beyond them the oldest gives way.
const MOST: usize = 256;

impl DecisionBuilder<'_> {
    /// Acknowledges or resolves an alert. A second acknowledgement or resolution writes nothing.
    pub fn handle_alert(
        &mut self,
        key: &EntityKey,
        alert: u64,
        action: AlertAction,
        request: &Request,
    ) -> Result<(), Stop> {
        if key == project_key() {
            let message = "The alert about the clock ends when the machine's clock agrees with project time: set the \
                           machine's clock, or correct project time with `trackside clock accept` or `trackside clock \
                           reset`";
            return Err(Refusal::one(Code::NotPermitted, message).into());
        }
        let (life, entity) = self.existing_entity(key)?;
        if !self.may_read(&life, entity, request)? {
            return Err(unknown_entity(key).into());
        }
        if request.actor.kind != ActorKind::Human {
            let message = format!("Only people {} alerts: ask one to look at it", action.as_str());
            let mut refusal = Refusal::one(Code::NotPermitted, message);
            refusal.who = Some("human".to_owned());
            return Err(refusal.into());
        }
        let Some(open) = entity.alert(alert) else {
            let message = format!("{key} has no open alert {alert}: it was resolved before, or never raised");
            return Err(Refusal::one(Code::AlertResolved, message).into());
        };
        let event = match action {
            AlertAction::Acknowledge if open.acknowledged.is_some() => return Ok(()),
            AlertAction::Acknowledge => Event::AlertAcknowledged { alert },
            AlertAction::Resolve => Event::AlertResolved { alert },
        };
        let seq = self.record(key, request, &Name::new(action.as_str()), event);
        self.root.get_or_insert(seq);
        Ok(())
    }

    /// An alert was raised: where too many are open, the oldest gives way to it.
    pub(super) fn make_room(&mut self, key: &EntityKey) {
        let Found::Here(entity) = self.draft.entity(key) else { return };
        let Some(oldest) = entity.alerts.first().filter(|_| entity.alerts.len() > MOST) else { return };
        let event = Event::AlertResolved { alert: oldest.seq };
        let mut request =
            Request::engine(ActorKind::System, Fields::default(), Name::new("alerts"), self.root);
        request.reason =
            Some(format!("More than {MOST} alerts of {key} are open: the oldest gives way").into());
        self.record(key, &request, &Name::new(AlertAction::Resolve.as_str()), event);
    }
}
