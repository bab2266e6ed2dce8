//! Prints data to standard output, messages to standard error. A closed pipe is no error.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value as Json;

use crate::exit;

/// One line of data.
pub(crate) fn line(text: &str) {
    note(writeln!(std::io::stdout().lock(), "{text}"));
}

/// A document as JSON.
pub(crate) fn json(document: &Json) {
    line(&format!("{document:#}"));
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
        Err(error) if !LOST.swap(true, Ordering::Relaxed) => message(&format!("standard output: {error}")),
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

/// Data as it is, without a line break of its own.
pub(crate) fn text(text: &str) {
    let _ = write!(std::io::stdout().lock(), "{text}");
}

/// One line for people.
pub(crate) fn message(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Whether messages may be coloured.
pub(crate) fn colour() -> bool {
    wanted() && std::io::stderr().is_terminal()
}

fn wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty())
}

/// Text of a message in a colour, where colours are shown.
pub(crate) fn painted(text: &str, colour: Colour) -> String {
    paint(text, colour, self::colour())
}

/// Colours data if it goes to a terminal.
pub(crate) fn painted_data(text: &str, colour: Colour) -> String {
    paint(text, colour, wanted() && std::io::stdout().is_terminal())
}

/// The width of data: that of the terminal, else the default.
pub(crate) fn columns() -> usize {
    let answer = std::env::var("COLUMNS").ok().and_then(|it| it.trim().parse().ok());
    answer.filter(|it| *it > 0).or_else(terminal_columns).unwrap_or(USUAL)
}

const USUAL: usize = 100;

fn terminal_columns() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(terminal_size::Width(it), _)| usize::from(it)).filter(|it| *it > 0)
}

fn paint(text: &str, colour: Colour, shown: bool) -> String {
    if shown { format!("\u{1b}[{}m{text}\u{1b}[0m", colour.code()) } else { text.to_owned() }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Cyan,
    Dim,
    Bold,
}

impl Colour {
    fn code(self) -> &'static str {
        match self {
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Blue => "34",
            Self::Cyan => "36",
            Self::Dim => "2",
            Self::Bold => "1",
        }
    }
}

/// A progress bar on standard error, if that is a terminal.
pub(crate) struct ProgressBar {
    title: String,
    shown: bool,
}

impl ProgressBar {
    pub(crate) fn new(title: &str) -> Self {
        Self { title: title.to_owned(), shown: std::io::stderr().is_terminal() }
    }

    pub(crate) fn show(&self, share: f64, text: &str) {
        if !self.shown {
            return;
        }
        let full = (share.clamp(0.0, 1.0) * 20.0) as usize;
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(20 - full));
        let _ = write!(std::io::stderr().lock(), "\r\u{1b}[2K{bar} {} · {text}", self.title);
    }

    /// Takes the bar away.
    pub(crate) fn done(&self) {
        if self.shown {
            let _ = write!(std::io::stderr().lock(), "\r\u{1b}[2K");
        }
    }
}
