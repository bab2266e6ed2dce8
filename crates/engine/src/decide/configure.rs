//! Changes settings, zone and people of the project, and installs packs.

use std::collections::BTreeSet;

use trackside_lifecycle::guard::did_you_mean;
use trackside_lifecycle::model::{Read, SettingCheck};
use trackside_lifecycle::name::Name;

use super::calendar::is_beyond;
use super::request::Request;
use super::{DecisionBuilder, Stop, reindex};
use crate::command::Install;
use crate::event::Event;
use crate::fields::Fields;
use crate::project::{ProjectChange, SettingChange, is_known_zone, project_key};
use crate::query::PackScope;
use crate::refusal::{Code, ConditionCode, Refusal, Unmet};
use crate::settings::setting_value;

impl DecisionBuilder<'_> {
    /// Changes the project: for people with role admin, and for the server when it learns of a new person. Values
    /// that are set already are left out; if nothing is left, nothing is written.
    pub fn configure(&mut self, wanted: &ProjectChange, request: &Request) -> Result<(), Stop> {
        let learns = request.is_own() && wanted.settings.is_empty() && wanted.zone.is_none();
        if !(request.is_admin() || learns) {
            return Err(not_admin("change the settings of the project").into());
        }
        let mut unmet = Vec::new();
        let mut change = ProjectChange::default();
        let project = &self.draft.base().project;
        for it in &wanted.settings {
            let present = project.settings.get(&it.pack).and_then(|pack| pack.get(&it.setting));
            match self.setting(it) {
                // An override whose setting no longer exists can still be removed.
                Err(_) if it.value.is_null() && present.is_some() => change.settings.push(it.clone()),
                Err(reason) => unmet.push(reason),
                Ok(it) if present.cloned().unwrap_or_default() != it.value => change.settings.push(it),
                Ok(_) => {}
            }
        }
        if let Some(zone) = &wanted.zone {
            if !is_known_zone(zone) {
                let message = format!("There is no time zone {zone}; name it as in Europe/Berlin");
                unmet.push(Unmet::new(ConditionCode::UnknownZone, message).of("zone"));
            }
            change.zone = Some(zone.clone()).filter(|it| *it != project.zone);
        }
        change.people = wanted.people.clone().filter(|it| *it != project.people);
        unmet.extend(self.broken_checks(&change));
        if !unmet.is_empty() {
            return Err(Refusal::with(Code::InvalidSetting, unmet).into());
        }
        if !change.is_empty() {
            self.record_project(request, "configure", Event::ProjectChanged { change: Box::new(change) });
        }
        Ok(())
    }

    /// Notes that a version of a pack is in force. The law that decides holds it already.
    pub fn install(&mut self, install: &Install, request: &Request) -> Result<(), Stop> {
        if !(request.is_admin() || request.is_own()) {
            return Err(not_admin("install a pack").into());
        }
        if self.law.pack(&install.pack).is_none_or(|it| it.version != install.version) {
            let message = format!(
                "There is no version {} of the pack {}: load it before it is installed",
                install.version, install.pack
            );
            return Err(Refusal::one(Code::UnknownPack, message).into());
        }
        let Install { pack, version, digest } = install.clone();
        self.record_project(request, "install", Event::PackInstalled { pack, version, digest });
        Ok(())
    }

    /// The setting as it will be stored, or the problem with it.
    fn setting(&self, it: &SettingChange) -> Result<SettingChange, Unmet> {
        let Some(pack) = self.law.pack(&it.pack) else {
            let hint = did_you_mean(&it.pack, self.law.packs().map(|it| it.name.as_str()));
            let message = format!("There is no pack {}{hint}", it.pack);
            return Err(Unmet::new(Code::UnknownPack, message));
        };
        let path = format!("{}.{}", it.pack, it.setting);
        let Some(setting) = pack.settings.iter().find(|known| known.name == it.setting) else {
            let hint = did_you_mean(&it.setting, pack.settings.iter().map(|it| it.name.as_str()));
            let message = format!("{} has no setting {}{hint}", it.pack, it.setting);
            return Err(Unmet::new(ConditionCode::UnknownSetting, message).of(&path));
        };
        if it.value.is_null() {
            return Ok(it.clone());
        }
        match setting_value(setting, &it.value) {
            Ok(value) if is_beyond(&value, self.now) => {
                let message =
                    format!("{} is too long: counted from now it ends after the year 9999", it.setting);
                Err(Unmet::new(Code::InvalidSetting, message).of(&path))
            }
            Ok(value) => Ok(SettingChange { value, ..it.clone() }),
            Err(message) => Err(Unmet::new(Code::InvalidSetting, message).of(&path)),
        }
    }

    /// The checks of settings that the change would make false.
    fn broken_checks(&self, change: &ProjectChange) -> Vec<Unmet> {
        let mut after = self.draft.base().project.clone();
        change.apply(&mut after);
        let packs: BTreeSet<&Name> = change.settings.iter().map(|it| &it.pack).collect();
        let mut unmet = Vec::new();
        for pack in packs.into_iter().filter_map(|it| self.law.pack(it)) {
            let none = Fields::default();
            let scope = PackScope { pack, project: &after, params: &none, rows: &none, given: &none };
            let is_changed = |check: &SettingCheck| {
                let read = check.guard.reads().iter().filter_map(|it| pack.reads.get(it.slot.0 as usize));
                let names = read.filter_map(|it| match it {
                    Read::Setting(place) => pack.settings.get(*place).map(|it| &it.name),
                    _ => None,
                });
                let names: Vec<&Name> = names.collect();
                change.settings.iter().any(|it| it.pack == pack.name && names.contains(&&it.setting))
            };
            let broken = pack.setting_checks.iter().filter(|it| is_changed(it));
            let broken = broken.filter(|it| !it.guard.test(&scope).unwrap_or(false));
            unmet.extend(broken.map(|it| {
                let path = format!("{}.{}", pack.name, it.setting);
                let unmet = Unmet::new(Code::InvalidSetting, it.says.clone()).of(&path);
                Unmet { rule: Some(Name::new(it.guard.source())), ..unmet }
            }));
        }
        unmet
    }

    /// Writes an entry about the project itself.
    ///
    /// In a whole view, the entry contains the changes of the rankings. In a partial view, the caller must
    /// compute them from every entity.
    pub(super) fn record_project(&mut self, request: &Request, trigger: &str, event: Event) {
        let base = self.draft.base();
        let mut entry = self.entry_at(project_key(), 0, request, &Name::new(trigger), event);
        if !base.partial {
            let mut after = base.view().clone();
            if let Event::ProjectChanged { change } = &entry.event {
                change.apply(&mut after.project);
            }
            entry.reranked = reindex(self.law, &after, self.now);
        }
        self.root.get_or_insert(entry.seq);
        self.draft.record(entry);
    }
}

/// Only people with role admin may do this.
pub(super) fn not_admin(what: &str) -> Refusal {
    let message = format!("Only a person with role admin may {what}");
    let mut refusal = Refusal::one(Code::NotPermitted, message);
    refusal.who = Some("human and admin".to_owned());
    refusal
}
