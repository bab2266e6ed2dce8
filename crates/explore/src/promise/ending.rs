//! How a story ends that breaks a promise.

use trackside_lifecycle::model::PropertyKind;

use super::later::Ends;
use super::{Promise, Promises};
use crate::world::{Acted, Scene};

impl Promises {
    /// What is so in the last world of a story that breaks a promise.
    pub(crate) fn ending(&self, promise: &Promise, scene: &Scene) -> String {
        let number = self
            .list
            .iter()
            .position(|it| it.lifecycle == promise.lifecycle && it.index == promise.index)
            .unwrap_or_default();
        match &promise.property.kind {
            PropertyKind::Never(guard) => format!("now it is true that {}", guard.source()),
            PropertyKind::Always(guard) => format!("now it is not true that {}", guard.source()),
            PropertyKind::Reachable(guard) => format!("it is true that {}", guard.source()),
            PropertyKind::Eventually { goal, within, .. } => match self
                .never_comes(number, scene)
                .ok()
                .and_then(|it| it.broken)
            {
                Some((key, ends)) => {
                    let why = match ends {
                        Ends::Silence(passed) if passed.0 == 0 => "no clock runs".to_owned(),
                        Ends::Silence(passed) => format!("after {passed} no clock runs any more"),
                        Ends::Late(passed) => {
                            let most = within.map(|it| it.to_string()).unwrap_or_default();
                            return format!(
                                "if nobody does anything any more, {key} does not come to {} within {most}: the clock at {passed} is too late",
                                goal.source()
                            );
                        }
                        Ends::Rounds | Ends::True | Ends::Unknown => {
                            "clocks go round and round without it".to_owned()
                        }
                    };
                    format!("if nobody does anything any more, {key} never comes to {}: {why}", goal.source())
                }
                None => format!("it does not come to {}", goal.source()),
            },
            PropertyKind::Alone { to, .. } => {
                let who = scene.alone.iter().find_map(|(it, key, acted)| match acted {
                    Acted::Only(actor) if *it as usize == number => Some((actor, key)),
                    _ => None,
                });
                match who {
                    Some((actor, key)) => {
                        format!("{} alone has brought {key} to where {}", actor.id, to.source())
                    }
                    None => format!("one alone has brought it to where {}", to.source()),
                }
            }
        }
    }
}
