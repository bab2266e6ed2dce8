//! Prints the result of an exploration.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value as Json, json};
use trackside_study::explore::report::{ExampleRun, ExplorationReport, PromiseOutcome};
use trackside_study::explore::search::Stopped;

use crate::print::{self, Colour, painted_data};
use crate::stories;
use crate::styled::Styled;

/// Width of a sequence in the terminal.
const WIDTH: usize = 110;

/// Options for printing a report.
pub(crate) struct ReportPrinting<'a> {
    pub(crate) pack: &'a str,
    /// How long it took, if it was explored for itself.
    pub(crate) seconds: Option<f64>,
    /// Only promises whose sentence contains this.
    pub(crate) promise: Option<&'a str>,
    /// Also print which states and transitions were reached.
    pub(crate) coverage: bool,
    /// Also draw counterexamples as sequences.
    pub(crate) sequence: bool,
    /// The limit that ended it, if the bound did not.
    pub(crate) spent: &'a str,
    /// Folder for sequence diagrams of counterexamples.
    pub(crate) draw: Option<&'a Path>,
}

/// Whether a promise is broken or a surprise was found.
pub(crate) fn fails(report: &ExplorationReport) -> bool {
    !report.surprises.is_empty()
        || report
            .verdicts
            .iter()
            .any(|it| matches!(it.outcome, PromiseOutcome::Broken { .. } | PromiseOutcome::NoAnswer { .. }))
}

/// A report for machines.
pub(crate) fn to_json(pack: &str, report: &ExplorationReport, seconds: Option<f64>) -> Json {
    let mut json = serde_json::to_value(report).unwrap_or_default();
    if let Json::Object(map) = &mut json {
        map.insert("pack".to_owned(), json!(pack));
        if let Some(seconds) = seconds {
            map.insert("seconds".to_owned(), json!(seconds));
        }
        // Without a bound on worlds there is none to name.
        if report.worlds == usize::MAX {
            map.remove("worlds");
        }
        if report.depth == u32::MAX {
            map.remove("depth");
        }
        map.insert("bound".to_owned(), bound_json(std::iter::once(report)));
    }
    json
}

/// The extent of the search, in a sentence.
pub(crate) fn bound(report: &ExplorationReport, spent: &str) -> String {
    let progress = report.progress;
    match report.stopped {
        Stopped::Exhausted => {
            format!("Every {} was seen.", if is_whole(report) { ALL } else { SAMPLED })
        }
        Stopped::Worlds => {
            format!(
                "Explored every sequence of up to {}; longer ones only in part.",
                many(progress.depth, "move")
            )
        }
        Stopped::Depth => {
            format!("Explored every sequence of up to {}.", many(report.depth, "move"))
        }
        Stopped::Asked => {
            format!(
                "Stopped at the {spent} limit. Explored every sequence of up to {}; longer ones only in part.",
                many(progress.depth, "move")
            )
        }
    }
}

/// `1 move`, `3 moves`.
fn many(n: u32, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

/// The numbers of a search.
pub(crate) fn worlds(report: &ExplorationReport) -> String {
    let (wide, directed) = (report.progress, report.directed);
    let mut text = format!("{} worlds, {} moves", wide.worlds, wide.moves);
    if directed.worlds > 0 {
        text.push_str(&format!("; {} worlds towards the promises", directed.worlds));
    }
    text
}

/// How far every sequence was explored, over several stages, as the end of a sentence.
pub(crate) fn extent<'a>(reports: impl Iterator<Item = &'a ExplorationReport> + Clone) -> String {
    match reports.clone().filter_map(moves_covered).min() {
        Some(moves) => format!("in {}", many(moves, "move")),
        None => format!("and every {} was seen", if reports.clone().all(is_whole) { ALL } else { SAMPLED }),
    }
}

/// What an exhaustive search has seen.
const ALL: &str = "reachable state";
/// The same, if not all values that could be sent were sent.
const SAMPLED: &str = "state that the sample values reach";

/// The bound of a verdict for machines: the length of the sequences that were all explored, and whether that was everything.
pub(crate) fn bound_json<'a>(reports: impl Iterator<Item = &'a ExplorationReport>) -> Json {
    let all: Vec<&ExplorationReport> = reports.collect();
    let moves = all.iter().filter_map(|it| moves_covered(it)).min();
    json!({ "moves": moves, "complete": !all.is_empty() && all.iter().all(|it| is_whole(it)) })
}

