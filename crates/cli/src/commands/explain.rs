//! `trackside explain`: why an entity is not moving, who must act, since when, and what happens next.

use serde_json::Value as Json;
use trackside_engine::refusal::Code;
use trackside_protocol::headline_in_words;

use crate::args::ExplainArgs;
use crate::print::{self, Colour, painted_data};
use crate::refused;
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::time_format::{entity_of, is_true, list, moment, number, places, relative, text, texts, value};
use crate::url::ApiPath;

pub(crate) fn run(args: &ExplainArgs) -> u8 {
    refused::finish_entity(&args.entity, args.ask.json, |lifecycle, id| explain(args, lifecycle, id))
}

fn explain(args: &ExplainArgs, lifecycle: &str, id: &str) -> Result<u8, RequestError> {
    let route = ApiPath::new(&["entities", lifecycle, id, "explain"]);
    let answer =
        ServerConnection::find(&args.ask.reach)?.acting_for(args.eyes.on_behalf.as_deref()).get(&route)?;
    Ok(print::answer(&answer, args.ask.json, |it| print_answer(&args.entity, &Explanation::read(it))))
}

/// The server's answer, sorted for people.
struct Explanation<'a> {
    all: &'a Json,
    entity: &'a Json,
    now: &'a str,
    state: &'a str,
    moves: Vec<Move<'a>>,
    /// Transitions that stay in the state.
    stays: Vec<Move<'a>>,
    /// Moves that only the engine makes.
    engine: Vec<Move<'a>>,
}

/// A transition that an actor can request.
struct Move<'a> {
    event: &'a str,
    to: Vec<&'a str>,
    who: &'a str,
    /// Whether the caller is admitted, and no gate is closed to it.
    yours: bool,
    /// Whether it would be accepted now, without further fields.
    ready: bool,
    /// Whether only the caller's identity prevents it.
    open_to_others: bool,
    missing: Vec<String>,
}

const NOTHING: Json = Json::Null;

/// The start of the sentence that names the states to which the caller can move the entity.
const MOVABLE: &str = "You can move it to";

impl<'a> Explanation<'a> {
    fn read(all: &'a Json) -> Self {
        let entity = all.get("entity").unwrap_or(&NOTHING);
        let state = text(entity, "state");
        let ways = list(all, "transitions").iter().map(|it| Move::read(all, it));
        // A transition into the same state, such as a new claim, is a move, too.
        let (moves, stays): (Vec<Move>, Vec<Move>) = ways.partition(|it| !it.to.is_empty());
        let (engine, moves) = moves.into_iter().partition(|it| it.who == "engine");
        Self { all, entity, now: text(all, "now"), state, moves, stays, engine }
    }

    fn ended(&self) -> bool {
        is_true(self.entity, "final")
    }

    /// An effect without a result: since when, who has it, and its predecessors in the queue.
    fn effect(&self, it: &Json) -> String {
        let asked = |name: &str| Some(text(it, name)).filter(|it| !it.is_empty());
        let since = asked("since").map(|it| format!(" was requested {}", moment(it))).unwrap_or_default();
        let who = match (asked("takenBy"), asked("behindEntity"), number(it, "behind")) {
            (Some(taker), ..) => {
                let left = relative(text(it, "until"), self.now).map(|it| format!(" and loses it {it}"));
                format!("{taker} has taken it{}", left.unwrap_or_default())
            }
            (None, Some(entity), _) => format!("it comes after that of {entity}"),
            (None, None, 0) => "no worker has taken it".to_owned(),
            (None, None, id) => format!("it comes after effect {id}"),
        };
        format!("It waits for an effect: {}{since}, and {who}.", text(it, "effect"))
    }

