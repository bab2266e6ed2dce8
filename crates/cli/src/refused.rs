//! Refusals as people read them: every unmet condition, what is allowed instead, who may, and what to do next.

use trackside_protocol::{Problem, Unmet};

use crate::print::{self, Colour, painted};
use crate::reach::Unanswered;
use crate::{exit, moment};

/// What a command was about, so that the next step can name it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About<'a> {
    pub(crate) lifecycle: Option<&'a str>,
    pub(crate) id: Option<&'a str>,
    /// Fields that the command takes as options of the same name.
    pub(crate) options: &'static [&'static str],
}

impl<'a> About<'a> {
    pub(crate) fn lifecycle(lifecycle: &'a str) -> Self {
        Self { lifecycle: Some(lifecycle), ..Self::default() }
    }

    pub(crate) fn entity(lifecycle: &'a str, id: &'a str) -> Self {
        Self { lifecycle: Some(lifecycle), id: Some(id), ..Self::default() }
    }

    pub(crate) fn with_options(self, options: &'static [&'static str]) -> Self {
        Self { options, ..self }
    }
}

/// The exit code of a command, and what is told where it was not answered.
pub(crate) fn ended(outcome: Result<u8, Unanswered>, about: About<'_>, json: bool) -> u8 {
    match outcome {
        Ok(code) => code,
        Err(Unanswered::Stopped(stopped)) => stopped.told(),
        Err(Unanswered::Refused(problem)) => {
            if json {
                print::line(&format!("{:#}", serde_json::to_value(&*problem).unwrap_or_default()));
            }
            print::message(&shown(&problem, about));
            code(&problem)
        }
    }
}

/// What the exit code says of a refusal.
fn code(problem: &Problem) -> u8 {
    match problem.status {
        400 => exit::USAGE,
        401 | 403 => exit::FORBIDDEN,
        429 | 503 => exit::UNREACHABLE,
        _ => exit::REFUSED,
    }
}

/// The same content as over HTTP.
pub(crate) fn shown(problem: &Problem, about: About<'_>) -> String {
    told(problem, about, &painted("refused", Colour::Red))
}

/// The same behind a word of one's own.
pub(crate) fn told(problem: &Problem, about: About<'_>, word: &str) -> String {
    let mut lines = vec![format!("{word}: {}", problem.code)];
    let alone = match problem.errors.as_slice() {
        [] => true,
        [one] => one.message == problem.detail && one.field.is_none() && one.saw.is_empty(),
        _ => false,
    };
    if alone {
        lines.push(format!("  {}", problem.detail));
    } else {
        lines.extend(problem.errors.iter().map(unmet));
    }
    if !problem.allowed_transitions.is_empty() {
        lines.push(format!("allowed from here: {}", problem.allowed_transitions.join(", ")));
    }
    if let Some(who) = &problem.who {
        lines.push(format!("who may: {who}"));
    }
    if problem.kept {
        lines.push("what was sent is kept in the journal all the same".to_owned());
    }
    if let Some(next) = next(problem, about) {
        lines.push(format!("next: {next}"));
    }
    lines.join("\n")
}

fn unmet(it: &Unmet) -> String {
    let field = it.field.as_ref().map(|it| format!("{it}: ")).unwrap_or_default();
    let mut line = format!("  - {field}{} ({})", it.message, it.code);
    if !it.saw.is_empty() {
        let saw: Vec<String> =
            it.saw.iter().map(|(name, value)| format!("{name} = {}", moment::value(value))).collect();
        line.push_str(&format!("\n      it saw {}", saw.join(", ")));
    }
    line
}

/// How a field that is missing is given.
fn typed(it: &Unmet, about: About<'_>) -> Option<String> {
    let name = it.field.as_deref()?;
    match (name, it.code.as_str()) {
        (name, "missing") if name == "reason" || about.options.contains(&name) => Some(format!("--{name} …")),
        (name, "missing") => Some(format!("{name}=…")),
        (name, "too-few") => Some(format!("{name}:='[…]'")),
        _ => None,
    }
}