/// Every promise with its verdict over several stages, and the bound of the verdict, for machines.
pub(crate) fn promises_json<'a>(reports: impl Iterator<Item = &'a ExplorationReport> + Clone) -> Json {
    let promises = by_promise(reports.clone()).into_iter().map(|((lifecycle, index, says), outcomes)| {
        let any = |wanted: fn(&PromiseOutcome) -> bool| outcomes.iter().any(|(_, it)| wanted(it));
        let verdict =
            if any(|it| matches!(it, PromiseOutcome::Broken { .. } | PromiseOutcome::NoAnswer { .. })) {
                "broken"
            } else if any(|it| matches!(it, PromiseOutcome::Reached { .. })) {
                "reached"
            } else if any(|it| matches!(it, PromiseOutcome::Held)) {
                "held"
            } else {
                "not-seen"
            };
        // Stages without an entity of the lifecycle tell nothing.
        let played = reports.clone().filter(|report| {
            let own =
                report.verdicts.iter().find(|it| it.lifecycle.as_str() == lifecycle && it.index == index);
            own.is_some_and(|it| !matches!(it.outcome, PromiseOutcome::NotPlayed))
        });
        json!({ "lifecycle": lifecycle, "says": says, "verdict": verdict, "bound": bound_json(played) })
    });
    promises.collect()
}

/// Whether the search was exhaustive, with every transition and every value.
fn is_whole(report: &ExplorationReport) -> bool {
    report.stopped == Stopped::Exhausted && report.unasked.is_empty() && report.cut.is_empty()
}

/// The outcome of promises over several stages.
pub(crate) struct PromiseTally {
    pub(crate) all: usize,
    pub(crate) hold: usize,
    pub(crate) broken: usize,
    /// Not reached within the bound, or no entity that it applies to.
    pub(crate) unseen: usize,
    /// Stages may find the same one.
    pub(crate) surprises: usize,
}

/// The length of the longest sequences that were all explored; none if everything that can happen was.
pub(crate) fn moves_covered(report: &ExplorationReport) -> Option<u32> {
    match report.stopped {
        Stopped::Exhausted => None,
        Stopped::Depth => Some(report.depth),
        Stopped::Worlds | Stopped::Asked => Some(report.progress.depth),
    }
}

pub(crate) fn tally<'a>(reports: impl Iterator<Item = &'a ExplorationReport> + Clone) -> PromiseTally {
    let surprises = reports.clone().map(|it| it.surprises.len()).sum();
    let mut tally = PromiseTally { all: 0, hold: 0, broken: 0, unseen: 0, surprises };
    for outcomes in by_promise(reports).into_values() {
        tally.all += 1;
        let any = |wanted: fn(&PromiseOutcome) -> bool| outcomes.iter().any(|(_, it)| wanted(it));
        if any(|it| matches!(it, PromiseOutcome::Broken { .. } | PromiseOutcome::NoAnswer { .. })) {
            tally.broken += 1;
        } else if any(|it| matches!(it, PromiseOutcome::Held | PromiseOutcome::Reached { .. })) {
            tally.hold += 1;
        } else {
            tally.unseen += 1;
        }
    }
    tally
}

/// Promises without support: unreachable although a stage was explored exhaustively, or no stage has an entity they
/// apply to.
pub(crate) fn unreached<'a>(reports: impl Iterator<Item = &'a ExplorationReport>) -> Vec<String> {
    let mut found = Vec::new();
    for ((lifecycle, _, says), outcomes) in by_promise(reports) {
        let any = |wanted: fn(&(bool, &PromiseOutcome)) -> bool| outcomes.iter().any(wanted);
        let reached = any(|(_, it)| matches!(it, PromiseOutcome::Reached { .. }));
        let sure = any(|(whole, it)| *whole && matches!(it, PromiseOutcome::NotReached));
        let partly = any(|(whole, it)| !*whole && matches!(it, PromiseOutcome::NotReached));
        if outcomes.iter().all(|(_, it)| matches!(it, PromiseOutcome::NotPlayed)) {
            found.push(format!("{lifecycle} {says}: no stage has a {lifecycle}; add one to a stage"));
        } else if sure && !reached && !partly {
            found.push(format!("{lifecycle} {says}: never happens in the explored stages"));
        }
    }
    found
}

/// A promise: lifecycle, place and sentence.
type Key<'a> = (&'a str, usize, &'a str);

/// The outcomes of every promise, and whether the stage was followed to the end.
fn by_promise<'a>(
    reports: impl Iterator<Item = &'a ExplorationReport>,
) -> BTreeMap<Key<'a>, Vec<(bool, &'a PromiseOutcome)>> {
    let mut all: BTreeMap<Key<'a>, Vec<(bool, &'a PromiseOutcome)>> = BTreeMap::new();
    for report in reports {
        let whole = is_whole(report);
        for verdict in &report.verdicts {
            let key = (verdict.lifecycle.as_str(), verdict.index, verdict.says.as_str());
            all.entry(key).or_default().push((whole, &verdict.outcome));
        }
    }
    all
}

