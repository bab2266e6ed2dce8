//! The story as data: scenes, actors, requests and expected results.

use serde_json::{Map, Value as Json};
use trackside_engine::actor::ActorKind;
use trackside_lifecycle::keys;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{At, FromNode as _, Json as Any, Named, Problems, Sources, read};
use trackside_protocol::{ClaimBody, Correct, Decide, HeartbeatBody, TransitionBody};

use super::interface::Through;
use super::request::{DemoRequest, EntityRef};

/// The scenes, in the order in which they are played.
const SCENES: &[(&str, &str)] = &[
    ("demo/mission.yaml", include_str!("../../demo/mission.yaml")),
    ("demo/coding.yaml", include_str!("../../demo/coding.yaml")),
    ("demo/build.yaml", include_str!("../../demo/build.yaml")),
    ("demo/research.yaml", include_str!("../../demo/research.yaml")),
    ("demo/turns.yaml", include_str!("../../demo/turns.yaml")),
    ("demo/repair.yaml", include_str!("../../demo/repair.yaml")),
];

keys! {
    /// A file of the story: one scene.
    struct SceneDecl {
        /// The title of the scene.
        scene: String,
        /// An introduction for the viewer.
        about: Option<String>,
        /// The actors: name to kind, roles and interface.
        team: Named<ActorDecl>,
        /// The steps, in order.
        steps: Vec<At<StepDecl>>,
        /// Commands that show more afterwards, each with a description.
        next: Named<String>,
    }
}

keys! {
    /// An actor: kind, roles and interface.
    struct ActorDecl {
        /// The roles of a person.
        human: Option<Vec<Name>>,
        /// The roles of an agent.
        agent: Option<Vec<Name>>,
        /// The roles of a system.
        system: Option<Vec<Name>>,
        /// The interface of the actor; `http` by default.
        through: Option<Through>,
    }
}

keys! {
    /// One request and its expected result.
    struct StepDecl {
        /// The requesting actor.
        r#as: Option<Name>,
        /// A comment for the viewer.
        says: Option<String>,
        /// Creates this entity.
        create: Option<String>,
        /// Requests a transition or event by name.
        fire: Option<String>,
        /// The entity; with `decide`, the id of the approval request.
        of: Option<String>,
        /// Requests a target state of this entity.
        r#move: Option<String>,
        /// The target of `move`, `correct` and `decide`.
        to: Option<String>,
        /// Claims the next entity of this lifecycle.
        claim: Option<String>,
        /// With `claim`: the transition that claims it.
        event: Option<String>,
        /// With `claim`: only entities for which this expression is true.
        r#where: Option<String>,
        /// Extends a lease of this entity.
        heartbeat: Option<String>,
        /// With `heartbeat`: the slot.
        slot: Option<String>,
        /// Decides an approval request: `approve` or `deny`.
        decide: Option<String>,
        /// With `decide`: the note of the person who decides.
        note: Option<String>,
        /// Takes this effect and reports its result.
        effect: Option<String>,
        /// With `effect`: whether it succeeded; true by default.
        ok: Option<bool>,
        /// Corrects this entity: an admin override of its state or fields.
        correct: Option<String>,
        /// Advances the clock by this span.
        advance: Option<String>,
        /// Runs a sweep, which finds violations and repairs them.
        sweep: Option<bool>,
        /// Explains why this entity is not moving.
        explain: Option<String>,
        /// Fields of the request.
        with: Named<Any>,
        /// The reason of the request.
        reason: Option<String>,
        /// The request must be refused with this code.
        refused: Option<String>,
        /// There must be nothing to claim.
        nothing: Option<bool>,
        /// The id of the entity that must have been claimed.
        claimed: Option<String>,
        /// Entities to the states that they must be in afterwards.
        then: Named<String>,
    }
}

/// A scene of the story.
#[derive(Clone, Debug)]
pub(crate) struct DemoScene {
    pub(super) title: String,
    pub(super) about: Option<String>,
    pub(super) team: Vec<Member>,
    pub(super) steps: Vec<ScriptStep>,
    /// Commands that show more, each with a description.
    pub(crate) next: Vec<(String, String)>,
}

/// An actor of a scene.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub id: String,
    pub kind: ActorKind,
    pub roles: Vec<String>,
    pub through: Through,
}

/// One step of a scene.
#[derive(Clone, Debug)]
pub(super) struct ScriptStep {
    /// The place in the script.
    pub place: String,
    /// The requesting actor; the owner of the project by default.
    pub by: Option<String>,
    pub says: Option<String>,
    pub ask: DemoRequest,
    pub expects: Expects,
}

/// The expected result of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Expects {
    pub refused: Option<String>,
    pub nothing: bool,
    pub claimed: Option<String>,
    pub states: Vec<(EntityRef, String)>,
}

/// Reads the whole story, or returns its mistakes.
pub(crate) fn scenes() -> Result<Vec<DemoScene>, String> {
    SCENES.iter().map(|(path, text)| scene(path, text)).collect()
}

