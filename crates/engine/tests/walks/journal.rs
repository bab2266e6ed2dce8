//! The journal contains only things that the definition declares, and all of the view.

use trackside_engine::command::Command;
use trackside_engine::event::{Entry, Event};
use trackside_engine::key::{EntityKey, GroupKey};
use trackside_engine::ranking::RankingKey;
use trackside_engine::view::{Group, Need, View};
use trackside_engine::world::World;
use trackside_engine::{Decision, apply, decide};
use trackside_lifecycle::name::Name;

use crate::broken::BrokenPromise;
use crate::packs::WalkPack;
use crate::runs::tolerant;

/// Checks an entry against those before it.
pub(crate) fn follows(ground: &WalkPack, world: &World, place: usize) -> Result<(), BrokenPromise> {
    let broken = |what| Err(BrokenPromise::new("the journal follows the definition", what));
    let entry = &world.journal[place];
    if entry.seq != place as u64 + 1 {
        return broken(format!("entry {place} has the number {}", entry.seq));
    }
    if entry.cause.is_some_and(|it| it >= entry.seq) {
        return broken(format!("a cause comes after what it caused: {entry:?}"));
    }
    let earlier = world.journal[..place].iter().rev().find(|it| it.entity == entry.entity);
    if earlier.is_some_and(|it| it.version > entry.version || it.at > entry.at) {
        return broken(format!("versions and time only grow: {earlier:?}, then {entry:?}"));
    }
    if let Event::Transitioned { from, to, .. } = &entry.event {
        let life = ground.life(&entry.entity.lifecycle).expect("its lifecycle");
        // Only a second creation takes an entity out of a final state.
        let again = life.create.again.as_ref() == Some(&entry.trigger);
        if life.state(from).is_none_or(|it| it.last && !again) || life.state(to).is_none() {
            return broken(format!("{} left {from} for {to}", entry.entity));
        }
        let arms = life.transition(&entry.trigger).map(|it| it.arms.as_slice()).unwrap_or_default();
        let always = entry.trigger == "always" && life.state(from).is_some_and(|it| !it.always.is_empty());
        if !always && !arms.iter().any(|it| it.from.has(from)) {
            return broken(format!("{} of {} does not leave {from}", entry.trigger, entry.entity));
        }
    }
    Ok(())
}

/// A partial view that starts empty and loads on demand gives the same decision and the same view.
pub(crate) fn decides_in_part(
    world: &World,
    command: &Command,
    whole: &Decision,
) -> Result<(), BrokenPromise> {
    decides_in(View::partial(world.view.seq), world, command, whole, false)?;
    decides_in(View::partial(world.view.seq), world, command, whole, true)
}

/// Decides in one partial view; entities come with their groups, or without.
fn decides_in(
    mut view: View,
    world: &World,
    command: &Command,
    whole: &Decision,
    grouped: bool,
) -> Result<(), BrokenPromise> {
    let broken = |what| Err(BrokenPromise::new("a partial view decides as the whole one does", what));
    view.project = world.view.project.clone();
    for _ in 0..100 {
        let needs = match decide(&world.law, &view, command, world.now) {
            Err(needs) if needs.iter().count() == 0 => {
                return broken(format!("{command:?} waits for nothing"));
            }
            Err(needs) => needs,
            Ok(decision) => {
                let (here, there) = (format!("{decision:?}"), format!("{whole:?}"));
                return if here == there { Ok(()) } else { broken(format!("{here} instead of {there}")) };
            }
        };
        for need in needs {
            let owner = match &need {
                Need::Entity(key) => world.view.image(key).filter(|_| grouped),
                _ => None,
            };
            match owner {
                Some(entity) => view.load_whole(entity.clone(), groups_of(world, &entity.key)),
                None => view.load_from(&world.view, need),
            }
        }
    }
    broken(format!("{command:?} asks for ever more"))
}

/// All groups of an entity that are not empty, without their members.
fn groups_of(world: &World, of: &EntityKey) -> Vec<(Name, Group)> {
    let Some(life) = world.law.newest(&of.lifecycle) else { return Vec::new() };
    let known = life.inverses.iter().filter_map(|it| {
        let group = world.view.group(&GroupKey { of: of.clone(), name: it.name.clone() }).here()?;
        let Group { counts, moved_at, .. } = group.clone();
        Some((it.name.clone(), Group { counts, moved_at, ..Group::default() }))
    });
    known.collect()
}

/// Replaying the journal gives the live view, also when it was stored as text in between.
pub(crate) fn replays(ground: &WalkPack, world: &World) -> Result<(), BrokenPromise> {
    let broken = |what| BrokenPromise::new("a replay of the stored journal gives the live view", what);
    let mut view = View::default();
    view.project = world.view.project.clone();
    for entry in &world.journal {
        let text = serde_json::to_string(entry).map_err(|it| broken(format!("{it}: {entry:?}")))?;
        let stored: Entry = serde_json::from_str(&text).map_err(|it| broken(format!("{it}: {text}")))?;
        if stored != *entry && !tolerant() {
            return Err(broken(format!("an entry was read back otherwise: {entry:?}, then {stored:?}")));
        }
        let mut parted = entry.clone();
        let content = parted.part();
        parted.rejoin(content);
        if parted != *entry {
            return Err(broken(format!(
                "an entry came back otherwise from its parts: {entry:?}, then {parted:?}"
            )));
        }
        apply(&mut view, if tolerant() { entry } else { &stored });
    }
    for entity in world.view.entities() {
        if view.get(&entity.key) != Some(entity) {
            return Err(broken(format!("{:?} instead of {entity:?}", view.get(&entity.key))));
        }
    }
    // An empty ranking counts as none.
    for life in &ground.pack.lifecycles {
        for ranking in &life.rankings {
            let key = RankingKey { lifecycle: life.name.clone(), name: ranking.name.clone() };
            let of = |view: &View| view.rankings.get(&key).cloned().unwrap_or_default();
            if of(&view) != of(&world.view) {
                return Err(broken(format!("{:?} instead of {:?}", of(&view), of(&world.view))));
            }
        }
    }
    view.rankings = world.view.rankings.clone();
    if view == world.view { Ok(()) } else { Err(broken("groups or keys differ".to_owned())) }
}
