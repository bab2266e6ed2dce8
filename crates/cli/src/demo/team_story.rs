//! The story of the team as data: a repository, its tasks, the agents and their scripts, and the lines to print.
//!
//! `scripts/team` plays the same story, and compares the result with the same content.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::print::Colour;
use crate::time_format::{text, value};

const STORY: &str = include_str!("../../demo/team/team.json");
const SCRIPTS: &[(&str, &str)] = &[
    ("coder.sh", include_str!("../../demo/team/coder.sh")),
    ("planner.sh", include_str!("../../demo/team/planner.sh")),
    ("reviewer.sh", include_str!("../../demo/team/reviewer.sh")),
];

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TeamStory {
    /// Settings of the pack.
    pub settings: Map<String, Json>,
    pub pack: String,
    /// The lifecycle of the tasks.
    pub work: String,
    /// The branch that the work is merged to.
    pub branch: String,
    pub person: StoryPerson,
    pub team: Vec<ScriptedAgent>,
    /// Entities that the person creates before the agents start.
    pub created: Vec<StoryEntity>,
    pub checkpoint: StoryCheckpoint,
    pub told: Vec<ToldEvent>,
    /// Commands that the demo suggests at its end.
    pub next: Vec<SuggestedCommand>,
    /// The lines of each file of the repository at the start.
    files: BTreeMap<String, Vec<String>>,
    /// The lines of each file that the tasks add or change.
    result: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoryPerson {
    pub actor: String,
    pub kind: String,
    pub roles: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScriptedAgent {
    pub agent: String,
    pub role: String,
    /// The name of its script.
    pub script: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoryEntity {
    pub of: String,
    pub id: String,
    pub fields: Map<String, Json>,
}

/// The person stops the team once, and lets it continue after a while.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoryCheckpoint {
    pub of: String,
    pub id: String,
    /// It comes when this count has reached this number.
    pub counted: String,
    pub after: usize,
    pub fire: String,
    pub reason: String,
    /// The event that ends it.
    pub then: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SuggestedCommand {
    pub command: String,
    pub shows: String,
}

/// A step of an entity that is printed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToldEvent {
    of: String,
    on: String,
    /// The state before; any if it is missing.
    from: Option<String>,
    /// Fields that the entity must have.
    #[serde(default, rename = "where")]
    fields: Map<String, Json>,
    /// The line to print, with fields of the entity in braces.
    says: String,
    /// The count that it belongs to, and what the summary calls it.
    pub count: Option<String>,
    pub counted: Option<String>,
    colour: Option<String>,
}

impl TeamStory {
    pub fn read() -> Result<Self, String> {
        serde_json::from_str(STORY).map_err(|it| format!("demo/team/team.json: {it}"))
    }

    pub fn scripts() -> &'static [(&'static str, &'static str)] {
        SCRIPTS
    }

    /// The files of the repository at the start.
    pub fn files(&self) -> BTreeMap<&str, String> {
        contents(&self.files)
    }

    /// The files that the branch must have at the end.
    pub fn expected(&self) -> BTreeMap<&str, String> {
        let mut all = self.files();
        all.extend(contents(&self.result));
        all
    }

    /// Whether the story has something to print about a step. Then `telling` needs the entity, too.
    pub fn may_tell(&self, entry: &Json) -> bool {
        self.told.iter().any(|it| it.matches(entry))
    }

    /// What the story says about a step of an entity.
    pub fn telling(&self, entry: &Json, entity: &Json) -> Option<&ToldEvent> {
        self.told.iter().find(|it| it.matches(entry) && it.fits(entity))
    }
}

fn contents(files: &BTreeMap<String, Vec<String>>) -> BTreeMap<&str, String> {
    files
        .iter()
        .map(|(name, lines)| (name.as_str(), lines.iter().map(|it| format!("{it}\n")).collect()))
        .collect()
}

impl ToldEvent {
    fn matches(&self, entry: &Json) -> bool {
        ["STATE_TRANSITION", "FIELDS_CHANGED"].contains(&text(entry, "event"))
            && text(entry, "lifecycle") == self.of
            && text(entry, "trigger") == self.on
            && self.from.as_ref().is_none_or(|it| text(entry, "from") == it)
    }

    fn fits(&self, entity: &Json) -> bool {
        self.fields.iter().all(|(name, wanted)| entity.pointer(&format!("/fields/{name}")) == Some(wanted))
    }

    /// The sentence, with values of the entry and of the entity in place of the names in braces.
    pub fn sentence(&self, entry: &Json, entity: &Json) -> String {
        let mut sentence = String::new();
        let mut rest = self.says.as_str();
        while let Some((before, (name, after))) =
            rest.split_once('{').and_then(|(before, it)| Some((before, it.split_once('}')?)))
        {
            sentence.push_str(before);
            sentence.push_str(&value_of(name, entry, entity));
            rest = after;
        }
        sentence + rest
    }

    pub fn colour(&self) -> Option<Colour> {
        match self.colour.as_deref()? {
            "green" => Some(Colour::Green),
            "red" => Some(Colour::Red),
            "yellow" => Some(Colour::Yellow),
            "cyan" => Some(Colour::Cyan),
            _ => None,
        }
    }
}

fn value_of(name: &str, entry: &Json, entity: &Json) -> String {
    let found = match name {
        "id" | "reason" => text(entry, name).to_owned(),
        "actor" => match text(entry, "onBehalfOf") {
            "" => text(entry, name).to_owned(),
            agent => agent.to_owned(),
        },
        field => entity.pointer(&format!("/fields/{field}")).map(value).unwrap_or_default(),
    };
    // A commit is shown by its first digits.
    match found.len() == 40 && found.bytes().all(|it| it.is_ascii_hexdigit()) {
        true => found.chars().take(8).collect(),
        false => found,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_story_can_be_read_and_names_only_what_it_has() {
        let story = TeamStory::read().unwrap();
        let scripts: BTreeSet<&str> = SCRIPTS.iter().map(|(name, _)| *name).collect();
        assert!(story.team.iter().all(|it| scripts.contains(it.script.as_str())));
        assert_eq!(story.created.iter().filter(|it| it.of == story.work).count(), 10);
        for told in &story.told {
            assert_eq!(told.count.is_some(), told.counted.is_some(), "{told:?}");
            assert_eq!(told.colour.is_some(), told.colour().is_some(), "{told:?}");
        }
        assert!(story.told.iter().any(|it| it.count.as_ref() == Some(&story.checkpoint.counted)));
        assert!(story.expected().len() > story.files().len());
    }

    #[test]
    fn a_sentence_has_the_values_of_the_entry_and_of_the_entity() {
        let told: ToldEvent = serde_json::from_value(json!({
            "of": "a.b", "on": "go", "where": { "n": 1 }, "says": "{actor} moves {id} to {place}: {reason}{none}"
        }))
        .unwrap();
        let entry = json!({
            "lifecycle": "a.b", "trigger": "go", "event": "FIELDS_CHANGED", "id": "x", "actor": "runner",
            "onBehalfOf": "ada", "reason": "because"
        });
        let entity = json!({ "fields": { "n": 1, "place": "0123456789012345678901234567890123456789" } });
        assert!(told.matches(&entry) && told.fits(&entity));
        assert_eq!(told.sentence(&entry, &entity), "ada moves x to 01234567: because");
        assert!(!told.fits(&json!({ "fields": {} })));
    }
}
