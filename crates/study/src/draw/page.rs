//! Text for a terminal: lines of pieces, each with a tone that the terminal may show as a colour.

/// The role of a piece of text, by which it is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    /// A heading or the name of a state.
    Strong,
    /// The name of a transition.
    Move,
    /// The main way.
    Main,
    Time,
    Dim,
    Good,
    Bad,
}

/// A drawing made of characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextPage {
    pub lines: Vec<Vec<(Tone, String)>>,
}

impl TextPage {
    /// Without colours.
    pub fn plain(&self) -> String {
        self.trimmed().map(|line| line.map(|(_, text)| text).collect::<String>() + "\n").collect()
    }

    /// The pieces of every line, without trailing blanks.
    pub fn trimmed(&self) -> impl Iterator<Item = impl Iterator<Item = (Tone, &str)>> {
        self.lines.iter().map(|line| {
            let last = line.iter().rposition(|(_, text)| !text.trim().is_empty());
            let count = last.map_or(0, |it| it + 1);
            line.iter().take(count).enumerate().map(move |(n, (tone, text))| match n + 1 == count {
                true => (*tone, text.trim_end()),
                false => (*tone, text.as_str()),
            })
        })
    }

    pub(crate) fn line(&mut self) -> LineWriter<'_> {
        self.lines.push(Vec::new());
        LineWriter { line: self.lines.last_mut() }
    }
}

/// Writes one line.
pub(crate) struct LineWriter<'a> {
    line: Option<&'a mut Vec<(Tone, String)>>,
}

impl LineWriter<'_> {
    pub fn put(mut self, tone: Tone, text: &str) -> Self {
        if let Some(line) = &mut self.line
            && !text.is_empty()
        {
            line.push((tone, text.to_owned()));
        }
        self
    }

    /// Filled up with spaces.
    pub fn pad(self, tone: Tone, text: &str, columns: usize) -> Self {
        let rest = columns.saturating_sub(columns_of(text));
        self.put(tone, text).put(Tone::Plain, &" ".repeat(rest))
    }
}

/// The number of columns of a text.
pub(crate) fn columns_of(text: &str) -> usize {
    text.chars().map(|it| if wide(it) { 2 } else { 1 }).sum()
}

fn wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}' | '\u{1f300}'..='\u{1faff}')
}

/// Wraps into lines of at most `columns`; a longer word is broken.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word = word.to_owned();
        while columns_of(&word) > columns.max(2) {
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            let mut piece = String::new();
            for c in word.chars() {
                if columns_of(&piece) + columns_of(c.encode_utf8(&mut [0; 4])) > columns.max(2) {
                    break;
                }
                piece.push(c);
            }
            word = word.split_off(piece.len());
            lines.push(piece);
        }
        let word = word.as_str();
        if !line.is_empty() && columns_of(&line) + 1 + columns_of(word) > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}
