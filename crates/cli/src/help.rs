//! The command line as a whole. The main help groups commands by purpose.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use trackside_lifecycle::guard::nearest;

use crate::args::Args;

/// The words that the help uses.
const TERMS: &str = "Terms:
  entity         A piece of work with a state, such as the task mission.task/T-1
  lifecycle      The states and events of one kind of entity, and who may fire the events
  pack           A set of lifecycles that is installed as one";

/// The groups of the main help, each with its commands.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["up", "demo", "init", "sign-in"]),
    ("Change entities", &["new", "fire", "claim", "heartbeat", "wait", "batch", "correct"]),
    (
        "Inspect entities",
        &["show", "list", "explain", "changes", "history", "messages", "watch", "query", "stats", "journal"],
    ),
    (
        "Run and connect agents",
        &[
            "work",
            "supervise",
            "runs",
            "logs",
            "attach",
            "stop",
            "worktree",
            "adapter",
            "mcp",
            "hook",
            "policy",
            "effects",
            "artifact",
        ],
    ),
    (
        "Requests, alerts and violations",
        &["inbox", "approvals", "alerts", "notifications", "violations", "validate"],
    ),
    ("Write lifecycles", &["check", "test", "diagram", "diff", "explore", "fmt", "schema"]),
    (
        "Packs, access and time",
        &[
            "lifecycles",
            "pack",
            "settings",
            "migrate",
            "token",
            "webhook",
            "audience",
            "delivery",
            "whoami",
            "clock",
        ],
    ),
    (
        "Maintain a project",
        &["doctor", "audit", "backup", "restore", "archive", "export", "import", "redact", "bench"],
    ),
    ("The program", &["completions", "man", "version", "help"]),
];

/// The definition of the command line.
pub(crate) fn command() -> clap::Command {
    let command = Args::command();
    let template = format!(
        "{{about-with-newline}}\n{TERMS}\n\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        grouped(&command)
    );
    command.help_template(template)
}

/// The command line for people: `-h` and `--help` print the same, and explained values are in the help of their option.
///
/// Clap would print every command with such an option in a long form for `--help`.
pub(crate) fn explained_command() -> clap::Command {
    with_values_explained(command())
}

fn with_values_explained(command: clap::Command) -> clap::Command {
    command.mut_args(explain_values).mut_subcommands(with_values_explained)
}

/// Moves the explanations of an argument's values, and its default, into its help.
fn explain_values(arg: clap::Arg) -> clap::Arg {
    let values: Vec<_> = arg.get_possible_values().into_iter().filter(|it| !it.is_hide_set()).collect();
    if values.iter().all(|it| it.get_help().is_none()) {
        return arg;
    }
    let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    if let Some(default) = arg.get_default_values().first().filter(|_| !arg.is_hide_default_value_set()) {
        help.push_str(&format!(" [default: {}]", default.to_string_lossy()));
    }
    let width = values.iter().map(|it| it.get_name().len()).max().unwrap_or(0);
    for value in values {
        let about = value.get_help().map(ToString::to_string).unwrap_or_default();
        help.push_str(format!("\n  {:<width$}  {about}", value.get_name()).trim_end_matches(' '));
    }
    arg.help(help).hide_possible_values(true).hide_default_value(true)
}

fn grouped(command: &clap::Command) -> String {
    let mut text = String::new();
    let width = command.get_subcommands().map(|it| it.get_name().len()).max().unwrap_or(0);
    for (title, names) in GROUPS {
        text.push_str(&format!("{title}:\n"));
        for name in *names {
            let about = match command.find_subcommand(name) {
                Some(it) => {
                    let about = it.get_about().map(ToString::to_string).unwrap_or_default();
                    let aliases: String =
                        it.get_visible_aliases().map(|alias| format!(" [alias: {alias}]")).collect();
                    format!("{about}{aliases}")
                }
                None => "Print this message or the help of the given subcommand(s)".to_owned(),
            };
            text.push_str(&format!("  {name:<width$}  {about}\n"));
        }
        text.push('\n');
    }
    text
}

