//! The state of the project itself, and its changes.
//!
//! Settings, zone, people and packs belong to no entity. They are journalled under a key that no entity can
//! have, so that a replay restores them.

use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

use crate::key::EntityKey;
use crate::view::Project;

/// The key of journal entries about the project itself. No entity has it.
pub fn project_key() -> &'static EntityKey {
    static KEY: LazyLock<EntityKey> = LazyLock::new(|| EntityKey::new("trackside.project", "project"));
    &KEY
}

/// Whether this names a time zone; empty means UTC.
pub fn is_known_zone(zone: &str) -> bool {
    zone.is_empty() || jiff::tz::TimeZone::get(zone).is_ok()
}

/// A change of the project. Parts that it does not name stay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectChange {
    pub settings: Vec<SettingChange>,
    /// IANA name of its time zone; empty means UTC.
    pub zone: Option<String>,
    /// Ids of all people of the project.
    pub people: Option<Vec<Name>>,
}

/// An override of a setting of a pack; null takes it back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingChange {
    pub pack: Name,
    pub setting: Name,
    pub value: Value,
}

impl ProjectChange {
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.zone.is_none() && self.people.is_none()
    }

    /// Applies the change to a project.
    pub fn apply(&self, project: &mut Project) {
        for change in &self.settings {
            if !change.value.is_null() {
                let pack = project.settings.entry(change.pack.clone()).or_default();
                pack.insert(change.setting.clone(), change.value.clone());
            } else if let Some(pack) = project.settings.get_mut(&change.pack) {
                pack.remove(&change.setting);
                if pack.is_empty() {
                    project.settings.remove(&change.pack);
                }
            }
        }
        if let Some(zone) = &self.zone {
            project.zone.clone_from(zone);
        }
        if let Some(people) = &self.people {
            project.people.clone_from(people);
        }
    }
}
