//! Every example of every help page runs, in one shell and one project.

use std::collections::{BTreeMap, BTreeSet};

use crate::ground::scratch;
use crate::program::{binary, run_command};
use crate::terminal::{Terminal, TypedCommands};

/// The commands of an example, in this order.
enum Step {
    /// Shell commands that prepare the next examples.
    Do(&'static str),
    /// The examples of a help page that have not run yet, with other ids in place of the invented ones.
    Help(&'static str, &'static [(&'static str, &'static str)]),
    /// Commands of which the nth runs until keys are pressed after some seconds, and exits with this code.
    Until(&'static str, usize, &'static str, f32, i32),
    /// Commands of which the nth exits with this code.
    Fails(&'static str, usize, i32),
    /// Commands that all exit with this code.
    EveryFails(&'static str, i32),
}

use Step::{Do, EveryFails, Fails, Help, Until};

const CTRL_C: &str = "\\x03";

const STEPS: &[Step] = &[
    Help("version", &[]),
    Help("completions", &[]),
    Do("mkdir -p ~/.local/share/man/man1"),
    Help("man", &[]),
    Help("schema", &[]),
    Help("init", &[]),
    // The project of the other examples.
    Do(
        "cd shop && git init --quiet && git add -A && git -c user.name=a -c user.email=a@b commit --quiet -m start",
    ),
    // The starter pack does not exercise all of its rules.
    Fails("test", 1, 1),
    Help("check", &[]),
    Help("pack check", &[]),
    Help("explore", &[]),
    Help("fmt", &[]),
    Help("diagram", &[]),
    Do("mkdir ../plain && cd ../plain"),
    Until("up", 0, CTRL_C, 4.0, 0),
    Until("demo", 0, CTRL_C, 3.0, 0),
    Do("cd ../shop"),
    Do("trackside up --clock manual --allow-private-webhooks 2>up.log &"),
    Do("until [ -s .trackside/address ]; do sleep 0.1; done"),
    Help("whoami", &[]),
    Help("sign-in", &[]),
    Help("clock", &[]),
    Help("lifecycles", &[]),
    Help("pack list", &[]),
    Help("pack add", &[]),
    Help("settings", &[]),
    // People and agents at work on mission.task/T-1 and T-2.
    Help("new", &[]),
    Help("fire", &[]),
    Help("show", &[]),
    Help("explain", &[]),
    // No runner has reported a change.
    EveryFails("changes", 1),
    Help("list", &[]),
    Do("trackside new build.task --id TASK-001 title=One"),
    Help("history", &[]),
    Help("messages", &[]),
    Help("notifications", &[]),
    Help("stats", &[]),
    Help("query", &[]),
    Help("violations", &[]),
    // An override raises an alert.
    Help("correct", &[]),
    Do("alert=$(trackside alerts | awk '/corrected/ {print $1}')"),
    Help("alerts", &[("41", "$alert")]),
    Help("alerts list", &[]),
    Do("trackside fire mission.task/T-1 assign assigneeIds:='[\"ada\"]'"),
    Do("trackside fire mission.task/T-1 start workPlan:='{\"bullets\":[\"a\",\"b\",\"c\"]}'"),
    Help("token create", &[]),
    Do("trackside new mission.agent --id ada name=Ada role=specialist"),
    Do(
        "ask() { trackside fire mission.task/$1 request_action action=public_post justification=due rollbackPlan=none; }",
    ),
    Do("ask T-1"),
    Do("TRACKSIDE_TOKEN= trackside new mission.task --id T-2 title=Two assigneeIds:='[\"ada\"]'"),
    Do("TRACKSIDE_TOKEN= trackside fire mission.task/T-2 assign"),
    Do("trackside fire mission.task/T-2 start workPlan:='{\"bullets\":[\"a\",\"b\",\"c\"]}' && ask T-2"),
    Help("mcp", &[]),
    Help("hook", &[]),
    Do("printf 'ls\\n# expect: deny\\nrm -rf /\\n' > commands.txt"),
    Help("hook test", &[]),
    // Two requests and an alert for the inbox.
    Do(
        "for it in T-3 T-4; do TRACKSIDE_TOKEN= trackside new mission.task --id $it title=More assigneeIds:='[\"ada\"]' && \
         TRACKSIDE_TOKEN= trackside fire mission.task/$it assign && \
         trackside fire mission.task/$it start workPlan:='{\"bullets\":[\"a\",\"b\",\"c\"]}' && ask $it; done",
    ),
    Do("unset TRACKSIDE_TOKEN"),
    Do(
        "trackside new mission.task --id T-5 title=Five assigneeIds:='[\"ada\"]' && trackside fire mission.task/T-5 assign",
    ),
    Do("trackside correct mission.task/T-5 --to INBOX --reason 'for the inbox'"),
    Do(
        "number() { trackside inbox | awk -v id=\"$1\" '$1 ~ /^[0-9]+$/ {n = $1} index($0, id) {print n; exit}'; }",
    ),
    Help("inbox", &[]),
    Help("inbox ack", &[("42", "$(number mission.task/T-5)")]),
    Help("inbox approve", &[("42", "$(number 'approval of mission.approval/T-3.')")]),
    Help("inbox deny", &[("42", "$(number 'approval of mission.approval/T-4.')")]),
    Help("approvals", &[]),
    Help("approvals list", &[]),
    // The approval of T-1 needs a second person.
    Help("wait", &[("T-1.A1", "T-2.A1")]),
    Help("token list", &[]),
    Do("token=$(trackside token list | awk '$2 == \"ada\" {print $1}')"),
    Help("token revoke", &[("0f1e2d3c4b5a", "$token")]),
    Help("token rotate", &[]),
    Help("audit sign-ins", &[]),
    Do(
        "printf 'members: [ada]\\naddresses: { phone: { channel: ntfy, values: { topic: x, server: \"http://127.0.0.1:9\" } } }\\n' > audience.yaml",
    ),
    Help("audience set", &[]),
    Help("audience list", &[]),
    Help("delivery list", &[]),
    Fails("delivery test", 0, 1),
    Help("webhook add", &[]),
    Help("webhook list", &[]),
    Do("webhook=$(trackside webhook list --json | grep '\"id\"' | cut -d '\"' -f 4)"),
    Help("webhook deliveries", &[("0f1e2d3c4b5a", "$webhook")]),
    Help("webhook replay", &[("0f1e2d3c4b5a", "$webhook")]),
    Help("webhook remove", &[("0f1e2d3c4b5a", "$webhook")]),
    // A coder takes coding.task/T-1.
    Do("export TRACKSIDE_TOKEN=$(trackside token create planner --kind agent --role coding:planner)"),
    Do("trackside new coding.goal --id parser description='A faster parser'"),
    Do("trackside new coding.sprint --id week-1 goal_ref=parser"),
    Do(
        "trackside new coding.task --id T-1 description=Read priority:=1 spec_ref=a.md done_when=ok scope=src sprint_id=week-1",
    ),
    Do("trackside fire coding.task/T-1 finalize && unset TRACKSIDE_TOKEN"),
    Do("export TRACKSIDE_TOKEN=$(trackside token create c1 --kind agent --role coding:coder)"),
    Do("trackside new coding.agent --id c1 role=coder"),
    Help("claim", &[]),
    Help("heartbeat", &[]),
    Do("unset TRACKSIDE_TOKEN"),
    // A runner and a run of an agent.
    Do("export TRACKSIDE_TOKEN=$(trackside token create host-1 --kind agent --role fleet:agent_runner)"),
    Do("trackside new fleet.runner --id host-1 machine=here"),
    Do("trackside new fleet.run --id R-1 agent=c1 runner=host-1 adapter=claude entity=coding.task/T-1"),
    Do("trackside fire fleet.run/R-1 started && unset TRACKSIDE_TOKEN"),
    // There is nothing to claim.
    Do("printf '#!/bin/sh\\nexit 0\\n' >agent.sh && chmod +x agent.sh && cp agent.sh fix-it.sh"),
    EveryFails("work", 1),
    Help("supervise", &[]),
    Help("runs", &[]),
    Until("logs", 2, CTRL_C, 1.5, 130),
    Until("attach", 0, CTRL_C, 1.5, 130),
    Help("stop", &[]),
    Help("worktree list", &[]),
    // Nothing was saved.
    Fails("worktree restore", 0, 1),
    Help("worktree prune", &[]),
    Help("adapter list", &[]),
    Help("adapter check", &[]),
    // The claim has requested a worktree.
    Help("effects list", &[]),
    Help("effects take", &[]),
    Do("effect=$(trackside effects list | awk '/worktree.create/ {print $1}')"),
    Do("fence=$(trackside effects list --json | grep '\"fence\"' | grep -o '[0-9]*')"),
    Help("effects answer", &[("43 --fence 1", "$effect --fence $fence")]),
    Do(": >report.md"),
    Help("artifact put", &[]),
    Help("artifact get", &[]),
    Help("batch", &[]),
    Help("policy", &[]),
    Help("clock advance", &[]),
    // A manual clock is not corrected.
    Fails("clock accept", 0, 1),
    Fails("clock reset", 0, 1),
    Until("watch", 0, "q", 1.5, 0),
    Until("journal", 1, CTRL_C, 1.5, 130),
    // The project as a whole.
    Do("entry=$(trackside history mission.task/T-1 | awk 'NR == 1 {print $1}')"),
    Help("redact", &[("--entry 12", "--entry $entry")]),
    Help("audit export", &[]),
    Help("audit verify", &[]),
    Help("export", &[]),
    Do("mkdir -p .beads && for it in open closed; do \
         echo '{\"id\":\"b-'$it'\",\"title\":\"One\",\"status\":\"'$it'\",\"priority\":1}'; done > .beads/issues.jsonl"),
    Help("import", &[]),
    Help("doctor", &[]),
    Help("validate", &[]),
    Help("archive", &[]),
    Help("backup", &[]),
    Help("backup list", &[]),
    Help("restore", &[]),
    Do("trackside new shop.task --id N-1 title=One"),
    Do("trackside test packs/shop --only accepts --journal shop.jsonl"),
    Help("diff", &[]),
    Do("kill %1; wait"),
    Do(
        "sed -i 's/\\bTODO\\b/OPEN/g' packs/shop/lifecycles/task.yaml && sed -i 's/^version: 1/version: 2/' packs/shop/pack.yaml",
    ),
    Help("migrate plan", &[]),
    Help("migrate apply", &[]),
    Help("migrate undo", &[]),
    Help("bench", &[]),
];

/// The examples of each help page, by the name of the command.
fn examples() -> BTreeMap<String, Vec<String>> {
    let page = run_command(binary(&["reference"])).says(0, &[]).data.clone();
    let mut all = BTreeMap::new();
    for part in page.split("\n#").filter(|it| it.contains("# `trackside ")) {
        let name = part.split('`').nth(1).unwrap().strip_prefix("trackside ").unwrap();
        let lines = part.lines().skip_while(|it| !["Example:", "Examples:"].contains(it)).skip(1);
        let found: Vec<String> = lines.map_while(|it| it.strip_prefix("  ").map(str::to_owned)).collect();
        let is_group = part.contains(&format!("\n### `trackside {name} ")) || !part.contains("```");
        assert!(!found.is_empty() || is_group, "{name} has no example");
        all.insert(name.to_owned(), found);
    }
    assert!(all.len() > 60, "{} commands were found", all.len());
    all
}

#[test]
fn every_example_of_every_help_page_runs() {
    let terminal = Terminal::new(&scratch("examples"));
    // An agent host that starts the server it is given, and a reader of manual pages.
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    terminal.program(
        "claude",
        &format!(
            "shift 3; [ \"$1\" = -- ] || exit 9; shift; echo '{message}' | \"$@\" | grep '\"result\"'\n"
        ),
    );
    terminal.program("man", "grep '^.TH trackside'\n");
    let examples = examples();
    let mut left: BTreeMap<&str, &[String]> =
        examples.iter().map(|(name, lines)| (name.as_str(), lines.as_slice())).collect();
    let mut ran = BTreeSet::new();
    let mut typed = Vec::new();
    for step in STEPS {
        let (name, replaced, keys) = match step {
            Do(text) => {
                typed.push((TypedCommands::new(*text), 0));
                continue;
            }
            Help(name, replaced) => (*name, *replaced, None),
            Until(name, nth, keys, after, code) => {
                (*name, &[][..], Some((*nth, Some((*keys, *after)), *code)))
            }
            Fails(name, nth, code) => (*name, &[][..], Some((*nth, None, *code))),
            EveryFails(name, code) => (*name, &[][..], Some((usize::MAX, None, *code))),
        };
        let lines = left.remove(name).unwrap_or_else(|| panic!("there is no command {name}"));
        for (nth, line) in lines.iter().enumerate().filter(|(_, it)| ran.insert(it.as_str())) {
            let text = replaced.iter().fold(line.clone(), |it, (from, to)| it.replace(from, to));
            match keys.filter(|(which, ..)| [nth, usize::MAX].contains(which)) {
                Some((_, keys, code)) => typed.push((TypedCommands { text, keys }, code)),
                None => typed.push((TypedCommands::new(text), 0)),
            }
        }
    }
    left.retain(|_, lines| lines.iter().any(|it| !ran.contains(it.as_str())));
    assert!(left.is_empty(), "these examples do not run: {left:#?}");
    let all: Vec<TypedCommands> = typed.iter().map(|(it, _)| it.clone()).collect();
    let mut problems = Vec::new();
    for ((typed, code), seen) in typed.iter().zip(terminal.run(&all)) {
        if seen.code != *code {
            problems
                .push(format!("$ {}\n{}--- exit code {}, not {code}", typed.text, seen.output, seen.code));
        }
    }
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), typed.len(), problems.join("\n\n"));
}
