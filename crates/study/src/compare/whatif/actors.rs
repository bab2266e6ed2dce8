//! Infers the roles of actors: a journal records who acted, not which roles they had.

use std::collections::BTreeMap;

use trackside_engine::journal::JournalHeader;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{Problems, Sources, read};

/// Roles by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actors(pub BTreeMap<Name, Vec<Name>>);

impl Actors {
    /// The actors that a journal lists.
    pub fn of(about: &JournalHeader) -> Self {
        let roles = |kinds: &BTreeMap<_, Vec<Name>>| kinds.values().flatten().cloned().collect();
        Self(about.actors.iter().map(|(id, kinds)| (id.clone(), roles(kinds))).collect())
    }

    pub fn extend(&mut self, others: &Self) {
        self.0.extend(others.0.iter().map(|(id, roles)| (id.clone(), roles.clone())));
    }
}

/// Reads `{ id: { agent: [roles] } }`, or a scenario file, of which only `actors` counts.
pub fn read_actors(text: &str) -> Result<Actors, String> {
    let wrong = "write it as in scenario files: `ada: { agent: [specialist] }`";
    let mut sources = Sources::default();
    let mut problems = Problems::default();
    let file = sources.add("actors".to_owned(), text.to_owned());
    let Some(node) = read(&sources, file, &mut problems).filter(|_| !problems.has_errors()) else {
        return Err(problems.render(&sources, false));
    };
    let node = node.get("actors").unwrap_or(&node);
    let mut actors = Actors::default();
    for (id, kinds) in node.entries().ok_or(wrong)? {
        for (kind, roles) in kinds.entries().ok_or_else(|| format!("{}: {wrong}", id.it))? {
            if !["human", "agent", "system"].contains(&kind.it.as_str()) {
                return Err(format!("{}: `{}` is not an actor kind; {wrong}", id.it, kind.it));
            }
            let roles = roles.items().ok_or_else(|| format!("{}: {wrong}", id.it))?;
            let roles = roles.iter().filter_map(|it| it.text()).map(Name::new);
            actors.0.entry(id.it.clone()).or_default().extend(roles);
        }
    }
    Ok(actors)
}
