//! A small pack, changed in one place or another, and explored.

use std::sync::Arc;

use trackside_engine::Law;
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::{Problems, Sources};
use trackside_study::explore::report::{
    ExampleRun, ExplorationReport, ExploreOptions, PromiseOutcome, explore,
};
use trackside_study::explore::search::SearchBound;
use trackside_study::explore::stage::{ExploreStage, default_stage, read_stage};
use trackside_study::explore::world::Reduce;

pub const PACK: &str = "pack: desk
version: 1
about: Work that one does and another approves.
roles: { coder: {}, lead: {} }
settings: { mostTries: 2, lease: 10m }
";

/// Work is claimed under a lease, submitted, and approved by another actor.
pub const TASK: &str = r#"lifecycle: desk.task
about: Work.
fields:
  title:  { type: string }
  author: { type: string, by: engine }
  note:   { type: string }
create: { by: human, takes: [title] }
states:
  OPEN:   { initial: true }
  DOING:  { }
  REVIEW: { deadline: { after: 1d, then: reopen } }
  STUCK:  { enter: { notify: { audience: people, message: Help } } }
  DONE:   { final: true, outcome: success }
transitions:
  claim:   { from: OPEN, to: DOING, by: coder, lease: work, set: { author: actor.id } }
  submit:  { from: DOING, to: REVIEW, by: coder, holding: work, release: [work] }
  approve: { from: REVIEW, to: DONE, by: human || (coder && actor.id != author), takes: { note: Say why } }
  reject:
    from: REVIEW
    by: human || (coder && actor.id != author)
    count: [tries]
    to: [ { when: tries > settings.mostTries, state: STUCK }, { state: OPEN } ]
  reopen:  { from: REVIEW, to: OPEN, by: engine }
  lose:    { from: DOING, to: OPEN, by: engine }
  help:    { from: STUCK, to: OPEN, by: human, reset: [tries] }
slots:
  work: { for: settings.lease, lost: lose }
counters:
  tries: { about: How often it was rejected. }
prove:
  - { says: Done work says why, never: 'state == "DONE" && note == null' }
  - { says: Rejections end, always: tries <= settings.mostTries + 1 }
  - { says: Work can be done, reachable: 'state == "DONE"' }
  - { says: Claimed work comes back by itself, eventually: 'state != "DOING"', when: 'state == "DOING"', within: 15m }
  - { says: Nobody finishes their own work, alone: coder, from: 'state == "OPEN"', to: 'state == "DONE"' }
  - { says: Nobody approves their own work, never: actor.id == author, on: approve }
"#;

pub const STAGE: &str = "stage: two at a desk
pack: desk
actors:
  hank: { human: [] }
  ada:  { agent: [coder] }
  bob:  { agent: [coder] }
given:
  - desk.task/T-1: { title: One }
";

/// The pack with the task and the stage changed, each at most once.
pub fn stage(task: &[(&str, &str)], stage: &[(&str, &str)]) -> ExploreStage {
    try_stage(task, stage).unwrap_or_else(|problems| panic!("{problems}"))
}

pub fn try_stage(task: &[(&str, &str)], stage: &[(&str, &str)]) -> Result<ExploreStage, String> {
    let mut sources = Sources::default();
    let law = law(&mut sources, task);
    let mut text = STAGE.to_owned();
    for (from, to) in stage {
        assert!(text.contains(from), "the stage has no {from}");
        text = text.replacen(from, to, 1);
    }
    let file = sources.add("stage.yaml", text);
    let mut problems = Problems::default();
    let stage = read_stage(&law, &sources, file, &mut problems);
    stage.ok_or_else(|| problems.render(&sources, false))
}

/// Without a stage file.
pub fn nobody_wrote(task: &[(&str, &str)]) -> ExploreStage {
    let law = law(&mut Sources::default(), task);
    let pack = law.packs().next().unwrap().clone();
    default_stage(&law, &pack)
}

fn law(sources: &mut Sources, task: &[(&str, &str)]) -> Arc<Law> {
    let mut text = TASK.to_owned();
    for (from, to) in task {
        assert!(text.contains(from), "the task has no {from}");
        text = text.replacen(from, to, 1);
    }
    let pack = sources.add("pack.yaml", format!("{PACK}audiences: {{ people: Everybody. }}\n"));
    let lifecycles = vec![sources.add("task.yaml", text)];
    match compile(sources, &PackFiles { pack, lifecycles }) {
        Ok((pack, _)) => Arc::new(Law::new([pack])),
        Err(problems) => panic!("{}", problems.render(sources, false)),
    }
}

pub fn explored(stage: &ExploreStage) -> ExplorationReport {
    explored_as(stage, Reduce::Mirrors, SearchBound { worlds: 3_000, depth: 12 }, 2)
}

pub fn explored_as(
    stage: &ExploreStage,
    reduce: Reduce,
    bound: SearchBound,
    threads: usize,
) -> ExplorationReport {
    explore(stage, &ExploreOptions { bound, threads, reduce, go_on: &|_| true })
}

/// The outcome of the promise whose sentence contains this.
pub fn outcome<'a>(report: &'a ExplorationReport, says: &str) -> &'a PromiseOutcome {
    &report.verdicts.iter().find(|it| it.says.contains(says)).unwrap().outcome
}

/// The story that breaks it, one line per step.
pub fn failure_lines(report: &ExplorationReport, says: &str) -> Vec<String> {
    match outcome(report, says) {
        PromiseOutcome::Broken { story, .. } => lines(story),
        other => panic!("{says}: {other:?}"),
    }
}

pub fn lines(story: &ExampleRun) -> Vec<String> {
    let steps = story.steps.iter().map(|it| format!("{} {}", it.who, it.what));
    steps.chain([story.ending.clone()]).collect()
}
