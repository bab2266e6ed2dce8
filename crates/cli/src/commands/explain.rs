//! `trackside explain`: why it is not moving, who must act, since when, what happens next and when.

use serde_json::Value as Json;

use crate::args::ExplainArgs;
use crate::moment::{list, moment, places, relative, text, texts, value};
use crate::print::{self, Colour, painted_data};
use crate::reach::{Server, Unanswered};
use crate::refused::{self, About};
use crate::route::Route;
use crate::table::Table;
use crate::{exit, moved};

pub(crate) fn run(args: &ExplainArgs) -> u8 {
    let (lifecycle, id) = match moved::named(&args.entity) {
        Ok(named) => named,
        Err(stopped) => return stopped.told(),
    };
    refused::ended(explain(args, lifecycle, id), About::entity(lifecycle, id), args.ask.json)
}

fn explain(args: &ExplainArgs, lifecycle: &str, id: &str) -> Result<u8, Unanswered> {
    let route = Route::new(&["entities", lifecycle, id, "explain"]);
    let told = Server::find(&args.ask.reach)?.acting_for(args.eyes.on_behalf.as_deref()).get(&route)?;
    if args.ask.json {
        print::line(&format!("{told:#}"));
        return Ok(exit::DONE);
    }
    tell(&args.entity, &Told::read(&told));
    Ok(exit::DONE)
}

/// What the server said, sorted for people.
struct Told<'a> {
    all: &'a Json,
    entity: &'a Json,
    now: &'a str,
    state: &'a str,
    moves: Vec<Move<'a>>,
    /// What can be done here without leaving.
    stays: Vec<Move<'a>>,
    /// What the engine alone can do, and does when its rules say so.
    engine: Vec<Move<'a>>,
}

/// A way that somebody can ask for.
struct Move<'a> {
    event: &'a str,
    to: Vec<&'a str>,
    who: &'a str,
    /// Whether the one who asks is among them, and no gate is shut to them.
    yours: bool,
    /// Whether it would be done now, with nothing more.
    ready: bool,
    /// Whether nothing but who asks stands in the way.
    open_to_others: bool,
    missing: Vec<String>,
}

const NOTHING: Json = Json::Null;

impl<'a> Told<'a> {
    fn read(all: &'a Json) -> Self {
        let entity = all.get("entity").unwrap_or(&NOTHING);
        let state = text(entity, "state");
        let ways = list(all, "transitions").iter().map(|it| Move::read(all, it));
        // What leads into the same state anew, such as a claim of what was lost, is a move, too.
        let (moves, stays): (Vec<Move>, Vec<Move>) = ways.partition(|it| !it.to.is_empty());
        let (engine, moves) = moves.into_iter().partition(|it| it.who == "engine");
        Self { all, entity, now: text(all, "now"), state, moves, stays, engine }
    }

    fn ended(&self) -> bool {
        self.entity.get("final") == Some(&Json::Bool(true))
    }

