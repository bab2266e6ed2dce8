//! What an exploration came to, for people.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value as Json, json};
use trackside_explore::report::{Outcome, Report, Story};
use trackside_explore::search::Stopped;

use crate::print::{self, Colour, painted_data};
use crate::stories;

/// How wide a story is drawn in the terminal.
const WIDTH: usize = 110;

/// How a report is shown.
pub(crate) struct Shown<'a> {
    pub(crate) pack: &'a str,
    pub(crate) seconds: f64,
    /// Only promises whose sentence contains this.
    pub(crate) promise: Option<&'a str>,
    /// Also what was seen and what was not.
    pub(crate) coverage: bool,
    /// Stories are drawn, too.
    pub(crate) sequence: bool,
    /// What ended it, if the bound did not.
    pub(crate) spent: &'a str,
    /// Where stories are written as drawings.
    pub(crate) draw: Option<&'a Path>,
}

/// Whether something is broken.
pub(crate) fn fails(report: &Report) -> bool {
    !report.surprises.is_empty()
        || report
            .verdicts
            .iter()
            .any(|it| matches!(it.outcome, Outcome::Broken { .. } | Outcome::NoAnswer { .. }))
}

/// A report for machines.
pub(crate) fn to_json(pack: &str, report: &Report, seconds: f64) -> Json {
    let mut json = serde_json::to_value(report).unwrap_or_default();
    if let Json::Object(map) = &mut json {
        map.insert("pack".to_owned(), json!(pack));
        map.insert("seconds".to_owned(), json!(seconds));
    }
    json
}

/// Why it stopped, in words.
pub(crate) fn bound(report: &Report, spent: &str) -> String {
    let progress = report.progress;
    match report.stopped {
        Stopped::Exhausted => "all that can happen here".to_owned(),
        Stopped::Worlds => {
            format!("stopped at {} worlds; all within {} moves are among them", report.worlds, progress.depth)
        }
        Stopped::Depth => {
            format!("stopped at {} moves from the start; all within them were followed", report.depth)
        }
        Stopped::Asked => {
            format!("stopped when the {spent} was spent; all within {} moves are among them", progress.depth)
        }
    }
}

/// Whether all that can happen was followed: also with what nobody knew how to ask for, and with every value.
fn is_whole(report: &Report) -> bool {
    report.stopped == Stopped::Exhausted && report.unasked.is_empty() && report.cut.is_empty()
}

/// How promises fared over several stages.
pub(crate) struct Tally {
    pub(crate) all: usize,
    pub(crate) hold: usize,
    pub(crate) broken: usize,
    /// What should be reachable was not seen, or there was nobody to look at.
    pub(crate) unseen: usize,
}

pub(crate) fn tally<'a>(reports: impl Iterator<Item = &'a Report>) -> Tally {
    let mut tally = Tally { all: 0, hold: 0, broken: 0, unseen: 0 };
    for outcomes in by_promise(reports).into_values() {
        tally.all += 1;
        let any = |wanted: fn(&Outcome) -> bool| outcomes.iter().any(|(_, it)| wanted(it));
        if any(|it| matches!(it, Outcome::Broken { .. } | Outcome::NoAnswer { .. })) {
            tally.broken += 1;
        } else if any(|it| matches!(it, Outcome::Held | Outcome::Reached { .. })) {
            tally.hold += 1;
        } else {
            tally.unseen += 1;
        }
    }
    tally
}

/// Promises that nothing speaks for: what should be reachable and is not, though a stage was followed to its end; and
/// those that no stage has anybody to look at for.
pub(crate) fn unreached<'a>(reports: impl Iterator<Item = &'a Report>) -> Vec<String> {
    let mut found = Vec::new();
    for ((lifecycle, _, says), outcomes) in by_promise(reports) {
        let any = |wanted: fn(&(bool, &Outcome)) -> bool| outcomes.iter().any(wanted);
        let reached = any(|(_, it)| matches!(it, Outcome::Reached { .. }));
        let sure = any(|(whole, it)| *whole && matches!(it, Outcome::NotReached));
        let partly = any(|(whole, it)| !*whole && matches!(it, Outcome::NotReached));
        if outcomes.iter().all(|(_, it)| matches!(it, Outcome::NotPlayed)) {
            found.push(format!(
                "{lifecycle} {says}: no stage ever has a {lifecycle}; give or create one in a stage"
            ));
        } else if sure && !reached && !partly {
            found.push(format!("{lifecycle} {says}: all that can happen was followed, and it does not"));
        }
    }
    found
}

/// A promise: lifecycle, place and sentence.
type Key<'a> = (&'a str, usize, &'a str);

/// The outcomes of every promise, and whether the stage was followed to the end.
fn by_promise<'a>(reports: impl Iterator<Item = &'a Report>) -> BTreeMap<Key<'a>, Vec<(bool, &'a Outcome)>> {
    let mut all: BTreeMap<Key<'a>, Vec<(bool, &'a Outcome)>> = BTreeMap::new();
    for report in reports {
        let whole = is_whole(report);
        for verdict in &report.verdicts {
            let key = (verdict.lifecycle.as_str(), verdict.index, verdict.says.as_str());
            all.entry(key).or_default().push((whole, &verdict.outcome));
        }
    }
    all
}

