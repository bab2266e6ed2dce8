//! The model as a definition.

use std::sync::Arc;

use trackside_engine::Law;
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::source::{Problems, Sources};
use trackside_study::explore::stage::{ExploreStage, read_stage};

const PACK: &str =
    "pack: desk\nversion: 1\nabout: Work that one does and another approves.\nroles: { coder: {} }\n";

const TASK: &str = r#"lifecycle: desk.task
about: Work.
fields: { author: { type: string, by: engine } }
create: { by: human }
states:
  OPEN:   { initial: true }
  DOING:  {}
  REVIEW: {}
  STUCK:  {}
  DONE:   { final: true, outcome: success }
transitions:
  claim:   { from: OPEN, to: DOING, by: coder, set: { author: actor.id } }
  submit:  { from: DOING, to: REVIEW, by: coder && actor.id == author }
  approve: { from: REVIEW, to: DONE, by: coder && actor.id != author }
  reject:
    from: REVIEW
    by: coder && actor.id != author
    count: [tries]
    to: [ { when: tries > 2, state: STUCK }, { state: OPEN } ]
  help:    { from: STUCK, to: OPEN, by: human, reset: [tries] }
counters: { tries: {} }
prove: [ { says: Rejections end, always: tries <= 3 } ]
"#;

/// A stage with this many open tasks.
pub(crate) fn stage(tasks: usize) -> ExploreStage {
    let mut sources = Sources::default();
    let pack = sources.add("pack.yaml", PACK);
    let lifecycles = vec![sources.add("task.yaml", TASK)];
    let given: String = (1..=tasks).map(|n| format!("  - desk.task/T-{n}: {{}}\n")).collect();
    let text = format!(
        "stage: a desk\npack: desk\nactors: {{ hank: {{ human: [] }}, ada: {{ agent: [coder] }}, bob: {{ agent: [coder] }} }}\ngiven:\n{given}"
    );
    let file = sources.add("stage.yaml", text);
    let mut problems = Problems::default();
    let stage = match compile(&sources, &PackFiles { pack, lifecycles }) {
        Ok((pack, _)) => read_stage(&Arc::new(Law::new([pack])), &sources, file, &mut problems),
        Err(found) => {
            problems.extend(found);
            None
        }
    };
    #[expect(clippy::panic, reason = "the model is part of this program")]
    stage.unwrap_or_else(|| panic!("{}", problems.render(&sources, false)))
}
