//! The simple commands of a shell text, for rules about what an agent runs.
//!
//! The splitter knows a small part of the shell's language and understands it as every common shell does. A text with
//! anything else is in doubt: it becomes one command without words, which no list of allowed commands contains.

use std::iter::Peekable;
use std::str::Chars;

use super::text::of;
use crate::guard::Fault;
use crate::guard::limits::Budget;
use crate::value::Value;

/// The simple commands of a text as lists of words without quotes; one command without words if the text is in doubt.
pub(super) fn shell(it: &Value, budget: &Budget) -> Result<Value, Fault> {
    let text = of(it)?;
    budget.text(text.len())?;
    let commands = Splitter::new(text).commands().unwrap_or_else(|| vec![Vec::new()]);
    let listed = commands.into_iter().map(|words| {
        budget.items(1 + words.len())?;
        Ok(Value::list(words.iter().map(|word| Value::text(word)).collect()))
    });
    Ok(Value::list(listed.collect::<Result<_, Fault>>()?))
}

struct Splitter<'a> {
    rest: Peekable<Chars<'a>>,
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    /// The word that has begun.
    word: Option<Word>,
    /// An operator before a command was read, and its command was not.
    is_command_due: bool,
}

#[derive(Default)]
struct Word {
    text: String,
    /// A part of it is quoted or escaped.
    is_quoted: bool,
    /// It has a pattern such as `*`.
    has_pattern: bool,
}

impl Word {
    /// The part after the last slash.
    fn component(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or_default()
    }
}

impl<'a> Splitter<'a> {
    fn new(text: &'a str) -> Self {
        let (commands, words) = (Vec::new(), Vec::new());
        Self { rest: text.chars().peekable(), commands, words, word: None, is_command_due: false }
    }

    /// None if the text is in doubt.
    fn commands(mut self) -> Option<Vec<Vec<String>>> {
        while let Some(next) = self.rest.next() {
            match next {
                ' ' | '\t' => self.end_word()?,
                '\n' => {
                    self.end_word()?;
                    if !self.words.is_empty() {
                        self.end_command(false)?;
                    }
                }
                ';' => self.end_command(false)?,
                '|' => {
                    let _ = self.rest.next_if(|it| matches!(it, '|' | '&'));
                    self.end_command(true)?;
                }
                '&' if self.rest.next_if_eq(&'&').is_some() => self.end_command(true)?,
                '&' if self.rest.next_if_eq(&'>').is_some() => {
                    self.end_word()?;
                    self.null_device()?;
                }
                '>' => self.output()?,
                '<' => {
                    self.end_word()?;
                    self.null_device()?;
                }
                '\'' => self.single_quotes()?,
                '"' => self.double_quotes()?,
                '\\' => match self.rest.next()? {
                    '\n' => {}
                    escaped => self.quoted(escaped),
                },
                '*' | '?' | '[' => self.pattern(next)?,
                // An expansion at the beginning of a word in some shells, or an assignment before a command.
                '=' if self.word.is_none() || self.words.is_empty() => return None,
                '#' if self.word.is_none() => return None,
                '$' | '`' | '(' | ')' | '{' | '}' | '!' | '&' => return None,
                other if other.is_control() || other.is_whitespace() => return None,
                other => self.word.get_or_insert_default().text.push(other),
            }
        }
        self.end_word()?;
        if !self.words.is_empty() {
            self.end_command(false)?;
        }
        (!self.is_command_due && !self.commands.is_empty()).then_some(self.commands)
    }

    fn quoted(&mut self, part: char) {
        let word = self.word.get_or_insert_default();
        word.is_quoted = true;
        word.text.push(part);
    }

    fn single_quotes(&mut self) -> Option<()> {
        self.word.get_or_insert_default().is_quoted = true;
        loop {
            match self.rest.next()? {
                '\'' => return Some(()),
                other => self.quoted(checked(other)?),
            }
        }
    }

    fn double_quotes(&mut self) -> Option<()> {
        self.word.get_or_insert_default().is_quoted = true;
        loop {
            match self.rest.next()? {
                '"' => return Some(()),
                '`' => return None,
                // A dollar sign is itself only before a character that cannot begin an expansion.
                '$' => match self.rest.peek()? {
                    '"' | ' ' | '|' => self.quoted('$'),
                    _ => return None,
                },
                '\\' => match self.rest.next()? {
                    '\n' => {}
                    escaped @ ('$' | '`' | '"' | '\\') => self.quoted(escaped),
                    other => {
                        self.quoted('\\');
                        self.quoted(checked(other)?);
                    }
                },
                other => self.quoted(checked(other)?),
            }
        }
    }

    /// A pattern that the shell replaces with names. In doubt if the names could be options, `.` or `..`, or hidden.
    fn pattern(&mut self, sign: char) -> Option<()> {
        let word = self.word.as_mut()?;
        if word.text.is_empty() || word.text.starts_with('-') || word.component().starts_with('.') {
            return None;
        }
        word.has_pattern = true;
        word.text.push(sign);
        Some(())
    }

    /// A redirection of output: to the null device, or from one descriptor to another.
    fn output(&mut self) -> Option<()> {
        if let Some(word) = &self.word
            && !word.text.is_empty()
            && word.text.chars().all(|it| it.is_ascii_digit())
        {
            // The digits before the sign name a descriptor, unless they are quoted.
            if word.is_quoted {
                return None;
            }
            self.word = None;
        }
        self.end_word()?;
        let _ = self.rest.next_if_eq(&'>');
        if self.rest.next_if_eq(&'&').is_none() {
            return self.null_device();
        }
        self.rest.next_if(|it| matches!(it, '1' | '2'))?;
        self.delimiter()
    }