/// What to do next, where the refusal does not say it itself.
fn next(problem: &Problem, about: About<'_>) -> Option<String> {
    let entity = match (about.lifecycle, about.id) {
        (Some(lifecycle), Some(id)) => Some(format!("{lifecycle}/{id}")),
        _ => None,
    };
    let of = |command: &str| entity.as_ref().map(|it| format!("trackside {command} {it}"));
    let mut missing: Vec<String> = problem.errors.iter().filter_map(|it| typed(it, about)).collect();
    missing.dedup();
    let extra = problem.errors.iter().filter(|it| it.code == "unexpected-field");
    let extra: Vec<&str> = extra.filter_map(|it| it.field.as_deref()).collect();
    let sent_as_text =
        problem.errors.iter().any(|it| it.code == "wrong-type" && it.message.ends_with("this is text"));
    Some(match problem.code.as_str() {
        "unauthorized" => {
            "set TRACKSIDE_TOKEN to a token that is good here, or name the folder of the server with --data"
                .to_owned()
        }
        "not-permitted" | "gate-closed" => match of("explain") {
            Some(explain) => {
                format!("{explain} tells what you may do; trackside whoami, as whom you ask")
            }
            None => "trackside whoami tells as whom you ask".to_owned(),
        },
        "unknown-lifecycle" | "unknown-pack" => "trackside lifecycles lists what there is".to_owned(),
        "unknown-entity" => format!("trackside list {} shows those there are", about.lifecycle?),
        "unknown-event" | "no-such-edge" | "unknown-state" | "final-state" => {
            format!("{} tells what can be done now", of("explain")?)
        }
        "already-exists" => format!("{} shows the one that is there; choose another --id", of("show")?),
        "version-mismatch" => format!("look again with {}, then send its version", of("show")?),
        "stale-fence" | "lease-held" => format!("{} shows who holds it and by which fence", of("show")?),
        "cannot-redact" => {
            "say what a field becomes with --set, or name fewer entries with --entry".to_owned()
        }
        "idempotency-conflict" => "choose another --key: this one stands for another command".to_owned(),
        "journal-damaged" => {
            "keep the folder as it is and compare it with a backup: docs/operating/recovery.md".to_owned()
        }
        "overloaded" | "unavailable" | "stopping" => "try again in a moment".to_owned(),
        _ if sent_as_text => {
            "write numbers, lists and yes or no as json, with := as in count:=3 or names:='[\"ada\"]'"
                .to_owned()
        }
        _ if !missing.is_empty() || !extra.is_empty() => {
            let with = missing.join(" ");
            let how = match missing.iter().any(|it| it.contains('=')) {
                true => " (name=text, name:=json or name=@file)",
                false => "",
            };
            match (missing.is_empty(), extra.is_empty()) {
                (true, _) => format!("ask again without {}", extra.join(", ")),
                (false, true) => format!("ask again with {with}{how}"),
                (false, false) => format!("ask again without {} and with {with}{how}", extra.join(", ")),
            }
        }
        // What is wrong with what was typed is said already.
        _ if problem.status == 400 => return None,
        _ => format!("{} tells every condition", of("explain")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_taken_is_to_be_left_out_and_what_is_missing_given() {
        let unmet = |field: &str, code: &str| {
            serde_json::from_value(serde_json::json!({ "field": field, "code": code, "message": "" }))
                .unwrap()
        };
        let mut problem = Problem::new(422, "unexpected-field", "y");
        problem.errors = vec![unmet("limit", "unexpected-field")];
        assert_eq!(next(&problem, About::default()).unwrap(), "ask again without limit");
        problem.errors.push(unmet("title", "missing"));
        let both = "ask again without limit and with title=… (name=text, name:=json or name=@file)";
        assert_eq!(next(&problem, About::default()).unwrap(), both);
        problem.errors = vec![unmet("fence", "missing"), unmet("reason", "missing")];
        let beat = About::default().with_options(&["slot", "fence"]);
        assert_eq!(next(&problem, beat).unwrap(), "ask again with --fence … --reason …");
    }

    #[test]
    fn codes_say_whether_it_was_refused_forbidden_or_typed_wrongly() {
        for (status, expected) in [
            (400, exit::USAGE),
            (401, exit::FORBIDDEN),
            (403, exit::FORBIDDEN),
            (404, exit::REFUSED),
            (409, exit::REFUSED),
            (422, exit::REFUSED),
            (429, exit::UNREACHABLE),
        ] {
            assert_eq!(code(&Problem::new(status, "x", "y")), expected, "{status}");
        }
    }

    #[test]
    fn every_unmet_condition_is_told_with_what_it_saw() {
        let mut problem = Problem::new(422, "requirement-missing", "Two things are missing");
        let unmet = |field: &str, message: &str| Unmet {
            field: Some(field.to_owned()),
            message: message.to_owned(),
            code: "missing".to_owned(),
            rule: None,
            saw: [(field.to_owned(), serde_json::Value::Null)].into(),
        };
        problem.errors = vec![unmet("plan", "A plan is required"), unmet("owner", "Say whose it is")];
        problem.allowed_transitions = vec!["A".to_owned(), "B".to_owned()];
        problem.who = Some("human".to_owned());
        let text = shown(&problem, About::entity("x.y", "1"));
        let expected = "\
refused: requirement-missing
  - plan: A plan is required (missing)
      it saw plan = nothing
  - owner: Say whose it is (missing)
      it saw owner = nothing
allowed from here: A, B
who may: human
next: ask again with plan=… owner=… (name=text, name:=json or name=@file)";
        assert_eq!(text, expected);
    }
}
