//! The space of the data folder in the journal: the alert before it runs out, and its end.

use std::sync::Arc;

use trackside_lifecycle::model::Severity;

use super::carry::alert;
use super::configure::not_admin;
use super::request::Request;
use super::{DecisionBuilder, Stop};
use crate::command::SpaceNews;
use crate::event::Event;

/// The trigger and condition of these entries, and the kind of the alert.
pub const SPACE: &str = "space";

impl DecisionBuilder<'_> {
    /// Records news of the space as an alert of the project, or as its end.
    pub fn space(&mut self, news: &SpaceNews, mut request: Request) -> Result<(), Stop> {
        if !request.is_own() {
            return Err(not_admin("report the space of the data folder").into());
        }
        match news {
            SpaceNews::Low { is_out, message } => {
                let severity = if *is_out { Severity::Error } else { Severity::Warning };
                self.record_project(&request, SPACE, alert(SPACE, severity, message.to_string()));
            }
            SpaceNews::Enough { alert } => {
                request.reason = Some(Arc::from("There is enough space again"));
                self.record_project(&request, SPACE, Event::AlertResolved { alert: *alert });
            }
        }
        Ok(())
    }
}
