//! Expectations of a step.

use serde_json::Value as Json;
use trackside_engine::actor::Actor;
use trackside_engine::decide::{allowed, fields_of, log_line};
use trackside_engine::event::{Entry, Event, EventKind};
use trackside_engine::key::EntityKey;
use trackside_engine::ranking::RankingKey;
use trackside_engine::refusal::Refusal;
use trackside_engine::world::World;
use trackside_lifecycle::source::{At, NodeValue, Place};
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;
use trackside_protocol::{EntryBody, FieldMap, UnmetBody, entry_value};

use super::outward::{INSTRUCTIONS, entity_json, entry_json, to_json};
use super::syntax::Then;

/// The result of a step.
pub(super) struct Happened<'a> {
    pub world: &'a World,
    pub actor: Option<&'a Actor>,
    pub actors: &'a [(String, Actor)],
    /// The entity that the step acted on.
    pub entity: Option<EntityKey>,
    pub entries: &'a [Entry],
    pub refusal: Option<Refusal>,
    pub acted: bool,
    pub replayed: bool,
    pub ignored: Vec<String>,
    pub result: Json,
    pub ids: Option<Vec<String>>,
}

pub(super) struct Mismatch {
    pub at: Place,
    pub expected: String,
    pub happened: String,
}

fn mismatch(at: Place, expected: impl Into<String>, happened: impl Into<String>) -> Mismatch {
    Mismatch { at, expected: expected.into(), happened: happened.into() }
}