fn scene(path: &str, text: &str) -> Result<DemoScene, String> {
    let (mut sources, mut problems) = (Sources::new(), Problems::new());
    let file = sources.add(path, text);
    let decl = read(&sources, file, &mut problems).and_then(|it| SceneDecl::from_node(&it, &mut problems));
    if let Some(first) = problems.sorted().first() {
        return Err(format!("{}: {}", sources.show(first.at), first.message));
    }
    let decl = decl.ok_or_else(|| format!("{path}: it cannot be read"))?;
    let mut team = Vec::new();
    for (name, it) in decl.team.iter() {
        let (kind, roles) = match (&it.human, &it.agent, &it.system) {
            (Some(roles), None, None) => (ActorKind::Human, roles),
            (None, Some(roles), None) => (ActorKind::Agent, roles),
            (None, None, Some(roles)) => (ActorKind::System, roles),
            _ => {
                return Err(format!(
                    "{}: {} is one of human, agent and system",
                    sources.show(name.at),
                    name.it
                ));
            }
        };
        let roles = roles.iter().map(Name::to_string).collect();
        team.push(Member {
            id: name.it.to_string(),
            kind,
            roles,
            through: it.through.unwrap_or(Through::Http),
        });
    }
    let mut steps = Vec::new();
    for it in &decl.steps {
        let place = sources.show(it.at);
        let step = it.it.step(place.clone()).map_err(|why| format!("{place}: {why}"))?;
        match &step.by {
            Some(by) if !team.iter().any(|it| it.id == *by) => {
                return Err(format!("{place}: {by} is not in the team"));
            }
            _ => steps.push(step),
        }
    }
    let next = decl.next.iter().map(|(name, it)| (name.it.to_string(), it.clone())).collect();
    Ok(DemoScene { title: decl.scene, about: decl.about, team, steps, next })
}

impl StepDecl {
    fn step(&self, place: String) -> Result<ScriptStep, String> {
        let states = self.then.iter().map(|(name, state)| Ok((key(name.as_str())?, state.clone())));
        let expects = Expects {
            refused: self.refused.clone(),
            nothing: self.nothing == Some(true),
            claimed: self.claimed.clone(),
            states: states.collect::<Result<_, String>>()?,
        };
        let by = self.r#as.as_ref().map(Name::to_string);
        Ok(ScriptStep { place, by, says: self.says.clone(), ask: self.ask()?, expects })
    }

    fn ask(&self) -> Result<DemoRequest, String> {
        let (fields, reason) = (self.fields(), self.reason.clone());
        if let Some(entity) = &self.create {
            return Ok(DemoRequest::Create { entity: key(entity)?, fields });
        }
        if let Some(event) = &self.fire {
            let entity = key(self.of.as_deref().ok_or("`fire` needs `of`")?)?;
            let what =
                TransitionBody { event: Some(event.clone()), fields, reason, ..TransitionBody::default() };
            return Ok(DemoRequest::Fire { entity, what });
        }
        if let Some(entity) = &self.r#move {
            let what = TransitionBody { to: self.to.clone(), fields, reason, ..TransitionBody::default() };
            return Ok(DemoRequest::Fire { entity: key(entity)?, what });
        }
        if let Some(lifecycle) = &self.claim {
            let what = ClaimBody { event: self.event.clone(), only: self.r#where.clone(), fields, reason };
            return Ok(DemoRequest::Claim { lifecycle: lifecycle.clone(), what });
        }
        if let Some(entity) = &self.heartbeat {
            let what = HeartbeatBody { slot: self.slot.clone(), fence: None };
            return Ok(DemoRequest::Heartbeat { entity: key(entity)?, what });
        }
        if let Some(decision) = &self.decide {
            let id = self.of.clone().ok_or("`decide` needs `of`")?;
            let (decision, note, to) = (decision.clone(), self.note.clone(), self.to.clone());
            return Ok(DemoRequest::Decide { id, what: Decide { decision, note, to, lifecycle: None } });
        }
        if let Some(effect) = &self.effect {
            return Ok(DemoRequest::AnswerEffect {
                effect: effect.clone(),
                ok: self.ok != Some(false),
                detail: fields,
            });
        }
        if let Some(entity) = &self.correct {
            return Ok(DemoRequest::Correct {
                entity: key(entity)?,
                what: Correct { to: self.to.clone(), fields, reason },
            });
        }
        if let Some(by) = &self.advance {
            return Ok(DemoRequest::Advance { by: by.clone() });
        }
        if let Some(entity) = &self.explain {
            return Ok(DemoRequest::Explain { entity: key(entity)? });
        }
        match self.sweep {
            Some(true) => Ok(DemoRequest::Sweep),
            _ => Err("it asks for nothing".to_owned()),
        }
    }

    fn fields(&self) -> Map<String, Json> {
        self.with.iter().map(|(name, it)| (name.it.to_string(), it.0.to_json())).collect()
    }
}

fn key(text: &str) -> Result<EntityRef, String> {
    EntityRef::parse(text).ok_or_else(|| format!("{text}: name an entity as LIFECYCLE/ID"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_story_can_be_read_and_uses_every_door() {
        let scenes = scenes().unwrap_or_else(|it| panic!("{it}"));
        for through in Through::ALL {
            let used = scenes.iter().flat_map(|it| &it.team).any(|it| it.through == *through);
            assert!(used, "{through:?}");
        }
    }

    #[test]
    fn a_mistake_in_a_script_is_reported_with_its_place() {
        for (text, words) in [
            (
                "scene: A\nteam: { a: { human: [] } }\nsteps: [ { as: b, sweep: true } ]",
                "b is not in the team",
            ),
            ("scene: A\nteam: { a: {} }\nsteps: []", "one of human, agent and system"),
            ("scene: A\nsteps: [ { says: hm } ]", "demo.yaml:2:10: it asks for nothing"),
            ("scene: A\nsteps: [ { fire: x } ]", "`fire` needs `of`"),
            ("scene: A\nsteps: [ { create: x } ]", "LIFECYCLE/ID"),
            ("scene: A\nsteps: [ { crate: x.y/1 } ]", "create"),
        ] {
            let wrong = scene("demo.yaml", text).map(|_| ()).err().unwrap_or_default();
            assert!(wrong.contains(words), "{wrong}");
        }
    }
}
