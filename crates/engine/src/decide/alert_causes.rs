//! Alerts end with their cause, and the server raises alerts about what it sees.

use std::sync::Arc;

use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;

use super::configure::not_admin;
use super::fire::plain_scope;
use super::invariants::engine_request;
use super::request::Request;
use super::{DecisionBuilder, Stop};
use crate::actor::ActorKind;
use crate::command::{AlertAction, ServerAlert};
use crate::entity::{AlertCause, Entity, OpenAlert};
use crate::event::Event;
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::view::Found;

impl DecisionBuilder<'_> {
    /// Resolves the open alerts of all touched entities whose cause is gone.
    pub(super) fn close_alerts(&mut self) -> Result<(), Stop> {
        let mut gone: Vec<(EntityKey, u64, String)> = Vec::new();
        for key in self.looked_at() {
            let Found::Here(entity) = self.draft.entity(&key) else { continue };
            if entity.alerts.is_empty() {
                continue;
            }
            let Some(life) = self.law.definition(&key.lifecycle, entity.definition) else { continue };
            for alert in &entity.alerts {
                if let Some(why) = self.ended_cause(life, entity, alert)? {
                    gone.push((key.clone(), alert.seq, why));
                }
            }
        }
        for (key, alert, why) in gone {
            let mut request =
                Request::engine(ActorKind::System, Fields::default(), Name::new("alerts"), self.root);
            request.reason = Some(Arc::from(why));
            let trigger = Name::new(AlertAction::Resolve.as_str());
            self.record(&key, &request, &trigger, Event::AlertResolved { alert });
        }
        Ok(())
    }

    /// Why the cause of an alert is gone; none while it lasts.
    fn ended_cause(
        &self,
        life: &Lifecycle,
        entity: &Entity,
        alert: &OpenAlert,
    ) -> Result<Option<String>, Stop> {
        Ok(match &alert.cause {
            None => None,
            Some(AlertCause::Condition(kind)) => {
                let Some(guard) = life.alerts.get(kind) else { return Ok(None) };
                let around = self.surroundings();
                let holds = self.test(&plain_scope(&around, life, entity, engine_request()), guard)?;
                // A condition that cannot be evaluated closes nothing.
                (holds == Ok(false)).then(|| format!("`{}` is not true any more", guard.source()))
            }
            Some(AlertCause::Timer { name, started_at }) => {
                let is_running = entity.timer(name).is_some_and(|it| it.started_at == *started_at);
                (!is_running).then(|| format!("The timer {name} has stopped"))
            }
        })
    }

    /// Raises an alert about what the server sees. If one of this kind is open, nothing is written.
    pub(super) fn raise_alert(
        &mut self,
        key: &EntityKey,
        alert: &ServerAlert,
        request: &Request,
    ) -> Result<(), Stop> {
        if !request.is_own() {
            return Err(not_admin("raise an alert of the server").into());
        }
        let ServerAlert { kind, severity, message } = alert;
        let cause = Some(AlertCause::Condition(kind.clone()));
        let (_, entity) = self.existing_entity(key)?;
        if entity.alerts.iter().any(|it| it.cause == cause) {
            return Ok(());
        }
        let (kind, message) = (kind.clone(), message.clone());
        let event = Event::AlertRaised { kind, severity: *severity, message, rule: None, cause };
        let seq = self.record(key, request, &alert.kind, event);
        self.root.get_or_insert(seq);
        Ok(())
    }
}