/// Words people type for a command that has another name.
const SYNONYMS: &[(&str, &str)] = &[
    ("add", "new"),
    ("make", "new"),
    ("get", "show"),
    ("cat", "show"),
    ("why", "explain"),
    ("move", "fire"),
    ("transition", "fire"),
    ("next", "claim"),
    ("renew", "heartbeat"),
    ("start", "up"),
    ("serve", "up"),
    ("server", "up"),
    ("run", "up"),
    ("install", "pack add"),
    ("lint", "check"),
    ("format", "fmt"),
    ("draw", "diagram"),
    ("graph", "diagram"),
    ("events", "journal"),
    ("tail", "watch"),
    ("override", "correct"),
    ("verify", "audit verify"),
    ("config", "settings"),
    ("upgrade", "migrate"),
    ("time", "clock"),
    ("ps", "runs"),
    ("transcript", "logs"),
    ("kill", "stop"),
    ("steer", "attach"),
    ("agents", "adapter list"),
    ("approve", "inbox approve"),
    ("deny", "inbox deny"),
    ("reject", "inbox deny"),
    ("todo", "inbox"),
    ("tasks", "inbox"),
    ("ui", "watch"),
    ("dashboard", "watch"),
    ("describe", "lifecycles"),
    ("types", "lifecycles"),
    ("poll", "wait"),
    ("sleep", "wait"),
    ("bulk", "batch"),
    ("upload", "artifact put"),
    ("download", "artifact get"),
    ("allowed", "policy"),
];

/// Adds a suggestion for an unknown command: by meaning, then by spelling. Clap does neither for `help NAME`.
pub(crate) fn suggest(error: &mut clap::Error) {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return };
    if let Some((_, meant)) = SYNONYMS.iter().find(|(word, _)| word == typed) {
        let meant = ContextValue::Strings(vec![(*meant).to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
        return;
    }
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return;
    }
    let command = Args::command();
    let below = command.get_subcommands().flat_map(clap::Command::get_subcommands);
    let known = command.get_subcommands().chain(below).filter(|it| !it.is_hide_set());
    let near = nearest(typed, known.map(clap::Command::get_name)).map(str::to_owned);
    if let Some(near) = near {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Args::command();
        let mut there: Vec<&str> =
            command.get_subcommands().filter(|it| !it.is_hide_set()).map(clap::Command::get_name).collect();
        there.push("help");
        there.sort_unstable();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        assert_eq!(grouped, there);
    }

    #[test]
    fn the_reference_has_every_command() {
        let page = include_str!("../../../docs/reference/cli.md");
        for (_, names) in GROUPS {
            for name in *names {
                assert!(page.contains(&format!("`{name}")), "docs/reference/cli.md does not mention {name}");
            }
        }
    }

    #[test]
    fn synonyms_are_unknown_words_that_suggest_real_commands() {
        let command = Args::command();
        for (word, meant) in SYNONYMS {
            assert!(command.find_subcommand(word).is_none(), "{word} is a command");
            let found = meant.split(' ').try_fold(&command, |it, name| it.find_subcommand(name));
            assert!(found.is_some(), "{word} suggests {meant}, which is no command");
        }
    }

    #[test]
    fn the_definition_of_the_command_line_holds() {
        command().debug_assert();
        explained_command().debug_assert();
    }

    #[test]
    fn the_short_and_the_long_flag_print_the_same_help() {
        fn check(path: &[&str], command: &clap::Command) {
            let printed = |flag| {
                let typed = path.iter().copied().chain([flag]);
                explained_command().try_get_matches_from(typed).unwrap_err().to_string()
            };
            assert_eq!(printed("-h"), printed("--help"), "{path:?}");
            for below in command.get_subcommands().filter(|it| it.get_name() != "help") {
                check(&[path, &[below.get_name()]].concat(), below);
            }
        }
        check(&["trackside"], &explained_command());
        let mut command = explained_command();
        let import = command.find_subcommand_mut("import").unwrap().render_help().to_string();
        assert!(import.contains("beads        Issues of beads as JSON lines"), "{import}");
    }
}