pub(crate) fn show(report: &ExplorationReport, shown: &ReportPrinting<'_>) {
    print::line(styled!(
        "{} · {}",
        painted_data(shown.pack, Colour::Bold),
        painted_data(report.stage.as_str(), Colour::Bold)
    ));
    if !report.about.is_empty() {
        print::line(styled!("  {}", report.about));
    }
    print::line(styled!(
        "  {}{}. {}",
        worlds(report),
        shown.seconds.map(|it| format!(" in {it:.2} s")).unwrap_or_default(),
        bound(report, shown.spent)
    ));
    if !report.mirrors.is_empty() {
        let groups: Vec<String> = report.mirrors.iter().map(|it| it.join(" = ")).collect();
        print::line(styled!("  symmetric, counted once: {}", groups.join(", ")));
    }
    let whole = is_whole(report);
    for verdict in &report.verdicts {
        if shown.promise.is_some_and(|it| !verdict.says.contains(it)) {
            continue;
        }
        let head = |mark: Styled| styled!("  {mark} {} {}", verdict.lifecycle, verdict.says);
        match &verdict.outcome {
            PromiseOutcome::Held => {
                let word = if whole { "proved  " } else { "held    " };
                let extent = extent(std::iter::once(report));
                print::line(styled!(
                    "{}: no counterexample {extent}",
                    head(painted_data(word, Colour::Green))
                ));
            }
            PromiseOutcome::Reached { steps } => {
                print::line(styled!("{} ({steps} steps)", head(painted_data("reached ", Colour::Green))));
            }
            PromiseOutcome::NotReached if whole => print::line(head(painted_data("NEVER   ", Colour::Red))),
            PromiseOutcome::NotReached => print::line(head(painted_data("not seen", Colour::Bold))),
            PromiseOutcome::NotPlayed => print::line(head(painted_data("not here", Colour::Dim))),
            PromiseOutcome::NotLooked => print::line(head(painted_data("not seen", Colour::Bold))),
            PromiseOutcome::Broken { story: it, shortest } => {
                print::line(head(painted_data("BROKEN  ", Colour::Red)));
                story(it, &verdict.says, *shortest, shown.sequence);
            }
            PromiseOutcome::NoAnswer { story: it, shortest } => {
                print::line(head(painted_data("NO ANSWER", Colour::Red)));
                story(it, &verdict.says, *shortest, shown.sequence);
            }
        }
    }
    for it in &report.surprises {
        print::line(styled!("  {} {}: {}", painted_data("SURPRISE", Colour::Red), it.lifecycle, it.says));
        story(&it.story, it.says, it.shortest, shown.sequence);
    }
    if shown.coverage {
        coverage(report);
    }
    if let Some(folder) = shown.draw {
        match stories::write(folder, shown.pack, report) {
            Ok(files) => files.iter().for_each(|it| print::message(styled!("wrote {}", it.display()))),
            Err(why) => print::message(&why),
        }
    }
}

fn coverage(report: &ExplorationReport) {
    for it in report.covered.iter().filter(|it| it.states > 0) {
        let missed = it.states_missed.iter().chain(&it.transitions_missed);
        let missed: Vec<&str> = missed.map(|it| it.as_str()).collect();
        let missed =
            if missed.is_empty() { String::new() } else { format!("; not reached: {}", missed.join(", ")) };
        print::line(painted_data(
            styled!(
                "  reached  {} {} of {} states, {} of {} transitions{missed}",
                it.lifecycle,
                it.states,
                it.of_states,
                it.transitions,
                it.of_transitions
            ),
            Colour::Dim,
        ));
    }
    let absent: Vec<&str> =
        report.covered.iter().filter(|it| it.states == 0).map(|it| it.lifecycle.as_str()).collect();
    if !absent.is_empty() {
        print::line(painted_data(styled!("  not here {}", absent.join(", ")), Colour::Dim));
    }
    if !report.cut.is_empty() {
        let line = format!("  explored with only some of the possible values: {}", report.cut.join(", "));
        print::line(painted_data(&line, Colour::Dim));
    }
    let line = format!("  {} steps stored, replayed and sent a second time", report.restarts);
    print::line(painted_data(&line, Colour::Dim));
    if !report.left_out.is_empty() {
        let line = format!("  excluded by this stage: {}", report.left_out.join(", "));
        print::line(painted_data(&line, Colour::Dim));
    }
    if !report.unasked.is_empty() {
        let list = report.unasked.join(", ");
        let line =
            format!("  never fired, because no sample values are known (add them under `asks`): {list}");
        print::line(painted_data(&line, Colour::Dim));
    }
}

/// A run, step by step.
fn story(story: &ExampleRun, title: &str, shortest: bool, drawn: bool) {
    if !story.given.is_empty() {
        print::line(painted_data(styled!("    given  {}", story.given.join(", ")), Colour::Dim));
    }
    for (n, step) in story.steps.iter().enumerate() {
        print::line(styled!("    {:>2}. {} {}", n + 1, step.who, step.what));
        for it in &step.then {
            print::line(painted_data(styled!("          {} {}", it.entity, it.what), Colour::Dim));
        }
    }
    print::line(styled!("    so     {}", story.ending));
    if !shortest {
        print::line(painted_data(
            "    a shorter story may exist: not every shorter sequence was explored",
            Colour::Dim,
        ));
    }
    if drawn {
        for line in stories::sequence(title, story).text(WIDTH).plain().lines() {
            print::line(styled!("    {line}"));
        }
    }
}
