//! `trackside hook test`: what the policy says to a list of tool calls.

use std::io::Read as _;

use serde::Serialize;
use serde_json::json;
use trackside_protocol::{Evaluate, PolicyJudgement};

use super::hook::act;
use crate::args::HookTestArgs;
use crate::folder::CliError;
use crate::refused::{self, CommandSubject};
use crate::server_lookup::{RequestError, ServerConnection};
use crate::table::print_table;
use crate::url::ApiPath;
use crate::{exit, print};

/// The line that states the outcome of the calls after it.
const EXPECT: &str = "# expect:";
/// The outcomes of a policy.
const OUTCOMES: [&str; 3] = ["allow", "approve", "deny"];

pub(crate) fn run(args: &HookTestArgs) -> u8 {
    refused::finish(test(args), CommandSubject::default(), args.ask.json)
}

/// A call of the file.
#[derive(Debug, PartialEq)]
struct ListedCall {
    line: usize,
    /// The line as it is written.
    text: String,
    tool: String,
    arguments: serde_json::Value,
    expected: Option<&'static str>,
}

/// A call with the judgement of the policy.
#[derive(Serialize)]
struct JudgedCall {
    line: usize,
    call: String,
    outcome: String,
    level: String,
    rule: Option<String>,
    why: String,
    expected: Option<&'static str>,
}

impl JudgedCall {
    fn is_as_expected(&self) -> bool {
        self.expected.is_none_or(|it| it == self.outcome)
    }
}

fn test(args: &HookTestArgs) -> Result<u8, RequestError> {
    let calls = read(args).map_err(CliError::usage)?;
    let server = ServerConnection::find(&args.ask.reach)?;
    let mut judged = Vec::new();
    for call in calls {
        let asked = Evaluate {
            action: call.tool,
            arguments: call.arguments,
            role: args.role.clone(),
            pack: args.pack.clone(),
            entity: args.entity.clone(),
        };
        let answer = server.post(&ApiPath::new(&["policy", "evaluate"]), &asked)?;
        let answer: PolicyJudgement = serde_json::from_value(answer)
            .map_err(|it| CliError::unreachable(format!("The server's answer cannot be read: {it}")))?;
        judged.push(JudgedCall {
            line: call.line,
            call: call.text,
            outcome: answer.outcome,
            level: answer.level,
            rule: answer.rule,
            why: answer.why,
            expected: call.expected,
        });
    }
    let different = judged.iter().filter(|it| !it.is_as_expected()).count();
    if args.ask.json {
        print::json(&json!({ "calls": judged, "different": different }));
    } else {
        print_table(["OUTCOME", "LEVEL", "CALL", "RULE", "WHY"], &judged, |it| {
            let outcome = match it.expected.filter(|_| !it.is_as_expected()) {
                Some(expected) => format!("{}, not {expected}", it.outcome),
                None => it.outcome.clone(),
            };
            let rule = it.rule.clone().unwrap_or_else(|| "-".to_owned());
            [outcome, it.level.clone(), it.call.clone(), rule, it.why.clone()]
        });
        let allowed = judged.iter().filter(|it| it.outcome == "allow").count();
        print::message(styled!("{allowed} of {} allowed, {different} not as expected", judged.len()));
    }
    Ok(if different == 0 { exit::DONE } else { exit::REFUSED })
}

fn read(args: &HookTestArgs) -> Result<Vec<ListedCall>, String> {
    let shown = args.file.display();
    let text = if args.file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(&args.file)
    };
    listed(&text.map_err(|it| format!("Cannot read {shown}: {it}"))?).map_err(|it| format!("{shown}:{it}"))
}

/// The calls of a text, one on each line.
fn listed(text: &str) -> Result<Vec<ListedCall>, String> {
    let (mut calls, mut expected) = (Vec::new(), None);
    for (number, line) in (1..).zip(text.lines()) {
        let line_text = line.trim();
        if let Some(word) = line_text.strip_prefix(EXPECT) {
            let word = word.trim();
            let known = OUTCOMES.into_iter().find(|it| *it == word);
            expected =
                Some(known.ok_or_else(|| format!("{number}: expect allow, approve or deny, not `{word}`"))?);
            continue;
        }
        if line_text.is_empty() || line_text.starts_with('#') {
            continue;
        }
        let (tool, arguments) = if line_text.starts_with('{') {
            let call = act(line_text).map_err(|it| format!("{number}: {it}"))?;
            (call.tool, call.arguments)
        } else {
            ("Bash".to_owned(), json!({ "command": line_text }))
        };
        calls.push(ListedCall { line: number, text: line_text.to_owned(), tool, arguments, expected });
    }
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_commands_or_json_with_the_expected_outcome() {
        let text = "# a comment\nls -la\n\n# expect: deny\n{\"tool_name\":\"Edit\",\"tool_input\":{\"file_path\":\"a\"}}\n";
        let calls = listed(text).unwrap();
        let shown: Vec<(usize, &str, Option<&str>)> =
            calls.iter().map(|it| (it.line, it.tool.as_str(), it.expected)).collect();
        assert_eq!(shown, [(2, "Bash", None), (5, "Edit", Some("deny"))]);
        assert_eq!(calls[0].arguments, json!({ "command": "ls -la" }));
        assert_eq!(listed("# expect: maybe").unwrap_err(), "1: expect allow, approve or deny, not `maybe`");
        assert!(listed("ls\n{\"a\":1}").unwrap_err().starts_with("2: "));
    }
}
