//! `trackside reference`: the reference of every command, for `docs/reference/commands.md`.

use clap::{Arg, ArgAction, Command};

use crate::{exit, help, print};

const HEAD: &str = "\
# Every command

<!-- Generated from the help texts by `cargo xtask reference`. Do not edit. -->

Arguments, options and examples of each command. [The command line](cli.md) explains how the commands work together.
";

pub(crate) fn run() -> u8 {
    let mut command = help::command();
    // Usage lines name the commands before them.
    command.build();
    let mut page = HEAD.to_owned();
    for (title, names) in help::GROUPS {
        page.push_str(&format!("\n## {title}\n"));
        for command in names.iter().filter(|it| **it != "help").filter_map(|it| command.find_subcommand(it)) {
            write_command(command, 3, &mut page);
        }
    }
    print::text(&page);
    exit::DONE
}

/// Writes a command and its subcommands.
fn write_command(command: &Command, depth: usize, page: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    page.push_str(&format!("\n{} `{name}`\n\n{about}.\n", "#".repeat(depth)));
    for alias in command.get_visible_aliases() {
        page.push_str(&format!("\nAlias: `trackside {alias}`.\n"));
    }
    let below: Vec<&Command> =
        command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help").collect();
    if below.is_empty() {
        let usage = command.clone().render_usage().to_string();
        page.push_str(&format!("\n```\n{}\n```\n", usage.trim_start_matches("Usage: ")));
    }
    let own = |it: &&Arg| !it.is_hide_set() && !["help", "version"].contains(&it.get_id().as_str());
    let arguments: Vec<&Arg> = command.get_arguments().filter(own).collect();
    if !arguments.is_empty() {
        page.push_str("\n| | |\n|---|---|\n");
        arguments.iter().for_each(|it| page.push_str(&row(it)));
    }
    if let Some(more) = command.get_after_help() {
        page.push_str(&format!("\n```\n{}\n```\n", more.to_string().trim()));
    }
    below.into_iter().for_each(|it| write_command(it, depth + 1, page));
}

/// A table row: an argument, its meaning and its default.
fn row(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let values: Vec<String> = names.iter().map(|it| it.to_string()).collect();
    let takes = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let more = argument.get_num_args().is_some_and(|it| it.max_values() > 1)
        || matches!(argument.get_action(), ArgAction::Append);
    let name = match argument.get_long() {
        Some(long) if takes => format!("--{long} {}", values.join(" ")),
        Some(long) => format!("--{long}"),
        None => values.join(" "),
    };
    let name = if more { format!("{name} …") } else { name };
    let mut about = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|it| it.to_string_lossy().into_owned()).collect();
    if takes && !defaults.is_empty() {
        about.push_str(&format!(" [default: {}]", defaults.join(" ")));
    }
    let words: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|it| takes && !it.is_hide_set())
        .map(|it| it.get_name().to_owned())
        .collect();
    if !words.is_empty() {
        about.push_str(&format!(" [{}]", words.join(", ")));
    }
    format!("| `{}` | {} |\n", name.replace('|', "\\|"), about.replace('|', "\\|").replace('\n', " "))
}
