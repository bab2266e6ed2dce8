//! Random YAML in every style, with blanks and comments anywhere.

/// Choices made from bytes; the first option when they are used up.
struct Dice<'a>(std::slice::Iter<'a, u8>);

impl Dice<'_> {
    fn below(&mut self, sides: usize) -> usize {
        self.0.next().map_or(0, |it| usize::from(*it)) % sides
    }

    fn pick(&mut self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len())]
    }
}

const BLANKS: [&str; 5] = [" ", "  ", "    ", "\t", " \t "];
const KEYS: [&str; 7] = ["a", "key", "a long key", "\"q: k\"", "'it''s'", "é日", "80%"];
const SCALARS: [&str; 15] = [
    "x",
    "12",
    "some words",
    "'one # quote'",
    "\"two \\\" \\t\"",
    "a#b",
    "-1",
    "null",
    "http://x:1/y",
    "[]",
    "{}",
    "{  }",
    "x ? y : z",
    "'{a, b}'",
    "~",
];
const COMMENTS: [&str; 6] = ["# words", "#words", "#", "##", "#!x", "# key: [a, # b"];

/// Writes a random definition in a random hand.
struct Hand<'a> {
    dice: Dice<'a>,
    text: String,
    lines: usize,
}

impl Hand<'_> {
    fn write(mut self) -> String {
        if self.dice.below(5) == 1 {
            self.text.push('\u{feff}');
        }
        if self.dice.below(5) == 1 {
            self.text.push_str("---");
            self.end();
        }
        self.between();
        if self.dice.below(3) == 0 {
            self.map(0, 0)
        } else {
            self.list(0, 0)
        }
        if self.dice.below(6) == 1 {
            self.text.push_str("...");
            self.end();
        }
        if self.dice.below(4) == 1 {
            self.text.truncate(self.text.trim_end_matches(['\n', '\r']).len());
        }
        self.text
    }

    fn spaces(&mut self, count: usize) {
        self.text.push_str(&" ".repeat(count));
    }

    /// The end of a line, and perhaps blank lines and comments.
    fn end(&mut self) {
        if self.dice.below(6) == 1 {
            let blanks = self.dice.pick(&BLANKS);
            self.text.push_str(blanks);
        }
        if self.dice.below(4) == 1 {
            let (blanks, comment) = (self.dice.pick(&BLANKS), self.dice.pick(&COMMENTS));
            self.text.push_str(blanks);
            self.text.push_str(comment);
        }
        self.lines += 1;
        self.text.push_str(if self.lines.is_multiple_of(5) { "\r\n" } else { "\n" });
        self.between();
    }

    fn between(&mut self) {
        for _ in 0..self.dice.below(8).saturating_sub(5) {
            let spaces = self.dice.below(8);
            self.spaces(spaces);
            let comment = self.dice.pick(&["", "", "# alone", "#alone", "#"]);
            self.text.push_str(comment);
            self.text.push('\n');
        }
    }

    fn map(&mut self, column: usize, depth: usize) {
        let entries = 1 + self.dice.below(4);
        for index in 0..entries {
            if index > 0 || depth == 0 || self.text.ends_with('\n') {
                self.spaces(column);
            }
            let key = self.dice.pick(&KEYS);
            let number = if key.ends_with(['"', '\'']) { String::new() } else { index.to_string() };
            let colon = self.dice.pick(&[":", ":", ":", " :"]);
            if self.dice.below(9) == 1 {
                self.text.push_str(&format!("? {key}{number}"));
                self.end();
                self.spaces(column);
                self.text.push(':');
            } else {
                self.text.push_str(&format!("{key}{number}{colon}"));
            }
            self.value(column, depth, false);
            if key.ends_with(['"', '\'']) {
                break;
            }
        }
    }

    fn list(&mut self, column: usize, depth: usize) {
        for index in 0..1 + self.dice.below(4) {
            if index > 0 || depth == 0 || self.text.ends_with('\n') {
                self.spaces(column);
            }
            self.text.push('-');
            self.value(column, depth, true);
        }
    }

    /// The value after a `:` or `-`.
    fn value(&mut self, column: usize, depth: usize, item: bool) {
        let deeper = column + 1 + self.dice.below(4);
        match self.dice.below(if depth < 4 { 12 } else { 6 }) {
            0..=2 => {
                let (blanks, scalar) = (self.dice.pick(&BLANKS), self.dice.pick(&SCALARS));
                self.text.push_str(blanks);
                self.text.push_str(scalar);
                self.end();
            }
            3 => self.end(),
            4 => self.block_text(column),
            5 => {
                let blanks = self.dice.pick(&BLANKS);
                self.text.push_str(blanks);
                self.several_lines(column);
                self.end();
            }
            6 | 7 => {
                let blanks = self.dice.pick(&BLANKS);
                self.text.push_str(blanks);
                self.flow(column, depth + 1);
                self.end();
            }
            8 | 9 if item => {
                let spaces = 1 + self.dice.below(3);
                self.spaces(spaces);
                if self.dice.below(2) == 0 {
                    self.map(column + 1 + spaces, depth + 1);
                } else {
                    self.list(column + 1 + spaces, depth + 1);
                }
            }
            8..=10 => {
                self.end();
                self.map(deeper, depth + 1);
            }
            _ => {
                self.end();
                let column = if item { deeper } else { deeper - self.dice.below(2).min(deeper) };
                self.list(column, depth + 1);
            }
        }
    }

    fn block_text(&mut self, column: usize) {
        let inner = column + 1 + self.dice.below(4);
        let digit = if self.dice.below(3) == 1 { (inner - column).to_string() } else { String::new() };
        let (style, chomp) = (self.dice.pick(&["|", ">"]), self.dice.pick(&["", "-", "+"]));
        let comment = self.dice.pick(&["", "", " # why"]);
        self.text.push_str(&format!(" {style}{digit}{chomp}{comment}\n"));
        for index in 0..1 + self.dice.below(4) {
            let line = self.dice.pick(&["text", "# no comment", "", "more  ", "- x", "\ttab"]);
            if line.is_empty() && index > 0 {
                let spaces = self.dice.below(inner + 3);
                self.spaces(spaces);
            } else if !line.is_empty() {
                let extra = if index > 0 { self.dice.below(3) } else { 0 };
                self.spaces(inner + extra);
            }
            self.text.push_str(line);
            self.text.push('\n');
        }
        for _ in 0..self.dice.below(3) {
            self.text.push('\n');
        }
    }

    fn several_lines(&mut self, column: usize) {
        let (open, first, close) = match self.dice.below(3) {
            0 => ("", "plain words", ""),
            1 => ("'", "single 'words'", "'"),
            _ => ("\"", "double \\\" words", "\""),
        };
        let first = if open == "'" { first.replace('\'', "''") } else { first.to_owned() };
        self.text.push_str(&format!("{open}{first}"));
        for _ in 0..1 + self.dice.below(2) {
            let trail = match open {
                "\"" => self.dice.pick(&["", "  ", "\\", "\\ ", "\\t "]),
                _ => self.dice.pick(&["", " ", "\t"]),
            };
            self.text.push_str(trail);
            self.text.push_str(self.dice.pick(&["\n", "\n\n", "\n\n\n"]));
            let spaces = column + 1 + self.dice.below(5);
            self.spaces(spaces);
            self.text.push_str("more - of it");
        }
        self.text.push_str(close);
    }

    /// A gap between the parts of brackets: empty, blanks or lines.
    fn gap(&mut self, column: usize) {
        match self.dice.below(8) {
            0..=4 => {}
            5 => self.text.push_str("  "),
            6 => {
                self.text.push('\n');
                let spaces = column + 1 + self.dice.below(6);
                self.spaces(spaces);
            }
            _ => {
                let comment = self.dice.pick(&COMMENTS);
                self.text.push_str(&format!(" {comment}\n"));
                let spaces = column + 1 + self.dice.below(6);
                self.spaces(spaces);
            }
        }
    }

    fn flow(&mut self, column: usize, depth: usize) {
        let list = self.dice.below(2) == 0;
        self.text.push(if list { '[' } else { '{' });
        let parts = self.dice.below(4);
        for index in 0..parts {
            self.gap(column);
            if !list || self.dice.below(6) == 1 {
                self.text.push_str(&format!("k{index}:"));
                self.text.push(' ');
                self.gap(column);
            }
            match self.dice.below(if depth < 6 { 6 } else { 3 }) {
                0 | 1 => self.text.push('x'),
                2 => self.text.push_str("'q'"),
                3 => self.several_lines(column),
                _ => self.flow(column, depth + 1),
            }
            self.gap(column);
            if index + 1 < parts || self.dice.below(4) == 1 {
                self.text.push(',');
            }
        }
        self.gap(column);
        self.text.push(if list { ']' } else { '}' });
    }
}

pub(super) fn by_hand(choices: &[u8]) -> String {
    Hand { dice: Dice(choices.iter()), text: String::new(), lines: 0 }.write()
}

/// A long row of choices, the same every time.
pub(super) fn choices(seed: u64) -> Vec<u8> {
    let mut choices = vec![0; 400];
    trackside_random::Random::new(seed).fill(&mut choices);
    choices
}