impl Happened<'_> {
    /// Returns the first expectation that is not met.
    pub fn check(&self, then: Option<&Then>, at: Place) -> Result<(), Mismatch> {
        match (then.and_then(|it| it.refused.as_ref()), &self.refusal) {
            (None, Some(refusal)) if self.acted => {
                return Err(mismatch(at, "accepted", refusal.to_string()));
            }
            (Some(expected), None) => {
                return Err(mismatch(
                    expected.at,
                    format!("refused: {}", show(&expected.it.0.to_json())),
                    "accepted",
                ));
            }
            (Some(expected), Some(refusal)) => self.check_refusal(expected, refusal)?,
            _ => {}
        }
        match then {
            Some(then) => self.holds(then, at),
            None => Ok(()),
        }
    }

    fn check_refusal(
        &self,
        expected: &At<trackside_lifecycle::source::Json>,
        refusal: &Refusal,
    ) -> Result<(), Mismatch> {
        let wanted = expected.it.0.to_json();
        let wrong = || mismatch(expected.at, format!("refused: {}", show(&wanted)), refusal.to_string());
        match &wanted {
            // An unknown name is a mistake in the scenario, not a rule that holds.
            Json::Bool(true) if refusal.code.is_unknown_name() => Err(wrong()),
            Json::Bool(true) => Ok(()),
            Json::String(code) => {
                let said = refusal.code.as_str() == code
                    || refusal
                        .errors
                        .iter()
                        .any(|it| it.code.as_str() == code || matches_text(code, &it.message));
                if said { Ok(()) } else { Err(wrong()) }
            }
            Json::Object(map) => {
                for (name, value) in map {
                    let fine = match name.as_str() {
                        "code" => value == refusal.code.as_str(),
                        "who" => {
                            let who = refusal.who.clone().unwrap_or_default();
                            value.as_str().is_some_and(|it| who.contains(it.trim_start_matches('~')))
                        }
                        "allowed" => same_set(value, &to_json(&refusal.allowed)),
                        "saw" => {
                            refusal.errors.iter().any(|it| subset(value, &to_json(&UnmetBody::from(it).saw)))
                        }
                        "only" => {
                            let listed = map.get("errors").and_then(Json::as_array).map_or(0, Vec::len);
                            value != &Json::Bool(true) || refusal.errors.len() == listed
                        }
                        "errors" => value.as_array().is_some_and(|wanted| {
                            wanted.iter().all(|it| {
                                refusal
                                    .errors
                                    .iter()
                                    .any(|unmet| subset(it, &to_json(&UnmetBody::from(unmet))))
                            })
                        }),
                        _ => false,
                    };
                    if !fine {
                        return Err(wrong());
                    }
                }
                Ok(())
            }
            _ => Err(wrong()),
        }
    }

    fn holds(&self, then: &Then, at: Place) -> Result<(), Mismatch> {
        let key = match &then.of {
            Some(of) => {
                Some(EntityKey::parse(&of.it).ok_or_else(|| mismatch(of.at, "LIFECYCLE/ID", of.it.clone()))?)
            }
            None => self.entity.clone(),
        };
        self.entity_holds(then, key.as_ref(), at)?;
        self.step_holds(then)?;
        for further in then.also.iter().flatten() {
            self.holds(further, at)?;
        }
        Ok(())
    }

    fn entity_holds(&self, then: &Then, key: Option<&EntityKey>, at: Place) -> Result<(), Mismatch> {
        let wants_entity = then.state.is_some()
            || then.fields.is_some()
            || then.entity.is_some()
            || then.allowed.is_some()
            || !then.ranks.is_empty()
            || !then.timers.is_empty();
        if wants_entity {
            let Some(key) = key else { return Err(mismatch(at, "an entity to look at", "none: say `of`")) };
            let Some(entity) = self.world.view.get(key) else {
                return Err(mismatch(at, format!("{key} exists"), "it does not"));
            };
            if let Some(state) = &then.state
                && state.it != entity.state
            {
                return Err(mismatch(
                    state.at,
                    format!("{key} is {}", state.it),
                    format!("it is {}", entity.state),
                ));
            }
            let anyone = Actor::new("reader", trackside_engine::actor::ActorKind::System);
            let reader = self.actor.unwrap_or(&anyone);
            if let Some(fields) = &then.fields {
                let wanted = fields.it.0.to_json();
                let got = fields_of(&self.world.law, &self.world.view, entity, reader, self.world.now);
                let got: serde_json::Map<String, Json> = got
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(name, value)| (name.to_string(), value.to_json()))
                    .collect();
                self.fields_match(&wanted, &got, fields.at)?;
            }
            if let Some(envelope) = &then.entity {
                let got = entity_json(self.world, entity, reader);
                let wanted = envelope.it.0.to_json();
                if !subset(&wanted, &got) {
                    return Err(mismatch(envelope.at, show(&wanted), show(&got)));
                }
            }
            for (name, wanted) in then.ranks.iter() {
                let index = RankingKey { lifecycle: key.lifecycle.clone(), name: name.it.clone() };
                let rank = self.world.view.rankings.get(&index).and_then(|it| it.rank(&key.id));
                let fine = match &wanted.value {
                    NodeValue::Null => rank.is_none(),
                    NodeValue::Int(it) => rank.and_then(|it| i64::try_from(it).ok()) == Some(*it),
                    _ => false,
                };
                if !fine {
                    let happened = rank.map_or("not in it".to_owned(), |it| format!("{it}"));
                    let expected = wanted.as_written().unwrap_or_else(|| "null".to_owned());
                    return Err(mismatch(name.at, format!("place in {}: {expected}", name.it), happened));
                }
            }
            for (name, wanted) in then.timers.iter() {
                let due =
                    entity.timer(&name.it).and_then(|it| it.ends_at()).map(|it| it.since(self.world.now));
                let fine = match &wanted.value {
                    NodeValue::Null => due.is_none(),
                    NodeValue::Text(text) => Span::parse(text) == due,
                    _ => false,
                };
                if !fine {
                    let happened = due.map_or("not running".to_owned(), |it| format!("due in {it}"));
                    let expected = wanted.as_written().unwrap_or_else(|| "null".to_owned());
                    return Err(mismatch(name.at, format!("timer {} due in {expected}", name.it), happened));
                }
            }
            if let Some(wanted) = &then.allowed {
                self.allowed_match(wanted, entity)?;
            }
        }
        for of in then.exists.iter().flat_map(|it| it.iter()) {
            if EntityKey::parse(&of.it).is_none_or(|key| self.world.view.get(&key).is_none()) {
                return Err(mismatch(of.at, format!("{} exists", of.it), "it does not"));
            }
        }
        for of in then.absent.iter().flat_map(|it| it.iter()) {
            if EntityKey::parse(&of.it).is_some_and(|key| self.world.view.get(&key).is_some()) {
                return Err(mismatch(of.at, format!("{} does not exist", of.it), "it does"));
            }
        }
        Ok(())
    }

    fn fields_match(
        &self,
        wanted: &Json,
        got: &serde_json::Map<String, Json>,
        at: Place,
    ) -> Result<(), Mismatch> {
        let Json::Object(wanted) = wanted else { return Err(mismatch(at, "a map of fields", show(wanted))) };
        for (name, value) in wanted {
            let actual = got.get(name).unwrap_or(&Json::Null);
            if !subset(value, actual) {
                return Err(mismatch(
                    at,
                    format!("{name} = {}", show(value)),
                    format!("{name} = {}", show(actual)),
                ));
            }
        }
        Ok(())
    }

    fn allowed_match(
        &self,
        wanted: &At<trackside_lifecycle::source::Json>,
        entity: &trackside_engine::entity::Entity,
    ) -> Result<(), Mismatch> {
        let json = wanted.it.0.to_json();
        let check = |actor: &Actor, list: &Json| {
            let got = allowed(&self.world.law, &self.world.view, entity, actor, self.world.now);
            let got = to_json(&got.unwrap_or_default());
            if same_set(list, &got) {
                Ok(())
            } else {
                let expected = format!("{} may move it to {}", actor.id, show(list));
                Err(mismatch(wanted.at, expected, show(&got)))
            }
        };
        match (&json, self.actor) {
            (Json::Array(_), Some(actor)) => check(actor, &json),
            (Json::Object(map), _) => {
                for (name, list) in map {
                    match self.actors.iter().find(|(it, _)| it == name) {
                        Some((_, actor)) => check(actor, list)?,
                        None => return Err(mismatch(wanted.at, format!("actor {name}"), "not declared")),
                    }
                }
                Ok(())
            }
            _ => Err(mismatch(wanted.at, "a list of states, or a map by actor", show(&json))),
        }
    }

    fn step_holds(&self, then: &Then) -> Result<(), Mismatch> {
        if let Some(wanted) = &then.replayed
            && wanted.it != self.replayed
        {
            return Err(mismatch(
                wanted.at,
                format!("replayed: {}", wanted.it),
                format!("replayed: {}", self.replayed),
            ));
        }
        if let Some(wanted) = &then.claimed {
            let got = self.entity.as_ref().map(|it| it.id.clone()).unwrap_or_else(|| "nothing".into());
            if wanted.it != got {
                return Err(mismatch(wanted.at, format!("claimed {}", wanted.it), got.to_string()));
            }
        }
        if let Some(wanted) = &then.kept {
            let kept = self.refusal.as_ref().is_some_and(|it| it.kept.is_some());
            if wanted.it != kept {
                return Err(mismatch(wanted.at, format!("kept: {}", wanted.it), format!("kept: {kept}")));
            }
        }
        if let Some(wanted) = &then.silent
            && wanted.it != self.entries.is_empty()
        {
            return Err(mismatch(wanted.at, "nothing written", lines(self.entries).join("; ")));
        }
        if let Some(wanted) = &then.ignored {
            let got = to_json(&self.ignored);
            if !same_set(&wanted.it.0.to_json(), &got) {
                return Err(mismatch(wanted.at, show(&wanted.it.0.to_json()), show(&got)));
            }
        }
        for unwanted in then.without.iter().flatten() {
            let json = unwanted.it.0.to_json();
            if let Some(found) = self.entries.iter().find(|it| subset(&json, &entry_json(it))) {
                let found = lines(std::slice::from_ref(found)).join("");
                return Err(mismatch(unwanted.at, format!("no entry like {}", show(&json)), found));
            }
        }
        if let Some(wanted) = &then.journal {
            self.journal_holds(wanted)?;
        }
        if let Some(wanted) = &then.log {
            self.log_holds(wanted)?;
        }
        self.events_hold(then.notified.as_ref(), "notified", EventKind::Notified)?;
        self.events_hold(then.alerts.as_ref(), "alerts", EventKind::AlertRaised)?;
        self.events_hold(then.messages.as_ref(), "messages", EventKind::MessagePosted)?;
        if let Some(wanted) = &then.violations {
            let found: Vec<Json> = self
                .entries
                .iter()
                .filter_map(|it| match &it.event {
                    Event::ViolationFound { rule, .. } => Some(to_json(rule)),
                    _ => None,
                })
                .collect();
            let names = to_json(&wanted.iter().map(|it| it.it.clone()).collect::<Vec<_>>());
            if !same_set(&names, &to_json(&found)) {
                let at = wanted.first().map(|it| it.at);
                let at = at.unwrap_or(Place::top(trackside_lifecycle::source::FileId(0)));
                return Err(mismatch(at, format!("violations {}", show(&names)), show(&to_json(&found))));
            }
        }
        if let Some(wanted) = &then.ids {
            let got = to_json(&self.ids);
            if !subset(&wanted.it.0.to_json(), &got) {
                return Err(mismatch(wanted.at, show(&wanted.it.0.to_json()), show(&got)));
            }
        }
        if let Some(wanted) = &then.rows {
            let got = self.result.as_array().map_or(0, Vec::len);
            if usize::try_from(wanted.it) != Ok(got) {
                return Err(mismatch(wanted.at, format!("{} rows", wanted.it), format!("{got} rows")));
            }
        }
        for text in then.says.iter().flatten() {
            let got = self.result.get(INSTRUCTIONS).and_then(Json::as_str).unwrap_or_default();
            if !got.contains(text.it.as_str()) {
                return Err(mismatch(text.at, format!("instructions that contain {:?}", text.it), got));
            }
        }
        if let Some(wanted) = &then.result {
            let json = wanted.it.0.to_json();
            let fine = match (&json, &self.result) {
                // The wanted elements must occur in this order; others may be between them.
                (Json::Array(wanted), Json::Array(got)) if wanted.is_empty() => got.is_empty(),
                (Json::Array(wanted), Json::Array(got)) => {
                    let mut rest = got.iter();
                    wanted.iter().all(|one| rest.any(|it| subset(one, it)))
                }
                (json, got) => subset(json, got),
            };
            if !fine {
                return Err(mismatch(wanted.at, show(&json), show(&self.result)));
            }
        }
        Ok(())
    }

    fn journal_holds(&self, wanted: &[At<trackside_lifecycle::source::Json>]) -> Result<(), Mismatch> {
        let mut rest = self.entries.iter().map(entry_json);
        for entry in wanted {
            let json = entry.it.0.to_json();
            if !rest.any(|it| subset(&json, &it)) {
                let happened = lines(self.entries);
                let happened =
                    if happened.is_empty() { "nothing written".to_owned() } else { happened.join("\n") };
                return Err(mismatch(
                    entry.at,
                    format!("journal has (in this order) {}", show(&json)),
                    happened,
                ));
            }
        }
        Ok(())
    }

    /// Compares the log lines of the step, in the form that the pack declares.
    fn log_holds(&self, wanted: &[At<String>]) -> Result<(), Mismatch> {
        let World { law, view, now, .. } = self.world;
        let line = |entry: &Entry| {
            let line =
                log_line(law, view, view.get(&entry.entity)?, &entry_value(entry), None, *now).ok()??;
            serde_json::to_string(&FieldMap(line)).ok()
        };
        let lines: Vec<String> = self.entries.iter().filter_map(line).collect();
        let happened = if lines.is_empty() { "no log line".to_owned() } else { lines.join("\n") };
        if wanted.is_empty() && !lines.is_empty() {
            return Err(mismatch(
                Place::top(trackside_lifecycle::source::FileId(0)),
                "no log line",
                happened,
            ));
        }
        let mut rest = lines.iter();
        for it in wanted {
            if !rest.any(|line| matches_text(&it.it, line)) {
                return Err(mismatch(it.at, format!("log has (in this order) {}", it.it), happened));
            }
        }
        Ok(())
    }

    fn events_hold(
        &self,
        wanted: Option<&Vec<At<trackside_lifecycle::source::Json>>>,
        what: &str,
        kind: EventKind,
    ) -> Result<(), Mismatch> {
        let Some(wanted) = wanted else { return Ok(()) };
        let found = self.entries.iter().filter(|it| it.event.kind() == kind);
        let got: Vec<Json> = found.map(|it| to_json(&EntryBody::new(it).metadata)).collect();
        let at = wanted.first().map_or(Place::top(trackside_lifecycle::source::FileId(0)), |it| it.at);
        if wanted.is_empty() && !got.is_empty() {
            return Err(mismatch(at, format!("{what}: nothing"), show(&to_json(&got))));
        }
        for one in wanted {
            let json = one.it.0.to_json();
            if !got.iter().any(|it| subset(&json, it)) {
                return Err(mismatch(one.at, format!("{what}: {}", show(&json)), show(&to_json(&got))));
            }
        }
        Ok(())
    }
}

