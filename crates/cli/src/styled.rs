//! Text that may be printed. Text of others is escaped when it becomes `Styled`; our own colours and line breaks pass.

use std::fmt;

use trackside_lifecycle::printable;

/// Builds a [`Styled`] as `format!` builds a `String`. Values of type `Styled` keep their colours; everything else is
/// escaped.
macro_rules! styled {
    ($($part:tt)*) => { $crate::styled::Styled::from(format_args!($($part)*)) };
}

/// Escaped text with colours and line breaks. There is no way to put an unprintable character of others into it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Styled(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Mark(Mark),
    /// A colour of a renderer.
    Code(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Cyan,
    Dim,
    Bold,
}

/// A control sequence of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Begin(Colour),
    End,
    LineBreak,
}

/// Every mark with the text by which a `Styled` hands it on through `fmt`. The text is recognised by its address:
/// the same characters in a text of others are escaped.
static MARKS: [(Mark, &str); 9] = [
    (Mark::Begin(Colour::Red), "\u{1b}[31m"),
    (Mark::Begin(Colour::Green), "\u{1b}[32m"),
    (Mark::Begin(Colour::Yellow), "\u{1b}[33m"),
    (Mark::Begin(Colour::Blue), "\u{1b}[34m"),
    (Mark::Begin(Colour::Cyan), "\u{1b}[36m"),
    (Mark::Begin(Colour::Dim), "\u{1b}[2m"),
    (Mark::Begin(Colour::Bold), "\u{1b}[1m"),
    (Mark::End, "\u{1b}[0m"),
    (Mark::LineBreak, "\u{1b}[line break]"),
];

impl Mark {
    fn handed_on(self) -> &'static str {
        MARKS.iter().find(|(mark, _)| *mark == self).map_or("", |(_, text)| text)
    }

    fn recognised(text: &str) -> Option<Self> {
        let is_own = |own: &str| own.len() == text.len() && std::ptr::eq(own.as_ptr(), text.as_ptr());
        MARKS.iter().find(|(_, own)| is_own(own)).map(|(mark, _)| *mark)
    }

    /// The bytes for the terminal.
    fn printed(self) -> &'static str {
        if self == Self::LineBreak { "\n" } else { self.handed_on() }
    }
}

/// A line break of ours in [`styled!`]: `styled!("one{BREAK}two")`.
pub(crate) const BREAK: Break = Break;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Break;

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Mark::LineBreak.handed_on())
    }
}

impl Styled {
    /// The text in a colour.
    pub(crate) fn in_colour(text: impl Into<Self>, colour: Colour) -> Self {
        let mut parts = vec![Part::Mark(Mark::Begin(colour))];
        parts.extend(text.into().0);
        parts.push(Part::Mark(Mark::End));
        Self(parts)
    }

    /// Adds text at the end.
    pub(crate) fn push(&mut self, text: impl Into<Self>) {
        self.0.extend(text.into().0);
    }

    /// A document of several lines: its line breaks stay, everything else is escaped.
    pub(crate) fn block(text: &str) -> Self {
        Self::joined(text.split('\n'))
    }

    /// One line for each item.
    pub(crate) fn joined(lines: impl IntoIterator<Item: Into<Self>>) -> Self {
        let mut all = Self::default();
        for (at, line) in lines.into_iter().enumerate() {
            if at > 0 {
                all.0.push(Part::Mark(Mark::LineBreak));
            }
            all.0.extend(line.into().0);
        }
        all
    }

    /// The output of a renderer that escapes the text of others itself: its line breaks and colours stay.
    pub(crate) fn rendered(text: &str) -> Self {
        let mut all = Self::default();
        let mut rest = text;
        while let Some(at) = rest.find('\u{1b}') {
            let (before, from) = rest.split_at(at);
            all.0.extend(Self::block(before).0);
            let end = from.find('m').map_or(from.len(), |it| it + 1);
            let (code, after) = from.split_at(end);
            let digits = code.strip_prefix("\u{1b}[").and_then(|it| it.strip_suffix('m'));
            match digits.filter(|it| it.bytes().all(|it| it.is_ascii_digit() || it == b';')) {
                Some(_) => all.0.push(Part::Code(code.to_owned())),
                None => all.0.extend(Self::block(code).0),
            }
            rest = after;
        }
        all.0.extend(Self::block(rest).0);
        all
    }