    /// What keeps it where it is, in sentences.
    fn why(&self) -> Vec<String> {
        if self.ended() {
            return vec!["It has ended: nothing moves it any more.".to_owned()];
        }
        let mut why = Vec::new();
        let gate = self.gate();
        if let Some(gate) = gate {
            let what = if self.yours_here().is_empty() {
                "Nothing that you ask of it"
            } else {
                "No move that you ask for"
            };
            why.push(format!("{what} is heard: {gate}."));
        }
        for it in list(self.all, "keptBackBy").iter().filter(|it| list(it, "openers").is_empty()) {
            let key = key_of(it);
            why.push(format!("{key} keeps it back: see why with trackside explain {key}."));
        }
        for it in list(self.entity, "leases") {
            let (slot, holder, until) = (text(it, "slot"), text(it, "holder"), text(it, "expiresAt"));
            let left = relative(until, self.now).unwrap_or_default();
            why.push(format!("{holder} holds it ({slot}) until {}, {left}.", moment(until)));
        }
        for it in list(self.all, "openEffects") {
            why.push(format!(
                "It waits for the outside: {} was asked for and is not answered.",
                text(it, "effect")
            ));
        }
        for it in texts(self.all, "broken") {
            why.push(format!("Its rule {it} is broken: see trackside violations."));
        }
        for it in list(self.all, "requests") {
            let (key, since) = (key_of(it), text(it, "since"));
            why.push(format!("It waits for a decision about {key}, asked for {}:", moment(since)));
            why.extend(it.get("fields").map(places).unwrap_or_default().iter().map(|it| format!("  {it}")));
        }
        if !list(self.all, "requests").is_empty() {
            return why;
        }
        for it in list(self.all, "claimable") {
            let left = texts(self.all, "givenTo").is_empty() || list(self.entity, "leases").is_empty();
            let nobody = if left { "It waits to be claimed" } else { "It can be claimed" };
            why.push(format!("{nobody}, with {}: by {}.", text(it, "event"), text(it, "who")));
        }
        let yours = self.moves.iter().any(|it| it.ready);
        // Whoever could only do something else with what waits to be claimed is not who it waits for.
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
            (true, _, _) => "Nobody can ask for a move from here: it goes on by itself.".to_owned(),
            (_, true, _) => "Nobody has asked for a move yet, and you can.".to_owned(),
            (_, _, true) => "It waits for somebody else to ask for a move.".to_owned(),
            _ if possible => {
                format!("You may move it, and others too; of yours is missing: {}.", self.misses())
            }
            _ => format!("Every move from here still misses something: {}.", self.misses()),
        });
        why
    }

    /// Events by which it can be claimed.
    fn claims(&self) -> Vec<&'a str> {
        list(self.all, "claimable").iter().map(|it| text(it, "event")).collect()
    }

    /// What is missing, of what the one who asks may do, else of all; each once.
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

    /// The gate that is closed to the one who asks, if nothing gets through.
    fn gate(&self) -> Option<&'a str> {
        let attempts = list(self.all, "attempts");
        let shut = |it: &&Json| text(it, "code") == "gate-closed";
        let through = attempts.iter().any(|it| it.get("accepted") == Some(&Json::Bool(true)));
        attempts.iter().find(shut).filter(|_| !through).map(|it| text(it, "detail").trim_end_matches('.'))
    }

    /// Who can bring it forward: whoever it is given to or held by, then you, then whoever else the rules name.
    fn who(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for it in list(self.all, "requests") {
            for decider in list(it, "deciders") {
                let you = if decider.get("permitted") == Some(&Json::Bool(true)) { " (you)" } else { "" };
                all.push(format!("{}{you}: {} {}", text(decider, "who"), text(decider, "event"), key_of(it)));
            }
        }
        for it in list(self.all, "keptBackBy") {
            for opener in list(it, "openers") {
                let you = if opener.get("permitted") == Some(&Json::Bool(true)) { " (you)" } else { "" };
                all.push(format!("{}{you}: {} {}", text(opener, "who"), text(opener, "event"), key_of(it)));
            }
        }
        for it in list(self.all, "claimable") {
            let you = self.moves.iter().any(|way| way.yours && way.event == text(it, "event"));
            let you = if you { " (you)" } else { "" };
            all.push(format!("{}{you}: {}", text(it, "who"), text(it, "event")));
        }
        let holders = list(self.entity, "leases").iter().map(|it| (text(it, "holder"), "holds it"));
        // Whoever no move would hear cannot help, though it is theirs.
        let assigned = texts(self.all, "ableToAct").into_iter().map(|it| (it, "it is given to them"));
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
        let told = |it: &&Move<'_>| !it.yours && !claims.contains(&it.event);
        let mut others: Vec<&str> = self.moves.iter().filter(told).map(|it| it.who).collect();
        others.sort_unstable();
        others.dedup();
        for who in others {
            let theirs = events(&mut self.moves.iter().filter(|it| told(it) && it.who == who));
            all.push(format!("{who}: {theirs}"));
        }
        all
    }

    /// What can be done without moving it by the one who asks.
    fn yours_here(&self) -> Vec<&'a str> {
        let mut here: Vec<&str> = self.stays.iter().filter(|it| it.yours).map(|it| it.event).collect();
        here.sort_unstable();
        here.dedup();
        here
    }

    /// The same by others, as far as nothing else stands in the way: who, and what.
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

    /// The move that led here, and what came with it.
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

    /// What happens by itself, the soonest first.
    fn next(&self) -> Vec<String> {
        let mut coming: Vec<&Json> = list(self.all, "timers").iter().collect();
        coming.sort_by_key(|it| text(it, "at").to_owned());
        let mut lines: Vec<String> = coming.iter().map(|it| self.step(it)).collect();
        for it in list(self.all, "requests") {
            lines.extend(
                list(it, "timers").iter().map(|timer| format!("{}: {}", key_of(it), self.step(timer))),
            );
        }
        let timed = |event: &str| coming.iter().any(|it| text(it, "then") == event);
        for it in self.engine.iter().filter(|it| !timed(it.event)) {
            let line = format!("when its rules say so: {} → {}", it.event, it.to.join(" or "));
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
            Some(slot) => format!("the lease of {slot} runs out"),
            None if name == self.state => format!("its time in {name} is over"),
            None => format!("{name} is over"),
        };
        let to = texts(it, "to").join(" or ");
        let end = match (text(it, "then"), to.as_str()) {
            ("", _) => clock,
            (then, "") => format!("{clock}, then {then}"),
            (then, to) => format!("{clock}, then {then} → {to}"),
        };
        match text(it, "step") {
            "warning" => format!("{}: a warning of {name}; {}: {end}", when(at), when(ends)),
            _ => format!("{}: {end}", when(at)),
        }
    }
}