    /// The reasons why it stays in its state, in sentences.
    fn why(&self) -> Vec<String> {
        if self.ended() {
            return vec!["It is in a final state.".to_owned()];
        }
        let mut why = Vec::new();
        let gate = self.gate();
        if let Some(gate) = gate {
            let what = if self.yours_here().is_empty() {
                "A gate blocks everything you can do"
            } else {
                "A gate blocks every move you can make"
            };
            why.push(format!("{what}: {gate}."));
        }
        for it in list(self.all, "keptBackBy").iter().filter(|it| list(it, "openers").is_empty()) {
            let key = entity_of(it);
            why.push(format!("{key} blocks it: see trackside explain {key}."));
        }
        for it in list(self.entity, "leases") {
            let (slot, holder, until) = (text(it, "slot"), text(it, "holder"), text(it, "expiresAt"));
            let left = relative(until, self.now).unwrap_or_default();
            why.push(format!("{holder} holds it ({slot}) until {}, {left}.", moment(until)));
        }
        for it in list(self.all, "runs") {
            let doing = match text(it, "doing") {
                "" => String::new(),
                doing => format!(", last seen at: {doing}"),
            };
            let (id, agent, since) = (text(it, "id"), text(it, "agent"), text(it, "createdAt"));
            why.push(format!(
                "{agent} works on it: run {id} is {} since {}{doing}.",
                text(it, "state"),
                moment(since)
            ));
        }
        for it in list(self.all, "holds") {
            let until = match text(it, "until") {
                "" => "until a person releases it".to_owned(),
                until => {
                    format!("until {}, {}", moment(until), relative(until, self.now).unwrap_or_default())
                }
            };
            let account = text(it, "account");
            let said = match text(it, "why") {
                "" => String::new(),
                why => format!(" The provider said: {why}."),
            };
            why.push(format!("No run starts with the account {account}: it is held {until}.{said} A person can release it: trackside fire fleet.account/{account} release."));
        }
        for it in list(self.all, "openEffects") {
            why.push(self.effect(it));
        }
        for (role, waits) in self.all.get("notReady").and_then(Json::as_object).into_iter().flatten() {
            let waits: Vec<&str> = waits.as_array().into_iter().flatten().filter_map(Json::as_str).collect();
            why.push(format!("No {role} starts yet: {}.", waits.join("; ").trim_end_matches('.')));
        }
        for it in texts(self.all, "broken") {
            why.push(format!("Its invariant {it} is violated: see trackside violations."));
        }
        for it in list(self.all, "requests") {
            let (key, since) = (entity_of(it), text(it, "since"));
            why.push(format!("It waits for a decision on {key}, requested {}:", moment(since)));
            why.extend(it.get("fields").map(places).unwrap_or_default().iter().map(|it| format!("  {it}")));
        }
        if !list(self.all, "requests").is_empty() {
            return why;
        }
        for it in list(self.all, "claimable") {
            let left = texts(self.all, "givenTo").is_empty() || list(self.entity, "leases").is_empty();
            let waits = if left { "It waits to be claimed" } else { "It can be claimed" };
            why.push(format!("{waits}, with {}: by {}.", text(it, "event"), text(it, "who")));
        }
        let yours = self.moves.iter().any(|it| it.ready);
        // An entity that waits to be claimed does not wait for actors who can only do something else.
        let claims = self.claims();
        let another = |it: &Move<'_>| it.ready && !claims.contains(&it.event);
        if !claims.is_empty() && yours && self.moves.iter().all(|it| !it.ready || another(it)) {
            return why;
        }
        let possible = self.moves.iter().any(|it| it.missing.is_empty());
        if !possible && gate.is_some_and(|it| it == self.misses()) {
            return why;
        }
        let others = !self.moves.iter().any(|it| it.yours);
        why.push(match (self.moves.is_empty(), yours, possible && others) {
            (true, _, _) => "No actor can move it from here: it moves by itself.".to_owned(),
            (_, true, _) => self.movable(),
            (_, _, true) => "It waits for another actor to move it.".to_owned(),
            _ if possible => {
                format!("You can move it once you provide: {}.", self.misses())
            }
            _ => format!("Every move from here is missing something: {}.", self.misses()),
        });
        why
    }

    /// The states that the rules let the caller move it to, in a sentence.
    fn movable(&self) -> String {
        let mut states: Vec<&str> =
            self.moves.iter().filter(|it| it.yours).flat_map(|it| it.to.iter().copied()).collect();
        let mut seen = Vec::new();
        states.retain(|it| {
            !seen.contains(it) && {
                seen.push(*it);
                true
            }
        });
        format!("{MOVABLE}: {}.", states.join(", "))
    }

