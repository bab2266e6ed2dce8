//! Refs with `acyclic`: no entity may reach itself through them.
//!
//! A circle that a command closes contains at least one reference that the command added. So the search follows the
//! added references only, and a command is not refused for a circle that it found.

use std::collections::{BTreeMap, VecDeque};

use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;

use super::{DecisionBuilder, Stop};
use crate::index::Index;
use crate::key::EntityKey;
use crate::refusal::{Code, Unmet};
use crate::trace::PointKind;
use crate::view::{Found, MOST_REACHED};

/// References that a decision added, by lifecycle, ref and field: from one id to another.
type AddedReferences = BTreeMap<(Name, Name, Name), Vec<(Name, Name)>>;

/// Ids of a long circle that a message names at its beginning and at its end.
const NAMED: (usize, usize) = (8, 2);

impl DecisionBuilder<'_> {
    /// The first circle that this decision would close through each ref, with the entity whose reference closes it.
    pub fn circles(&self) -> Result<Vec<(EntityKey, Unmet)>, Stop> {
        let mut found = Vec::new();
        for ((lifecycle, name, by), added) in self.added_references() {
            let Some((from, _)) = added.first() else { continue };
            let key = |id: &Name| EntityKey { lifecycle: lifecycle.clone(), id: id.clone() };
            let wrong = match self.follow_references(&lifecycle, &by, &added)? {
                Some(graph) => graph.circle(&added).map(|circle| {
                    let key = key(circle.first().unwrap_or(from));
                    let message = format!(
                        "{by} of {key} would form a circle: {}. Remove one of these references.",
                        name_circle(&circle)
                    );
                    (key, Unmet::new(Code::CircularReference, message).of(&by))
                }),
                None => {
                    let key = key(from);
                    let message = format!(
                        "{by} of {key} leads to more than {MOST_REACHED} entities, too many to search for a circle"
                    );
                    Some((key, Unmet::new(Code::TooManyReferences, message).of(&by)))
                }
            };
            if let Some(wrong) = wrong {
                if let Some(life) = self.law.newest(&lifecycle) {
                    self.record_point(life, PointKind::Refusal, || format!("refs.{name}.acyclic"));
                }
                found.push(wrong);
            }
        }
        Ok(found)
    }

    fn added_references(&self) -> AddedReferences {
        let mut all = AddedReferences::new();
        for key in &self.touched {
            let Found::Here(after) = self.draft.entity(key) else { continue };
            let Some(life) = self.law.definition(&key.lifecycle, after.definition) else { continue };
            for (name, by) in acyclic_refs(life) {
                let before = self.draft.base().get(key).map(|it| it.ids(by)).unwrap_or_default();
                let added = after.ids(by).into_iter().filter(|it| !before.contains(it));
                let mut added = added.map(|to| (key.id.clone(), to)).peekable();
                if added.peek().is_some() {
                    let place = (key.lifecycle.clone(), name.clone(), by.clone());
                    all.entry(place).or_default().extend(added);
                }
            }
        }
        all
    }

    /// All entities that the added references reach. None if there are too many.
    fn follow_references(
        &self,
        lifecycle: &Name,
        by: &Name,
        added: &[(Name, Name)],
    ) -> Result<Option<ReferenceGraph>, Stop> {
        let mut graph = ReferenceGraph::default();
        for (_, to) in added {
            graph.place(to);
        }
        let mut missing = false;
        let mut at = 0;
        while let Some(id) = graph.ids.get(at) {
            if graph.ids.len() > MOST_REACHED {
                return Ok(None);
            }
            let key = EntityKey { lifecycle: lifecycle.clone(), id: id.clone() };
            let ids = match self.draft.reached(&key, by) {
                Found::Here(entity) => entity.ids(by),
                Found::Absent => Vec::new(),
                // The others are followed nevertheless, so that one round loads all that is missing.
                Found::Unknown => {
                    missing = true;
                    Vec::new()
                }
            };
            let next = ids.iter().map(|it| graph.place(it)).collect();
            graph.next.push(next);
            at += 1;
        }
        if missing { Err(Stop::NotLoaded) } else { Ok(Some(graph)) }
    }
}