/// The name of an entity that is told of.
fn key_of(it: &Json) -> String {
    format!("{}/{}", text(it, "lifecycle"), text(it, "id"))
}

impl<'a> Move<'a> {
    fn read(all: &'a Json, way: &'a Json) -> Self {
        let event = text(way, "event");
        let is = |name: &str| way.get(name) == Some(&Json::Bool(true));
        let yours = is("permitted") && is("heard");
        let arms = list(all, "transitions").iter();
        let alone = arms.filter(|it| text(it, "event") == event).count() == 1;
        let attempt = list(all, "attempts").iter().find(|it| text(it, "event") == event);
        let accepted = attempt.is_some_and(|it| it.get("accepted") == Some(&Json::Bool(true)));
        let mut missing = match attempt {
            Some(_) if accepted && yours => Vec::new(),
            // What a request would be told, to the last condition.
            Some(attempt) if yours && alone => told_missing(attempt),
            _ => unmet(way),
        };
        missing.dedup();
        let (to, who, ready) = (texts(way, "to"), text(way, "who"), accepted && yours);
        let open_to_others = is("openToOthers");
        Self { event, to, who, yours, ready, open_to_others, missing }
    }

    fn needs(&self) -> String {
        match (self.missing.is_empty(), self.ready) {
            (true, true) => "nothing: ask for it".to_owned(),
            (true, false) if self.yours => "nothing".to_owned(),
            (true, false) => "nothing but somebody who may".to_owned(),
            (false, _) => self.missing.join("; "),
        }
    }
}

fn told_missing(attempt: &Json) -> Vec<String> {
    let errors = list(attempt, "errors");
    let told = errors.iter().map(|it| match text(it, "field") {
        "" => text(it, "message").to_owned(),
        field => format!("{field}: {}", text(it, "message")),
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { vec![text(attempt, "detail").to_owned()] } else { told }
}

/// Conditions that do not hold, and what must be brought.
fn unmet(way: &Json) -> Vec<String> {
    let is = |it: &Json, name: &str| it.get(name) == Some(&Json::Bool(true));
    // What is missing of the one who asks need not be missing of those who may.
    let failed = list(way, "checks").iter();
    let failed = failed.filter(|it| !is(it, "passed") && (is(way, "permitted") || !is(it, "ofCaller")));
    let mut missing: Vec<String> = failed
        .map(|it| match text(it, "message") {
            "" => value(it.get("rule").unwrap_or(&NOTHING)),
            message => message.to_owned(),
        })
        .collect();
    let takes = list(way, "takes").iter().filter(|it| it.get("required") == Some(&Json::Bool(true)));
    missing.extend(takes.map(|it| format!("{} must be given", text(it, "field"))));
    if way.get("needsReason") == Some(&Json::Bool(true)) {
        missing.push("a reason must be given".to_owned());
    }
    if way.get("needsTarget") == Some(&Json::Bool(true)) {
        missing.push("to must be given".to_owned());
    }
    missing
}

fn tell(key: &str, told: &Told<'_>) {
    let heading = |title: &str| print::line(&painted_data(title, Colour::Bold));
    let about = Some(text(told.all, "about")).filter(|it| !it.is_empty());
    let about = about.map(|it| format!(": {it}")).unwrap_or_default();
    print::line(&format!("{key} is {}{about}", painted_data(told.state, Colour::Bold)));
    heading("since when");
    let since = text(told.all, "since");
    print::line(&format!("  {}, {}", moment(since), relative(since, told.now).unwrap_or_default()));
    let arrival = told.arrival();
    if !arrival.is_empty() {
        heading("how it came here");
        arrival.iter().for_each(|it| print::line(&format!("  {it}")));
    }
    heading("why it is not moving");
    told.why().iter().for_each(|it| print::line(&format!("  {it}")));
    if !told.moves.is_empty() {
        heading("who must act");
        told.who().iter().for_each(|it| print::line(&format!("  {it}")));
        heading("what would move it");
        let mut table = Table::new(&["  MOVE", "TO", "WHO MAY", "WHAT IS MISSING"]);
        for it in &told.moves {
            let who = if it.yours { format!("{} (you)", it.who) } else { it.who.to_owned() };
            table.row([format!("  {}", it.event), it.to.join(" or "), who, it.needs()]);
        }
        table.show();
    }
    let here = told.yours_here();
    if !here.is_empty() {
        heading("what you can do without moving it");
        print::line(&format!("  {}", here.join(", ")));
    }
    let here = told.others_here();
    if !here.is_empty() {
        heading("what others can do without moving it");
        here.iter().for_each(|it| print::line(&format!("  {it}")));
    }
    heading("what happens next by itself");
    match told.next() {
        some if some.is_empty() => print::line("  nothing"),
        some => some.iter().for_each(|it| print::line(&format!("  {it}"))),
    }
}
