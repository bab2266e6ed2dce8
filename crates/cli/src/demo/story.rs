//! Plays the story on a server, step by step, and compares the results with the script.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value as Json;
use trackside_protocol::{Client, ClientError, NewToken};

use super::interface::{DemoClient, DemoServer};
use super::pacing::Pacing;
use super::request::{DemoAnswer, DemoRequest, EntityRef};
use super::script::{DemoScene, ScriptStep};
use super::shell::Shell;
use super::story_printer::{DemoActor, StoryPrinter};
use crate::print;
use crate::time_format::{list, text};
use crate::url::ApiPath;

/// The actor that advances the clock and runs the sweep.
const OWNER: &str = "owner";

/// The end of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoryEnd {
    /// Everything went as scripted.
    Played(StoryTally),
    /// The user stopped it.
    Interrupted,
    /// A step did not go as scripted: which, and why.
    Otherwise { place: String, why: String },
}

/// Totals of the story.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoryTally {
    pub(crate) steps: usize,
    pub(crate) refused: usize,
}

/// The story while it is played.
#[derive(Debug)]
pub(crate) struct DemoStory {
    url: String,
    program: PathBuf,
    owner: Client,
    pace: Pacing,
    /// The last journal entry that was printed.
    heard: u64,
    /// Under which numbers actors hold their leases.
    fences: BTreeMap<(String, EntityRef), u64>,
    tally: StoryTally,
}

/// The actors of a scene.
type Team = BTreeMap<String, Actor>;

/// An actor with its client.
#[derive(Debug)]
struct Actor {
    door: DemoClient,
    token: String,
}

