//! The command line as a whole: its help tells commands by what they are for.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use trackside_lifecycle::guard::nearest;

use crate::args::Args;

/// What commands are for, and which.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["up", "demo", "init", "sign-in"]),
    ("Move things", &["new", "fire", "claim", "heartbeat", "correct", "mcp", "hook"]),
    (
        "See where things are",
        &["show", "list", "explain", "history", "messages", "watch", "query", "stats", "journal"],
    ),
    ("What people should look at", &["approvals", "alerts", "notifications", "violations", "validate"]),
    ("Write lifecycles", &["check", "test", "diagram", "diff", "explore", "fmt", "schema"]),
    (
        "Packs, people and time",
        &["lifecycles", "pack", "settings", "migrate", "token", "webhook", "whoami", "clock"],
    ),
    (
        "Look after a project",
        &["doctor", "audit", "backup", "restore", "archive", "export", "import", "redact", "bench"],
    ),
    ("The program", &["completions", "man", "version", "help"]),
];

/// Everything that can be typed.
pub(crate) fn command() -> clap::Command {
    let command = Args::command();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        grouped(&command)
    );
    command.help_template(template)
}

fn grouped(command: &clap::Command) -> String {
    let mut text = String::new();
    let width = command.get_subcommands().map(|it| it.get_name().len()).max().unwrap_or(0);
    for (title, names) in GROUPS {
        text.push_str(&format!("{title}:\n"));
        for name in *names {
            let about = match command.find_subcommand(name) {
                Some(it) => it.get_about().map(ToString::to_string).unwrap_or_default(),
                None => "Print this message or the help of the given subcommand(s)".to_owned(),
            };
            text.push_str(&format!("  {name:<width$}  {about}\n"));
        }
        text.push('\n');
    }
    text
}

/// Adds what may have been meant where a command is not known: `help NAME` does not do so by itself.
pub(crate) fn suggest(error: &mut clap::Error) {
    if error.kind() != ErrorKind::InvalidSubcommand || error.get(ContextKind::SuggestedSubcommand).is_some() {
        return;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return };
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
    fn every_command_is_told_once() {
        let command = Args::command();
        let mut there: Vec<&str> =
            command.get_subcommands().filter(|it| !it.is_hide_set()).map(clap::Command::get_name).collect();
        there.push("help");
        there.sort_unstable();
        let mut told: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        told.sort_unstable();
        assert_eq!(told, there);
    }

    #[test]
    fn the_reference_has_every_command() {
        let page = include_str!("../../../docs/reference/cli.md");
        for (_, names) in GROUPS {
            for name in *names {
                assert!(page.contains(&format!("`{name}")), "docs/reference/cli.md does not tell of {name}");
            }
        }
    }

    #[test]
    fn the_definition_of_the_command_line_holds() {
        command().debug_assert();
    }
}
