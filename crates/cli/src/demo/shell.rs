//! The command line: starts this program for every command.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Map, Value as Json};

use super::interface::DemoServer;
use super::request::{DemoAnswer, DemoRequest, EntityRef};

/// An actor that uses the command line.
#[derive(Debug)]
pub(super) struct Shell {
    program: PathBuf,
    url: String,
    token: String,
}

impl Shell {
    pub fn new(at: DemoServer<'_>, token: &str) -> Self {
        Self { program: at.program.to_owned(), url: at.url.to_owned(), token: token.to_owned() }
    }

    pub fn ask(&self, ask: &DemoRequest) -> Result<DemoAnswer, String> {
        let Some(mut args) = arguments(ask) else {
            return Err(format!("the command line cannot express {ask:?}"));
        };
        args.push("--json".to_owned());
        let output = self.run(&args)?;
        let (said, complained) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let code = output.status.code();
        match (serde_json::from_str::<Json>(&said), code) {
            (Ok(Json::Null), Some(1)) => Ok(DemoAnswer::Nothing),
            (Ok(answer), Some(0)) => Ok(DemoAnswer::Done(answer)),
            (Ok(answer), Some(_)) if answer.get("code").is_some() => {
                let problem = serde_json::from_value(answer).map_err(|it| it.to_string())?;
                Ok(DemoAnswer::Refused(Box::new(problem)))
            }
            _ => Err(format!("it ended with {code:?} and said: {said}{complained}")),
        }
    }

    /// The output of the command line for people.
    pub fn shown(&self, ask: &DemoRequest) -> Result<String, String> {
        let args = arguments(ask).unwrap_or_default();
        let output = self.run(&args)?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    fn run(&self, args: &[String]) -> Result<Output, String> {
        let mut command = Command::new(&self.program);
        command.args(args).env("TRACKSIDE_URL", &self.url).env("TRACKSIDE_TOKEN", &self.token);
        let output = command.env("NO_COLOR", "1").stdin(Stdio::null()).output();
        output.map_err(|it| format!("cannot start {}: {it}", self.program.display()))
    }
}

/// `$ trackside fire …`, as one would type it.
pub(super) fn words(ask: &DemoRequest) -> String {
    let args = arguments(ask).unwrap_or_default();
    let typed: Vec<String> = args.iter().map(|it| quoted(it)).collect();
    format!("$ trackside {}", typed.join(" "))
}

/// The arguments of the command; none if there is no command for it.
fn arguments(ask: &DemoRequest) -> Option<Vec<String>> {
    let mut args = Vec::new();
    let mut say = |words: &[&str]| args.extend(words.iter().map(|it| (*it).to_owned()));
    match ask {
        DemoRequest::Create { entity: EntityRef { lifecycle, id }, fields } => {
            say(&["new", lifecycle, "--id", id]);
            args.extend(fields_of(fields));
        }
        DemoRequest::Fire { entity, what } => {
            say(&["fire", &entity.to_string()]);
            args.extend(what.event.clone());
            args.extend(fields_of(&what.fields));
            args.extend(what.to.iter().flat_map(|it| ["--to".to_owned(), it.clone()]));
            args.extend(what.reason.iter().flat_map(|it| ["--reason".to_owned(), it.clone()]));
            args.extend(what.fence.iter().flat_map(|it| ["--fence".to_owned(), it.to_string()]));
        }
        DemoRequest::Claim { lifecycle, what } => {
            say(&["claim", lifecycle]);
            args.extend(what.event.clone());
            args.extend(fields_of(&what.fields));
            args.extend(what.only.iter().flat_map(|it| ["--where".to_owned(), it.clone()]));
        }
        DemoRequest::Heartbeat { entity, what } => {
            say(&["heartbeat", &entity.to_string()]);
            args.extend(what.slot.iter().flat_map(|it| ["--slot".to_owned(), it.clone()]));
            args.extend(what.fence.iter().flat_map(|it| ["--fence".to_owned(), it.to_string()]));
        }
        DemoRequest::Correct { entity, what } => {
            say(&["correct", &entity.to_string()]);
            args.extend(fields_of(&what.fields));
            args.extend(what.to.iter().flat_map(|it| ["--to".to_owned(), it.clone()]));
            args.extend(what.reason.iter().flat_map(|it| ["--reason".to_owned(), it.clone()]));
        }
        DemoRequest::Explain { entity } => say(&["explain", &entity.to_string()]),
        DemoRequest::Advance { by } => say(&["clock", "advance", by]),
        DemoRequest::Decide { .. } | DemoRequest::AnswerEffect { .. } | DemoRequest::Sweep => return None,
    }
    Some(args)
}

/// `name=text` and `name:=json`.
fn fields_of(fields: &Map<String, Json>) -> impl Iterator<Item = String> {
    fields.iter().map(|(name, value)| match value {
        // Only a value that begins with @ would be taken for a file.
        Json::String(text) if !text.starts_with('@') => format!("{name}={text}"),
        other => format!("{name}:={other}"),
    })
}

/// In quotes where a shell needs them.
fn quoted(word: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "./:=_-@,".contains(it);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    match word.split_once('=') {
        Some((name, value)) if name.chars().all(plain) => format!("{name}={}", in_quotes(value)),
        _ => in_quotes(word),
    }
}

fn in_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trackside_protocol::TransitionBody;

    use super::*;

    #[test]
    fn a_command_is_shown_as_typed() {
        let fields = json!({ "note": "it's done", "plan": ["a", "b"], "who": "ada" });
        let what = TransitionBody {
            event: Some("go".to_owned()),
            fields: fields.as_object().unwrap().clone(),
            reason: Some("why not".to_owned()),
            fence: Some(3),
            ..TransitionBody::default()
        };
        let ask = DemoRequest::Fire { entity: EntityRef::parse("x.y/1").unwrap(), what };
        let expected = r#"$ trackside fire x.y/1 go note='it'\''s done' plan:='["a","b"]' who=ada --reason 'why not' --fence 3"#;
        assert_eq!(words(&ask), expected);
    }
}