/// Whether `got` contains everything in `wanted`. A text that starts with `~` matches a part.
pub(super) fn subset(wanted: &Json, got: &Json) -> bool {
    match (wanted, got) {
        (Json::Object(wanted), Json::Object(got)) => {
            wanted.iter().all(|(name, it)| subset(it, got.get(name).unwrap_or(&Json::Null)))
        }
        (Json::Array(wanted), Json::Array(got)) => {
            wanted.len() == got.len() && wanted.iter().zip(got).all(|(wanted, got)| subset(wanted, got))
        }
        (Json::String(wanted), Json::String(got)) => {
            matches_text(wanted, got) || Span::parse(wanted).is_some_and(|it| Span::parse(got) == Some(it))
        }
        (Json::Number(wanted), Json::Number(got)) => {
            let (wanted, got) = (wanted.as_f64().unwrap_or(f64::NAN), got.as_f64().unwrap_or(f64::NAN));
            (wanted - got).abs() < 1e-9
        }
        _ => wanted == got,
    }
}

fn matches_text(wanted: &str, got: &str) -> bool {
    match wanted.strip_prefix('~') {
        Some(part) => got.contains(part),
        None => wanted == got,
    }
}

fn same_set(wanted: &Json, got: &Json) -> bool {
    let sorted = |json: &Json| {
        let mut list: Vec<String> = json.as_array().into_iter().flatten().map(Json::to_string).collect();
        list.sort();
        list
    };
    wanted.is_array() && sorted(wanted) == sorted(got)
}