pub(crate) fn show(report: &Report, shown: &Shown<'_>) {
    let progress = report.progress;
    let rate = progress.worlds as f64 / shown.seconds.max(0.001);
    print::line(&format!(
        "{} · {}",
        painted_data(shown.pack, Colour::Bold),
        painted_data(&report.stage, Colour::Bold)
    ));
    if !report.about.is_empty() {
        print::line(&format!("  {}", report.about));
    }
    print::line(&format!(
        "  {} worlds, {} moves followed in {:.2} s ({rate:.0} worlds a second): {}",
        progress.worlds,
        progress.moves,
        shown.seconds,
        bound(report, shown.spent)
    ));
    if !report.mirrors.is_empty() {
        let groups: Vec<String> = report.mirrors.iter().map(|it| it.join(" = ")).collect();
        print::line(&format!("  mirror images count once: {}", groups.join(", ")));
    }
    let whole = is_whole(report);
    for verdict in &report.verdicts {
        if shown.promise.is_some_and(|it| !verdict.says.contains(it)) {
            continue;
        }
        let head = |mark: String| format!("  {mark} {} {}", verdict.lifecycle, verdict.says);
        match &verdict.outcome {
            Outcome::Held => {
                let word = if whole { "proved  " } else { "held    " };
                print::line(&head(painted_data(word, Colour::Green)));
            }
            Outcome::Reached { steps } => {
                print::line(&format!("{} ({steps} steps)", head(painted_data("reached ", Colour::Green))));
            }
            Outcome::NotReached if whole => print::line(&head(painted_data("NEVER   ", Colour::Red))),
            Outcome::NotReached => print::line(&head(painted_data("not seen", Colour::Bold))),
            Outcome::NotPlayed => print::line(&head(painted_data("not here", Colour::Dim))),
            Outcome::NotLooked => print::line(&head(painted_data("not seen", Colour::Bold))),
            Outcome::Broken { story: it } => {
                print::line(&head(painted_data("BROKEN  ", Colour::Red)));
                story(it, &verdict.says, shown.sequence);
            }
            Outcome::NoAnswer { story: it } => {
                print::line(&head(painted_data("NO ANSWER", Colour::Red)));
                story(it, &verdict.says, shown.sequence);
            }
        }
    }
    for it in &report.surprises {
        print::line(&format!("  {} {}: {}", painted_data("SURPRISE", Colour::Red), it.lifecycle, it.says));
        story(&it.story, it.says, shown.sequence);
    }
    if shown.coverage {
        coverage(report);
    }
    if let Some(folder) = shown.draw {
        match stories::write(folder, shown.pack, report) {
            Ok(files) => files.iter().for_each(|it| print::message(&format!("wrote {}", it.display()))),
            Err(why) => print::message(&why),
        }
    }
}

fn coverage(report: &Report) {
    for it in report.covered.iter().filter(|it| it.states > 0) {
        let missed = it.states_missed.iter().chain(&it.transitions_missed);
        let missed: Vec<&str> = missed.map(|it| it.as_str()).collect();
        let missed =
            if missed.is_empty() { String::new() } else { format!("; not seen: {}", missed.join(", ")) };
        print::line(&painted_data(
            &format!(
                "  seen     {} {} of {} states, {} of {} transitions{missed}",
                it.lifecycle, it.states, it.of_states, it.transitions, it.of_transitions
            ),
            Colour::Dim,
        ));
    }
    let absent: Vec<&str> =
        report.covered.iter().filter(|it| it.states == 0).map(|it| it.lifecycle.as_str()).collect();
    if !absent.is_empty() {
        print::line(&painted_data(&format!("  not here {}", absent.join(", ")), Colour::Dim));
    }
    if !report.cut.is_empty() {
        let line = format!("  sent with only some of the values there could be: {}", report.cut.join(", "));
        print::line(&painted_data(&line, Colour::Dim));
    }
    let line = format!("  {} steps were stored, read again and sent a second time", report.restarts);
    print::line(&painted_data(&line, Colour::Dim));
    if !report.left_out.is_empty() {
        let line = format!("  left out by this stage: {}", report.left_out.join(", "));
        print::line(&painted_data(&line, Colour::Dim));
    }
    if !report.unasked.is_empty() {
        let list = report.unasked.join(", ");
        let line = format!("  never asked for, since nobody knows what to send (say it in `asks`): {list}");
        print::line(&painted_data(&line, Colour::Dim));
    }
}

/// A run, step by step.
fn story(story: &Story, title: &str, drawn: bool) {
    if !story.given.is_empty() {
        print::line(&painted_data(&format!("    given  {}", story.given.join(", ")), Colour::Dim));
    }
    for (n, step) in story.steps.iter().enumerate() {
        print::line(&format!("    {:>2}. {} {}", n + 1, step.who, step.what));
        for it in &step.then {
            print::line(&painted_data(&format!("          {} {}", it.entity, it.what), Colour::Dim));
        }
    }
    print::line(&format!("    so     {}", story.ending));
    if drawn {
        for line in stories::sequence(title, story).text(WIDTH).plain().lines() {
            print::line(&format!("    {line}"));
        }
    }
}