fn acyclic_refs(life: &Lifecycle) -> impl Iterator<Item = (&Name, &Name)> {
    life.refs.iter().filter(|it| it.acyclic).filter_map(|it| Some((&it.name, it.by.as_ref()?)))
}

/// Entities by number, and the references between them.
#[derive(Default)]
struct ReferenceGraph {
    ids: Vec<Name>,
    places: Index<Name, usize>,
    next: Vec<Vec<usize>>,
}

impl ReferenceGraph {
    /// The number of an entity.
    fn place(&mut self, id: &Name) -> usize {
        if let Some(place) = self.places.get(id) {
            return *place;
        }
        self.places.insert(id.clone(), self.ids.len());
        self.ids.push(id.clone());
        self.ids.len() - 1
    }

    /// The first circle that contains an added reference, from an entity back to itself.
    fn circle(&self, added: &[(Name, Name)]) -> Option<Vec<Name>> {
        let leads = self.leads_to_circle();
        if !leads.contains(&true) {
            return None;
        }
        added.iter().find_map(|(from, to)| {
            let (goal, start) = (*self.places.get(from)?, *self.places.get(to)?);
            let path = self.path(start, goal, &leads)?;
            let ids = path.iter().filter_map(|it| self.ids.get(*it).cloned());
            Some(std::iter::once(from.clone()).chain(ids).collect())
        })
    }

    /// Whether each entity reaches a circle: those that remain when entities without references are removed, again and
    /// again.
    fn leads_to_circle(&self) -> Vec<bool> {
        let mut open: Vec<usize> = self.next.iter().map(Vec::len).collect();
        let mut back = vec![Vec::new(); self.ids.len()];
        for (from, next) in self.next.iter().enumerate() {
            for to in next {
                if let Some(it) = back.get_mut(*to) {
                    it.push(from);
                }
            }
        }
        let mut ended: Vec<usize> = (0..open.len()).filter(|it| open.get(*it) == Some(&0)).collect();
        while let Some(it) = ended.pop() {
            for from in back.get(it).into_iter().flatten() {
                if let Some(count) = open.get_mut(*from) {
                    *count -= 1;
                    if *count == 0 {
                        ended.push(*from);
                    }
                }
            }
        }
        open.into_iter().map(|it| it > 0).collect()
    }

    /// A shortest path between two entities that both lead to a circle.
    fn path(&self, start: usize, goal: usize, leads: &[bool]) -> Option<Vec<usize>> {
        let mut came: Vec<Option<usize>> = vec![None; self.ids.len()];
        let mut queue = VecDeque::from([start]);
        *came.get_mut(start)? = Some(start);
        while let Some(at) = queue.pop_front() {
            if at == goal {
                let mut path = vec![goal];
                let mut last = goal;
                while last != start {
                    last = (*came.get(last)?)?;
                    path.push(last);
                }
                path.reverse();
                return Some(path);
            }
            for to in self.next.get(at).into_iter().flatten().filter(|it| leads.get(**it) == Some(&true)) {
                if let Some(place @ None) = came.get_mut(*to) {
                    *place = Some(at);
                    queue.push_back(*to);
                }
            }
        }
        None
    }
}

/// `a → b → a`; a long circle without its middle.
fn name_circle(circle: &[Name]) -> String {
    let join = |ids: &[Name]| ids.iter().map(Name::as_str).collect::<Vec<_>>().join(" → ");
    let (first, last) = NAMED;
    match (circle.get(..first), circle.len().checked_sub(last).and_then(|it| circle.get(it..))) {
        (Some(begin), Some(end)) if circle.len() > first + last + 1 => {
            let left_out = circle.len() - first - last;
            format!("{} → … ({left_out} more) … → {}", join(begin), join(end))
        }
        _ => join(circle),
    }
}
