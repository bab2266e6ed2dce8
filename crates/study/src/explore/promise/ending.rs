//! The end of a story that breaks a promise.

use trackside_lifecycle::model::PropertyKind;

use super::timers_only::Ends;
use super::{Promise, Promises};
use crate::explore::world::{Acted, WorldState};

impl Promises {
    /// Describes the last world of a run that breaks a promise.
    pub(crate) fn ending(&self, promise: &Promise, scene: &WorldState) -> String {
        let number = self
            .list
            .iter()
            .position(|it| it.lifecycle == promise.lifecycle && it.index == promise.index)
            .unwrap_or_default();
        match &promise.property.kind {
            PropertyKind::Never(guard) => format!("this holds now: {}", guard.source()),
            PropertyKind::Always(guard) => format!("this no longer holds: {}", guard.source()),
            PropertyKind::Reachable(guard) => format!("this holds: {}", guard.source()),
            PropertyKind::Eventually { goal, within, .. } => {
                match self.never_comes(number, scene).ok().and_then(|it| it.broken) {
                    Some((key, ends)) => {
                        let why = match ends {
                            Ends::Silence(passed) if passed.0 == 0 => "no timer runs".to_owned(),
                            Ends::Silence(passed) => format!("after {passed} no timer runs"),
                            Ends::Late(passed) => {
                                let most = within.map(|it| it.to_string()).unwrap_or_default();
                                return format!(
                                    "without further requests, {key} does not reach {} within {most}: the timer at {passed} is too late",
                                    goal.source()
                                );
                            }
                            Ends::Rounds | Ends::True | Ends::Unknown => {
                                "timers repeat without reaching it".to_owned()
                            }
                        };
                        format!("without further requests, {key} never reaches {}: {why}", goal.source())
                    }
                    None => format!("it does not reach {}", goal.source()),
                }
            }
            PropertyKind::Alone { to, .. } => {
                let who = scene.alone.iter().find_map(|(it, key, acted)| match acted {
                    Acted::Only(actor) if *it as usize == number => Some((actor, key)),
                    _ => None,
                });
                match who {
                    Some((actor, key)) => {
                        format!("{} alone brought {key} to `{}`", actor.id, to.source())
                    }
                    None => format!("one actor alone brought it to `{}`", to.source()),
                }
            }
        }
    }
}
