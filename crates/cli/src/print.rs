//! Prints data to standard output, messages to standard error. A closed pipe is no error.
//!
//! Everything that the program prints goes through this file, and as [`Styled`] or as escaped JSON: no control
//! character of others reaches the terminal. `clippy.toml` forbids other ways to standard output and standard error.
#![expect(clippy::disallowed_methods, reason = "the one place that prints")]

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde_json::Value as Json;
use trackside_lifecycle::printable::{escape_json, escape_lines, is_printable};
use trackside_lifecycle::source::{Problems, Sources};

use crate::exit;
pub(crate) use crate::styled::Colour;
use crate::styled::Styled;

/// Data: one line, unless the text contains line breaks of ours.
pub(crate) fn line(text: impl Into<Styled>) {
    raw_line(&text.into().to_terminal());
}

fn raw_line(text: &str) {
    note(writeln!(std::io::stdout().lock(), "{text}"));
}

/// A document as JSON.
pub(crate) fn json(document: &Json) {
    json_text(&format!("{document:#}"));
}

/// A document as JSON in one line.
pub(crate) fn json_line(document: &impl Serialize) {
    json_text(&serde_json::to_string(document).unwrap_or_default());
}

/// JSON that is text already.
pub(crate) fn json_text(text: &str) {
    raw_line(&escape_json(text));
}

/// A document: as JSON, or by `show`. Returns the exit code.
pub(crate) fn answer(document: &Json, as_json: bool, show: impl FnOnce(&Json)) -> u8 {
    if as_json {
        json(document)
    } else {
        show(document)
    }
    exit::DONE
}

/// Data could not be written.
static LOST: AtomicBool = AtomicBool::new(false);

/// Standard output is closed.
static CLOSED: AtomicBool = AtomicBool::new(false);

fn note(written: std::io::Result<()>) {
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => CLOSED.store(true, Ordering::Relaxed),
        Err(error) if !LOST.swap(true, Ordering::Relaxed) => message(styled!("standard output: {error}")),
        Err(_) => {}
    }
}

/// Whether standard output is still open, as far as is known.
pub(crate) fn is_read() -> bool {
    note(std::io::stdout().lock().flush());
    !CLOSED.load(Ordering::Relaxed) && !LOST.load(Ordering::Relaxed)
}

/// Whether all output was written. Output after the reader closed the pipe does not count.
pub(crate) fn all_written() -> bool {
    note(std::io::stdout().lock().flush());
    !LOST.load(Ordering::Relaxed)
}

/// A document of several lines, without a line break at its end.
pub(crate) fn text(text: &str) {
    let _ = write!(std::io::stdout().lock(), "{}", escape_lines(text));
}

/// A message for people: one line, unless the text contains line breaks of ours.
pub(crate) fn message(text: impl Into<Styled>) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.into().to_terminal());
}

/// Problems of definitions, with excerpts. Prints nothing if there are none.
pub(crate) fn problems(problems: &Problems, sources: &Sources) {
    if !problems.is_empty() {
        message(rendered(problems, sources));
    }
}

/// Problems of definitions as a message.
pub(crate) fn rendered(problems: &Problems, sources: &Sources) -> Styled {
    Styled::rendered(&problems.render(sources, colour()))
}

/// Help, the version, or a mistake on the command line.
pub(crate) fn usage(error: &clap::Error) {
    // An argument that clap repeats would keep its control sequences: print it without colours, and escaped.
    if std::env::args_os().all(|it| it.to_string_lossy().chars().all(is_printable)) {
        let _ = error.print();
    } else {
        message(Styled::block(error.render().to_string().trim_end()));
    }
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether messages go to a terminal.
pub(crate) fn messages_are_shown() -> bool {
    std::io::stderr().is_terminal()
}

/// Whether messages may be coloured.
pub(crate) fn colour() -> bool {
    wanted() && messages_are_shown()
}

fn wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty())
}

/// Text of a message in a colour, where colours are shown.
pub(crate) fn painted(text: impl Into<Styled>, colour: Colour) -> Styled {
    paint(text, colour, self::colour())
}

/// Colours data if it goes to a terminal.
pub(crate) fn painted_data(text: impl Into<Styled>, colour: Colour) -> Styled {
    paint(text, colour, wanted() && is_terminal())
}

fn paint(text: impl Into<Styled>, colour: Colour, shown: bool) -> Styled {
    if shown { Styled::in_colour(text, colour) } else { text.into() }
}

/// The width of data: that of the terminal, else the default.
pub(crate) fn columns() -> usize {
    let answer = std::env::var("COLUMNS").ok().and_then(|it| it.trim().parse().ok());
    answer.filter(|it| *it > 0).or_else(terminal_columns).unwrap_or(USUAL)
}

const USUAL: usize = 100;

fn terminal_columns() -> Option<usize> {
    if !is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(terminal_size::Width(it), _)| usize::from(it)).filter(|it| *it > 0)
}

/// A progress bar on standard error, if that is a terminal.
pub(crate) struct ProgressBar {
    title: String,
    shown: bool,
}

impl ProgressBar {
    pub(crate) fn new(title: &str) -> Self {
        Self { title: title.to_owned(), shown: messages_are_shown() }
    }

    pub(crate) fn show(&self, share: f64, text: &str) {
        if !self.shown {
            return;
        }
        let full = (share.clamp(0.0, 1.0) * 20.0) as usize;
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(20 - full));
        let line = styled!("{bar} {} · {text}", self.title).to_terminal();
        let _ = write!(std::io::stderr().lock(), "\r\u{1b}[2K{line}");
    }

    /// Takes the bar away.
    pub(crate) fn done(&self) {
        if self.shown {
            let _ = write!(std::io::stderr().lock(), "\r\u{1b}[2K");
        }
    }
}
