//! Names as other languages write them.

/// `createEntity` and `Last-Event-ID` as `create_entity` and `last_event_id`.
pub fn snake_case(name: &str) -> String {
    let mut written = String::new();
    let mut lower = false;
    for letter in name.chars() {
        if letter == '-' || letter == '.' {
            written.push('_');
            lower = false;
            continue;
        }
        if letter.is_ascii_uppercase() && lower {
            written.push('_');
        }
        lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        written.push(letter.to_ascii_lowercase());
    }
    written
}

/// `If-Match` as `ifMatch`.
pub fn camel_case(name: &str) -> String {
    let mut words = name.split('-');
    let mut written = words.next().map(lower_first).unwrap_or_default();
    for word in words {
        let mut letters = word.chars();
        written.extend(letters.next().map(|it| it.to_ascii_uppercase()));
        written.push_str(&letters.as_str().to_ascii_lowercase());
    }
    written
}

fn lower_first(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|it| it.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// A text in lines of at most `width` letters.
pub fn wrap_lines(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_the_way_of_the_language() {
        assert_eq!(snake_case("createEntity"), "create_entity");
        assert_eq!(snake_case("Last-Event-ID"), "last_event_id");
        assert_eq!(snake_case("sha256"), "sha256");
        assert_eq!(camel_case("If-Match"), "ifMatch");
        assert_eq!(camel_case("dryRun"), "dryRun");
        assert_eq!(wrap_lines("one two three", 7), ["one two", "three"]);
    }
}
