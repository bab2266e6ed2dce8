//! Stages: the starts of explorations. Written in a pack's `stages` folder, or generated for a pack without
//! one.

mod default_stage;
mod interchangeable_ids;
mod read;
mod syntax;

use std::collections::BTreeMap;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::Actor;
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_lifecycle::model::{Lifecycle, Pack};
use trackside_lifecycle::name::Name;

pub use default_stage::default_stage;
pub use read::read_stage;
pub use syntax::StageFile;

use crate::explore::search::SearchBound;
use crate::explore::world::WorldState;
use crate::explore::world::symmetry::{Renaming, SymmetricIds, Written};

/// The JSON Schema of a stage file.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(StageFile).to_value()
}

/// The default bound of `check`.
pub const WORLDS: usize = 400;
pub const DEPTH: u32 = 40;

/// The actors, the entities at the start, and the sample requests.
#[derive(Clone, Debug)]
pub struct ExploreStage {
    pub name: Name,
    pub about: String,
    pub law: Arc<Law>,
    pub pack: Arc<Pack>,
    pub start: WorldState,
    pub actors: Vec<Actor>,
    pub bound: SearchBound,
    creates: Vec<(EntityKey, Fields)>,
    /// By lifecycle and transition.
    asks: BTreeMap<Name, BTreeMap<Name, Vec<Fields>>>,
    /// Transitions without any sample request.
    pub unasked: Vec<(Name, Name)>,
    /// Transitions with which only some of the values are sent that could be.
    pub cut: Vec<(Name, Name)>,
    only: Vec<Name>,
    without: Vec<Name>,
}

impl ExploreStage {
    /// The lifecycles of its pack.
    pub fn lives(&self) -> impl Iterator<Item = &Arc<Lifecycle>> {
        self.pack.lifecycles.iter()
    }

    pub fn life(&self, name: &Name) -> Option<&Arc<Lifecycle>> {
        self.law.newest(name)
    }

    pub(crate) fn creates(&self) -> &[(EntityKey, Fields)] {
        &self.creates
    }

    pub(crate) fn actor(&self, id: &Name) -> Option<&Actor> {
        self.actors.iter().find(|it| it.id == *id)
    }

    /// The sample requests of a transition; empty if this stage does not fire it.
    pub(crate) fn samples(&self, life: &Name, transition: &Name) -> &[Fields] {
        self.asks.get(life).and_then(|it| it.get(transition)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether the stage requests a transition.
    pub(crate) fn is_asked(&self, life: &Name, transition: &str) -> bool {
        let full = format!("{life}.{transition}");
        let names = |list: &[Name]| list.iter().any(|it| it == life || **it == *full);
        (self.only.is_empty() || names(&self.only)) && !names(&self.without)
    }

    /// Transitions that callers could fire but that this stage excludes.
    pub fn left_out(&self) -> Vec<String> {
        let mut all = Vec::new();
        for life in self.lives() {
            for transition in &life.transitions {
                let askable = transition.arms.iter().any(|it| it.by.source() != "engine");
                if askable && !self.is_asked(&life.name, &transition.name) {
                    all.push(format!("{}.{}", life.name, transition.name));
                }
            }
        }
        all
    }

    /// Whether the sample requests are the same after a renaming.
    pub(crate) fn sends_the_same(&self, ids: &SymmetricIds, renaming: &Renaming) -> bool {
        let sent = self.sent(ids);
        let mut image = sent.clone();
        image.iter_mut().for_each(|it| renaming.apply(it));
        image.sort();
        sent == image
    }

    fn sent(&self, ids: &SymmetricIds) -> Vec<Written> {
        let mut all = Vec::new();
        let mut add = |texts: &[&str], fields: &Fields| {
            let mut written = Written::default();
            let fields = serde_json::to_string(fields).unwrap_or_default();
            for text in texts.iter().copied().chain([fields.as_str()]) {
                ids.write(text, &mut written.text, &mut written.ids);
                written.text.push(0);
            }
            all.push(written);
        };
        for (key, fields) in &self.creates {
            add(&[&key.lifecycle, &key.id], fields);
        }
        for (life, transitions) in &self.asks {
            for (transition, samples) in transitions {
                samples.iter().for_each(|it| add(&[life, transition], it));
            }
        }
        all.sort();
        all
    }
}