fn show(json: &Json) -> String {
    json.to_string()
}

/// The journal, one line for each entry.
pub(super) fn lines(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(line).collect()
}

fn line(entry: &Entry) -> String {
    let edge = match entry.edge() {
        (Some(from), Some(to)) => format!(" {from} → {to}"),
        (None, Some(to)) => format!(" → {to}"),
        _ => String::new(),
    };
    let detail = match &entry.event {
        Event::Notified { audience, message, .. } => format!(" {audience}: {message}"),
        Event::AlertRaised { severity, message, .. } => format!(" {}: {message}", severity.as_str()),
        Event::MessagePosted { kind, text, .. } => format!(" {kind}: {text}"),
        Event::FailureCounted { counter, key, tally } => format!(" {counter}[{key}] = {}", tally.value),
        Event::TimeoutWarned { timer, percent, .. } => format!(" {timer} {percent}%"),
        Event::LimitWarned { counter, percent, .. } => format!(" {counter} {percent}%"),
        Event::ViolationFound { rule, message, .. } => format!(" {rule}: {message}"),
        Event::LeaseGranted { slot, lease, .. } | Event::LeaseRenewed { slot, lease, .. } => {
            let holder = lease.holder.as_deref().unwrap_or_default();
            format!(" {slot} to {holder} until {}, fence {}", lease.expires_at, lease.fence)
        }
        Event::LeaseReleased { slot, .. } => format!(" {slot}"),
        Event::LeaseLost { slot, holder, .. } => {
            format!(" {slot} of {}", holder.as_deref().unwrap_or_default())
        }
        Event::Assigned { field, after, .. } => format!(" {field} = {}", brief(after)),
        other => match other.changes() {
            Some(changes) if !changes.fields.is_empty() => {
                let fields = changes.fields.iter().map(|(name, value)| format!("{name}={}", brief(value)));
                format!(" {}", fields.collect::<Vec<_>>().join(" "))
            }
            _ => String::new(),
        },
    };
    format!(
        "{:>4} {} {} {}{edge} by {} ({}) on {}{detail}",
        entry.seq,
        entry.at,
        entry.event.kind(),
        entry.entity,
        entry.actor,
        entry.actor_kind.as_str(),
        entry.trigger,
    )
}

fn brief(value: &Value) -> String {
    let text = value.to_json().to_string();
    if text.chars().count() > 60 { format!("{}…", text.chars().take(60).collect::<String>()) } else { text }
}