    /// The lines of it.
    pub(crate) fn lines(&self) -> Vec<Self> {
        self.0.split(|it| *it == Part::Mark(Mark::LineBreak)).map(|it| Self(it.to_vec())).collect()
    }

    /// Without colours, for programs.
    pub(crate) fn plain(&self) -> String {
        let part = |it: &Part| match it {
            Part::Text(text) => text.clone(),
            Part::Mark(Mark::LineBreak) => "\n".to_owned(),
            Part::Mark(_) | Part::Code(_) => String::new(),
        };
        self.0.iter().map(part).collect()
    }

    /// With the control sequences for a terminal.
    pub(crate) fn to_terminal(&self) -> String {
        let part = |it: &Part| match it {
            Part::Text(text) | Part::Code(text) => text.clone(),
            Part::Mark(mark) => mark.printed().to_owned(),
        };
        self.0.iter().map(part).collect()
    }
}

impl fmt::Write for Styled {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if let Some(mark) = Mark::recognised(text) {
            self.0.push(Part::Mark(mark));
            return Ok(());
        }
        let text = printable::escape(text);
        match self.0.last_mut() {
            Some(Part::Text(last)) => last.push_str(&text),
            _ => self.0.push(Part::Text(text.into_owned())),
        }
        Ok(())
    }
}

impl fmt::Display for Styled {
    /// For [`styled!`]. In a `String` the colours would be escaped when it is printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = 0;
        for part in &self.0 {
            match part {
                Part::Text(text) => {
                    columns += text.chars().count();
                    f.write_str(text)?;
                }
                Part::Mark(mark) => f.write_str(mark.handed_on())?,
                // A rendered text is printed as it is, not inside another one.
                Part::Code(_) => {}
            }
        }
        let room = f.width().unwrap_or_default().saturating_sub(columns);
        (0..room).try_for_each(|_| f.write_str(" "))
    }
}

impl From<fmt::Arguments<'_>> for Styled {
    fn from(text: fmt::Arguments<'_>) -> Self {
        let mut all = Self::default();
        let _ = fmt::write(&mut all, text);
        all
    }
}

impl From<&str> for Styled {
    fn from(text: &str) -> Self {
        Self(vec![Part::Text(printable::escape(text).into_owned())])
    }
}

impl From<String> for Styled {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<&String> for Styled {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<&Self> for Styled {
    fn from(text: &Self) -> Self {
        text.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_colours_and_breaks_pass_and_the_same_characters_of_others_do_not() {
        let foreign = "\u{1b}[31mred\u{1b}[0m\nforged\u{1b}[line break]".to_owned();
        let red = Styled::in_colour(&foreign, Colour::Red);
        let line = styled!("{red:<70}|{BREAK}{foreign}");
        let escaped = "\\u{1b}[31mred\\u{1b}[0m\\nforged\\u{1b}[line break]";
        let pad = " ".repeat(70 - escaped.len());
        assert_eq!(line.to_terminal(), format!("\u{1b}[31m{escaped}\u{1b}[0m{pad}|\n{escaped}"));
        assert_eq!(line.plain(), format!("{escaped}{pad}|\n{escaped}"));
        assert_eq!(line.lines().len(), 2);
        // Through a `String` nothing passes.
        assert!(!Styled::from(format!("{line}")).to_terminal().contains(['\u{1b}', '\n']));
    }

    #[test]
    fn a_rendered_text_keeps_only_colours() {
        let text = "\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m: x\n\u{1b}]0;T\u{7} m \u{1b}[2J m\u{1b}[1";
        let expected = "\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m: x\n\\u{1b}]0;T\\u{7} m \\u{1b}[2J m\\u{1b}[1";
        assert_eq!(Styled::rendered(text).to_terminal(), expected);
        assert_eq!(Styled::block("a\n\nb\u{9b}").to_terminal(), "a\n\nb\\u{9b}");
    }
}