    /// The null device as the target of a redirection. Every other target is in doubt.
    fn null_device(&mut self) -> Option<()> {
        while self.rest.next_if(|it| matches!(it, ' ' | '\t')).is_some() {}
        for expected in "/dev/null".chars() {
            self.rest.next_if_eq(&expected)?;
        }
        self.delimiter()
    }

    /// Whether the word ends here.
    fn delimiter(&mut self) -> Option<()> {
        let ends = |it: &char| matches!(it, ' ' | '\t' | '\n' | ';' | '|' | '&');
        self.rest.peek().is_none_or(ends).then_some(())
    }

    fn end_word(&mut self) -> Option<()> {
        let Some(word) = self.word.take() else { return Some(()) };
        // The name of a program has no spaces and no pattern.
        let is_program = self.words.is_empty();
        if is_program && (word.text.is_empty() || word.has_pattern || word.text.contains(char::is_whitespace))
        {
            return None;
        }
        self.words.push(word.text);
        Some(())
    }

    /// Ends a command, which must have words. After some operators another one must follow.
    fn end_command(&mut self, is_another_due: bool) -> Option<()> {
        self.end_word()?;
        if self.words.is_empty() {
            return None;
        }
        self.commands.push(std::mem::take(&mut self.words));
        self.is_command_due = is_another_due;
        Some(())
    }
}

/// A quoted character; control characters other than line breaks and tabs are in doubt.
fn checked(it: char) -> Option<char> {
    (!it.is_control() || matches!(it, '\n' | '\t')).then_some(it)
}

#[cfg(test)]
mod tests {
    use super::Splitter;

    fn split(text: &str) -> Option<String> {
        let commands = Splitter::new(text).commands()?;
        Some(commands.iter().map(|words| words.join("·")).collect::<Vec<_>>().join(" / "))
    }

    #[test]
    fn commands_are_split_into_words() {
        for (text, expected) in [
            ("ls", "ls"),
            ("  ls\t-la  src ", "ls·-la·src"),
            ("ls | head -5 && pwd || true; date", "ls / head·-5 / pwd / true / date"),
            ("ls |& head", "ls / head"),
            ("ls\n\npwd\n", "ls / pwd"),
            ("ls &&\n pwd;", "ls / pwd"),
            ("cargo test 2>&1 | tail -20", "cargo·test / tail·-20"),
            ("ls >/dev/null 2> /dev/null; ls &>/dev/null </dev/null", "ls / ls"),
            ("echo a2>&1", "echo·a2"),
            ("rg 'a | b; $(c)' \"d && e\" f\\ g", "rg·a | b; $(c)·d && e·f g"),
            ("rg \"end$\" \"a$|b\" \"\\$x \\`y\\` \\\\ \\n\"", "rg·end$·a$|b·$x `y` \\ \\n"),
            ("git commit -m ''", "git·commit·-m·"),
            ("git commit -m \"two\nlines!\"", "git·commit·-m·two\nlines!"),
            ("cargo \\\n  test", "cargo·test"),
            ("l\\s x#y", "ls·x#y"),
            ("ls src/*.rs a?/b[0]", "ls·src/*.rs·a?/b[0]"),
            ("go test ./...", "go·test·./..."),
            ("make A=b --jobs=2", "make·A=b·--jobs=2"),
        ] {
            assert_eq!(split(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn everything_else_is_in_doubt() {
        for text in [
            "",
            " \n",
            "ls $HOME",
            "ls \"$HOME\"",
            "ls \"${HOME}\"",
            "ls $(pwd)",
            "ls \"$(pwd)\"",
            "ls `pwd`",
            "ls \"`pwd`\"",
            "ls $'a'",
            "ls \"$",
            "(ls)",
            "{ ls; }",
            "ls {a,b}",
            "ls &",
            "ls & pwd",
            "ls && && pwd",
            "ls &&",
            "| ls",
            ";ls",
            "ls;;",
            "ls ||| pwd",
            "ls > out",
            "ls >> out",
            "ls >/dev/nullx",
            "ls >/dev/null/x",
            "ls >| /dev/null",
            "ls >&out",
            "ls 2>&1x",
            "ls \"2\">&1",
            "ls < in",
            "cat <<EOF\nx\nEOF",
            "cat <<<x",
            "cat <(ls)",
            "cat <&3",
            "A=b ls",
            "A+=b",
            "cat =ls",
            "ls # comment",
            "#!/bin/sh",
            "! ls",
            "ls !!",
            "ls *",
            "ls .*",
            "ls a/.*/b",
            "ls a/..*",
            "ls .c*",
            "ls ''*",
            "find a -e*",
            "l? x",
            "[ -f x ]",
            "'git status' x",
            "'' x",
            "ls 'open",
            "ls \"open",
            "ls \\",
            "ls\r\nrm x",
            "ls\u{0}",
            "ls 'a\u{1b}b'",
            "ls\u{a0}x",
            "ls\u{2028}x",
            "f() { ls; }",
        ] {
            assert_eq!(split(text), None, "{text}");
        }
    }
}
