//! The setup of a walk.

use std::collections::{BTreeMap, BTreeSet};

use trackside_engine::settings::setting_value;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;
use trackside_random::Random;

use crate::packs::WalkPack;

#[derive(Clone, Debug)]
pub(crate) struct WalkSetup {
    pub(crate) settings: BTreeMap<Name, Value>,
    /// Whether there are corrections.
    pub(crate) corrections: bool,
    /// Whether time passes in small steps only.
    pub(crate) calm: bool,
    /// The part of the pack's opening that comes first, in percent.
    pub(crate) opening: usize,
}

impl WalkSetup {
    /// The pack unchanged, with all of its opening.
    pub(crate) fn usual() -> Self {
        Self { settings: BTreeMap::new(), corrections: false, calm: true, opening: 100 }
    }

    pub(crate) fn random(ground: &WalkPack, dice: &mut Random) -> Self {
        let opening = if dice.percent(75) { 100 } else { dice.below(100) };
        Self {
            settings: settings(ground, dice),
            corrections: dice.percent(12),
            calm: dice.percent(60),
            opening,
        }
    }
}

/// Settings that the project overrides, in some walks.
fn settings(ground: &WalkPack, dice: &mut Random) -> BTreeMap<Name, Value> {
    let mut changed = BTreeMap::new();
    let usual = dice.percent(35);
    let declared: Vec<_> = ground
        .pack
        .settings
        .iter()
        .chain(ground.pack.lifecycles.iter().flat_map(|it| &it.settings))
        .collect();
    let mut seen = BTreeSet::new();
    for (name, json) in ground.hints.settings {
        let setting =
            declared.iter().find(|it| it.name == **name).unwrap_or_else(|| panic!("no setting {name}"));
        let value = Value::from_json(&serde_json::from_str(json).expect("hints are JSON"));
        let value = setting_value(setting, &value).unwrap_or_else(|why| panic!("{name}: {why}"));
        if !usual && dice.percent(40) && seen.insert(*name) {
            changed.insert(setting.name.clone(), value);
        }
    }
    changed
}