impl DemoStory {
    pub(crate) fn new(url: &str, owner_token: &str, pace: Pacing) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|it| format!("cannot find this program: {it}"))?;
        Ok(Self {
            url: url.to_owned(),
            program,
            owner: Client::new(url, owner_token),
            pace,
            heard: 0,
            fences: BTreeMap::new(),
            tally: StoryTally::default(),
        })
    }

    /// Plays all of them.
    pub(crate) fn play(&mut self, scenes: &[DemoScene]) -> StoryEnd {
        for (at, scene) in scenes.iter().enumerate() {
            let telling = StoryPrinter::of(scene);
            telling.heading(at + 1, scenes.len(), scene);
            if !self.pace.rest(4) {
                return StoryEnd::Interrupted;
            }
            let mut team = match self.team(scene) {
                Ok(team) => team,
                Err(why) => return self.otherwise(scene.title.clone(), why),
            };
            for step in &scene.steps {
                if let Err(why) = self.step(&telling, &mut team, step) {
                    return self.otherwise(step.place.clone(), why);
                }
                // A step with text to read gets more time.
                let is_short = step.says.is_none() && step.expects.refused.is_none();
                if !self.pace.rest(if is_short { 1 } else { 2 }) || !print::is_read() {
                    return StoryEnd::Interrupted;
                }
            }
        }
        StoryEnd::Played(self.tally)
    }

    /// A failure during the shutdown is not reported.
    fn otherwise(&self, place: String, why: String) -> StoryEnd {
        if self.pace.is_ended() { StoryEnd::Interrupted } else { StoryEnd::Otherwise { place, why } }
    }

    /// Tokens and interfaces for the actors.
    fn team(&mut self, scene: &DemoScene) -> Result<Team, String> {
        let mut team = Team::new();
        for member in &scene.team {
            let wanted = NewToken {
                actor: member.id.clone(),
                kind: member.kind.as_str().to_owned(),
                roles: member.roles.clone(),
                note: Some("demo".to_owned()),
                ..NewToken::default()
            };
            let made =
                self.owner.post(ApiPath::new(&["tokens"]).as_str(), &wanted).map_err(describe_error)?;
            let at = DemoServer { url: &self.url, program: &self.program };
            let token = text(&made.body, "token").to_owned();
            let door = DemoClient::open(member.through, at, &token)?;
            team.insert(member.id.clone(), Actor { door, token });
        }
        self.hear()?;
        Ok(team)
    }

    fn step(&mut self, telling: &StoryPrinter, team: &mut Team, step: &ScriptStep) -> Result<(), String> {
        if let Some(says) = &step.says {
            telling.aside(says);
        }
        let by = step.by.as_deref().unwrap_or(OWNER);
        let mut ask = step.ask.clone();
        if let Some(fence) = ask.entity().and_then(|it| self.fences.get(&(by.to_owned(), it.clone()))) {
            ask.under(*fence);
        }
        let answer = match team.get_mut(by) {
            Some(Actor { door, .. }) => {
                let now = self.now()?;
                telling.print_request(
                    &DemoActor { now: &now, id: by, through: door.through().word() },
                    &door.words(&ask),
                );
                door.ask(&ask)?
            }
            None => {
                let answer = super::http::ask(&self.owner, &ask)?;
                telling.passed(&ask, &self.now()?);
                answer
            }
        };
        self.tally.steps += 1;
        telling.answered(&ask, &answer);
        self.remember(by, &answer);
        let entries = self.hear()?;
        let direct = match &answer {
            DemoAnswer::Done(response) => response.pointer("/transition/seq").and_then(Json::as_u64),
            _ => None,
        };
        let others = entries.iter().filter(|it| it.get("seq").and_then(Json::as_u64) != direct);
        let matter: Vec<&EntityRef> =
            step.expects.states.iter().map(|(key, _)| key).chain(ask.entity()).collect();
        telling.followed(others, &matter);
        if let (DemoRequest::Explain { .. }, Some(Actor { token, .. })) = (&ask, team.get(by)) {
            let at = DemoServer { url: &self.url, program: &self.program };
            telling.shown(&Shell::new(at, token).shown(&ask)?);
        }
        self.tally.refused += usize::from(matches!(answer, DemoAnswer::Refused(_)));
        self.hold(step, &answer)
    }

    /// Compares an answer with the script.
    fn hold(&self, step: &ScriptStep, answer: &DemoAnswer) -> Result<(), String> {
        let expects = &step.expects;
        match (answer, &expects.refused) {
            (DemoAnswer::Refused(it), None) => {
                return Err(format!("it was refused: {} ({})", it.detail, it.code));
            }
            (DemoAnswer::Refused(it), Some(code)) if it.code != *code => {
                return Err(format!("it was refused as {} and not as {code}: {}", it.code, it.detail));
            }
            (DemoAnswer::Refused(_), Some(_)) => {}
            (_, Some(code)) => return Err(format!("it was not refused, and should be as {code}")),
            (DemoAnswer::Nothing, None) if !expects.nothing => {
                return Err("there was nothing to claim".to_owned());
            }
            (DemoAnswer::Done(_), None) if expects.nothing => {
                return Err("there was something to claim".to_owned());
            }
            _ => {}
        }
        if let (DemoAnswer::Done(response), Some(expected)) = (answer, &expects.claimed) {
            let id = response.pointer("/transition/id").and_then(Json::as_str).unwrap_or_default();
            if id != expected {
                return Err(format!("it claimed {id} and not {expected}"));
            }
        }
        for (EntityRef { lifecycle, id }, expected) in &expects.states {
            let seen = self
                .owner
                .get(ApiPath::new(&["entities", lifecycle, id]).as_str())
                .map_err(describe_error)?;
            let state = text(&seen.body, "state");
            if state != expected {
                return Err(format!("{lifecycle}/{id} is {state} and should be {expected}"));
            }
        }
        Ok(())
    }

    /// Remembers the fences of granted leases.
    fn remember(&mut self, by: &str, answer: &DemoAnswer) {
        let DemoAnswer::Done(response) = answer else { return };
        let Some(entity) = response.get("entity") else { return };
        let key =
            EntityRef { lifecycle: text(entity, "lifecycle").to_owned(), id: text(entity, "id").to_owned() };
        let mine = list(entity, "leases").iter().find(|it| text(it, "holder") == by);
        if let Some(fence) = mine.and_then(|it| it.get("fence")).and_then(Json::as_u64) {
            self.fences.insert((by.to_owned(), key), fence);
        }
    }

    /// The new entries of the journal.
    fn hear(&mut self) -> Result<Vec<Json>, String> {
        let mut all = Vec::new();
        loop {
            let route = ApiPath::new(&["journal"]).with("after", self.heard).with("limit", 200);
            let page = self.owner.get(route.as_str()).map_err(describe_error)?.body;
            let entries = list(&page, "items");
            let last = entries.last().and_then(|it| it.get("seq")).and_then(Json::as_u64);
            let Some(last) = last else { return Ok(all) };
            self.heard = last;
            all.extend(entries.iter().cloned());
        }
    }

    fn now(&self) -> Result<String, String> {
        let clock = self.owner.get(ApiPath::new(&["clock"]).as_str()).map_err(describe_error)?;
        Ok(text(&clock.body, "now").to_owned())
    }
}

fn describe_error(error: ClientError) -> String {
    error.to_string()
}