    /// The heading of the reasons: it depends on whether the caller can move it now.
    fn heading(&self, why: &[String]) -> &'static str {
        match why.iter().any(|it| it.starts_with(MOVABLE)) {
            true => "it can move now",
            false => "why it is not moving",
        }
    }

    /// Events by which it can be claimed.
    fn claims(&self) -> Vec<&'a str> {
        list(self.all, "claimable").iter().map(|it| text(it, "event")).collect()
    }

    /// Missing conditions of the caller's moves, or of all moves if the caller has none; each once.
    fn misses(&self) -> String {
        let any = self.moves.iter().any(|it| it.yours);
        let mut all: Vec<&str> = Vec::new();
        for it in self.moves.iter().filter(|it| it.yours || !any).flat_map(|it| &it.missing) {
            if !all.contains(&it.as_str()) {
                all.push(it.trim_end_matches('.'));
            }
        }
        all.join("; ")
    }

    /// The gate that is closed to the caller, if it blocks every move.
    fn gate(&self) -> Option<&'a str> {
        let attempts = list(self.all, "attempts");
        let shut = |it: &&Json| text(it, "code") == Code::GateClosed.as_str();
        let through = attempts.iter().any(|it| is_true(it, "accepted"));
        attempts.iter().find(shut).filter(|_| !through).map(|it| text(it, "detail").trim_end_matches('.'))
    }

    /// Who can act: assignees and lease holders, then you, then others that the rules name.
    fn who(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for it in list(self.all, "requests") {
            for decider in list(it, "deciders") {
                let who = caller(text(decider, "who"), is_true(decider, "permitted"));
                all.push(format!("{who}: {} {}", text(decider, "event"), entity_of(it)));
            }
        }
        for it in list(self.all, "keptBackBy") {
            for opener in list(it, "openers") {
                let who = caller(text(opener, "who"), is_true(opener, "permitted"));
                all.push(format!("{who}: {} {}", text(opener, "event"), entity_of(it)));
            }
        }
        for it in list(self.all, "claimable") {
            let you = self.moves.iter().any(|way| way.yours && way.event == text(it, "event"));
            all.push(format!("{}: {}", caller(text(it, "who"), you), text(it, "event")));
        }
        let holders = list(self.entity, "leases").iter().map(|it| (text(it, "holder"), "holds it"));
        // Assignees without a permitted move cannot help.
        let assigned = texts(self.all, "ableToAct").into_iter().map(|it| (it, "assigned to it"));
        for (name, why) in holders.chain(assigned) {
            if !all.iter().any(|it| it.starts_with(&format!("{name}: "))) {
                all.push(format!("{name}: {why}"));
            }
        }
        let events = |moves: &mut dyn Iterator<Item = &Move<'_>>| {
            let mut names: Vec<&str> = moves.map(|it| it.event).collect();
            names.dedup();
            names.join(", ")
        };
        let yours = events(&mut self.moves.iter().filter(|it| it.yours));
        if !yours.is_empty() {
            all.push(format!("you: {yours}"));
        }
        let claims = self.claims();
        let answer = |it: &&Move<'_>| !it.yours && !claims.contains(&it.event);
        let mut others: Vec<&str> = self.moves.iter().filter(answer).map(|it| it.who).collect();
        others.sort_unstable();
        others.dedup();
        for who in others {
            let theirs = events(&mut self.moves.iter().filter(|it| answer(it) && it.who == who));
            all.push(format!("{who}: {theirs}"));
        }
        all
    }

    /// Events the caller can fire without moving the entity.
    fn yours_here(&self) -> Vec<&'a str> {
        let mut here: Vec<&str> = self.stays.iter().filter(|it| it.yours).map(|it| it.event).collect();
        here.sort_unstable();
        here.dedup();
        here
    }

    /// Moves by other actors that nothing else prevents: who, and what.
    fn others_here(&self) -> Vec<String> {
        let yours = self.yours_here();
        let theirs = |it: &&Move<'_>| it.open_to_others && it.who != "engine" && !yours.contains(&it.event);
        let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
        for it in self.stays.iter().filter(theirs) {
            match all.iter_mut().find(|(who, _)| *who == it.who) {
                Some((_, events)) if events.contains(&it.event) => {}
                Some((_, events)) => events.push(it.event),
                None => all.push((it.who, vec![it.event])),
            }
        }
        all.into_iter().map(|(who, events)| format!("{who}: {}", events.join(", "))).collect()
    }

    /// The transition that led here, with its fields.
    fn arrival(&self) -> Vec<String> {
        let Some(it) = self.all.get("arrival").filter(|it| it.is_object()) else { return Vec::new() };
        let who = |it: &Json| match text(it, "onBehalfOf") {
            "" => text(it, "actor").to_owned(),
            whom => format!("{} for {whom}", text(it, "actor")),
        };
        let from = Some(text(it, "from")).filter(|it| !it.is_empty());
        let from = from.map(|it| format!(" from {it}")).unwrap_or_default();
        let mut first = format!("{}{from}, by {}", text(it, "event"), who(it));
        if let Some(after) = it.get("after").filter(|it| it.is_object()) {
            first.push_str(&format!(" after {} by {}", text(after, "event"), who(after)));
        }
        let mut lines = vec![first];
        if !text(it, "reason").is_empty() {
            lines.push(format!("  reason: {}", value(it.get("reason").unwrap_or(&NOTHING))));
        }
        lines.extend(it.get("fields").map(places).unwrap_or_default().iter().map(|it| format!("  {it}")));
        lines
    }

    /// Coming timers and deadlines, the soonest first.
    fn next(&self) -> Vec<String> {
        let mut coming: Vec<&Json> = list(self.all, "timers").iter().collect();
        coming.sort_by_key(|it| text(it, "at").to_owned());
        let mut lines: Vec<String> = coming.iter().map(|it| self.step(it)).collect();
        for it in list(self.all, "requests") {
            lines.extend(
                list(it, "timers").iter().map(|timer| format!("{}: {}", entity_of(it), self.step(timer))),
            );
        }
        let timed = |event: &str| coming.iter().any(|it| text(it, "then") == event);
        for it in self.engine.iter().filter(|it| !timed(it.event)) {
            let line = format!("when its rules apply: {} → {}", it.event, it.to.join(" or "));
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    fn step(&self, it: &Json) -> String {
        let (name, at, ends) = (text(it, "name"), text(it, "at"), text(it, "dueAt"));
        let when = |at: &str| format!("{}, {}", relative(at, self.now).unwrap_or_default(), moment(at));
        let clock = match name.strip_prefix("lease.") {
            Some(slot) => format!("the lease {slot} expires"),
            None if name == self.state => format!("the deadline in {name} passes"),
            None => format!("{name} expires"),
        };
        let to = texts(it, "to").join(" or ");
        let end = match (text(it, "then"), to.as_str()) {
            ("", _) => clock,
            (then, "") => format!("{clock}, then {then}"),
            (then, to) => format!("{clock}, then {then} → {to}"),
        };
        match text(it, "step") {
            "warning" => format!("{}: warning for {name}; {}: {end}", when(at), when(ends)),
            _ => format!("{}: {end}", when(at)),
        }
    }
}

impl<'a> Move<'a> {
    fn read(all: &'a Json, way: &'a Json) -> Self {
        let event = text(way, "event");
        let is = |name: &str| way.get(name) == Some(&Json::Bool(true));
        let yours = is("permitted") && is("heard");
        let arms = list(all, "transitions").iter();
        let alone = arms.filter(|it| text(it, "event") == event).count() == 1;
        let attempt = list(all, "attempts").iter().find(|it| text(it, "event") == event);
        let accepted = attempt.is_some_and(|it| is_true(it, "accepted"));
        let mut missing = match attempt {
            Some(_) if accepted && yours => Vec::new(),
            // The refusal that a request would get.
            Some(attempt) if yours && alone => missing_in(attempt),
            _ => unmet(way),
        };
        missing.dedup();
        let (to, who, ready) = (texts(way, "to"), text(way, "who"), accepted && yours);
        let open_to_others = is("openToOthers");
        Self { event, to, who, yours, ready, open_to_others, missing }
    }

    fn needs(&self) -> String {
        match (self.missing.is_empty(), self.ready) {
            (true, true) => "nothing: you can do it now".to_owned(),
            (true, false) if self.yours => "nothing".to_owned(),
            (true, false) => "nothing, but you may not do it".to_owned(),
            (false, _) => self.missing.join("; "),
        }
    }
}

/// The callers that a rule admits, with `you` first if the caller is one of them.
fn caller(who: &str, is_you: bool) -> String {
    match (is_you, who) {
        (true, "anyone") => "anyone".to_owned(),
        (true, who) => format!("you ({who})"),
        (false, who) => who.to_owned(),
    }
}

fn missing_in(attempt: &Json) -> Vec<String> {
    let errors = list(attempt, "errors");
    let answer = errors.iter().map(|it| match text(it, "field") {
        "" => text(it, "message").to_owned(),
        field => format!("{field}: {}", text(it, "message")),
    });
    let answer: Vec<String> = answer.collect();
    if answer.is_empty() { vec![text(attempt, "detail").to_owned()] } else { answer }
}

/// Conditions that do not hold, and required fields.
fn unmet(way: &Json) -> Vec<String> {
    let is = |it: &Json, name: &str| it.get(name) == Some(&Json::Bool(true));
    // Conditions on the caller do not apply to other actors.
    let failed = list(way, "checks").iter();
    let failed = failed.filter(|it| !is(it, "passed") && (is(way, "permitted") || !is(it, "ofCaller")));
    let mut missing: Vec<String> = failed
        .map(|it| match text(it, "message") {
            "" => value(it.get("rule").unwrap_or(&NOTHING)),
            message => message.to_owned(),
        })
        .collect();
    let takes = list(way, "takes").iter().filter(|it| is_true(it, "required"));
    missing.extend(takes.map(|it| format!("{} is required", text(it, "field"))));
    if is_true(way, "needsReason") {
        missing.push("a reason is required".to_owned());
    }
    if is_true(way, "needsTarget") {
        missing.push("a target state is required".to_owned());
    }
    missing
}

/// Who has to act next, how and why, since when and until when.
fn headline(it: &Json) -> String {
    let named = |name: &str| Some(text(it, name)).filter(|it| !it.is_empty());
    let what = headline_in_words(named("actor"), named("action"), named("on"), text(it, "reason"));
    let until = named("until").map(|it| format!(", until {}", moment(it))).unwrap_or_default();
    format!("{what} Since {}{until}.", moment(text(it, "since")))
}

fn print_answer(key: &str, answer: &Explanation<'_>) {
    let heading = |title: &str| print::line(painted_data(title, Colour::Bold));
    if let Some(it) = answer.all.get("headline") {
        print::line(styled!("{}", headline(it)));
    }
    let about = Some(text(answer.all, "about")).filter(|it| !it.is_empty());
    let about = about.map(|it| format!(": {it}")).unwrap_or_default();
    print::line(styled!("{key} is {}{about}", painted_data(answer.state, Colour::Bold)));
    heading("since");
    let since = text(answer.all, "since");
    print::line(styled!("  {}, {}", moment(since), relative(since, answer.now).unwrap_or_default()));
    let arrival = answer.arrival();
    if !arrival.is_empty() {
        heading("how it got here");
        arrival.iter().for_each(|it| print::line(styled!("  {it}")));
    }
    let why = answer.why();
    heading(answer.heading(&why));
    why.iter().for_each(|it| print::line(styled!("  {it}")));
    if !answer.moves.is_empty() {
        heading(if why.iter().any(|it| it.starts_with(MOVABLE)) { "who can act" } else { "who must act" });
        answer.who().iter().for_each(|it| print::line(styled!("  {it}")));
        heading("what would move it");
        print_table(["  MOVE", "TO", "WHO MAY", "MISSING"], &answer.moves, |it| {
            [format!("  {}", it.event), it.to.join(" or "), caller(it.who, it.yours), it.needs()]
        });
    }
    let here = answer.yours_here();
    if !here.is_empty() {
        heading("what you can do without moving it");
        print::line(styled!("  {}", here.join(", ")));
    }
    let here = answer.others_here();
    if !here.is_empty() {
        heading("what others can do without moving it");
        here.iter().for_each(|it| print::line(styled!("  {it}")));
    }
    heading("what happens next");
    match answer.next() {
        some if some.is_empty() => print::line("  nothing"),
        some => some.iter().for_each(|it| print::line(styled!("  {it}"))),
    }
}
