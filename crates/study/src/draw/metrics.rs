//! The width of text in an unknown font: that of Helvetica plus a margin.

/// Widths of the printable ASCII characters, in thousandths of the size.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// Substitute fonts differ by about this factor.
pub(crate) const ROOM: f64 = 1.1;

/// The width of a text at a size, on the safe side.
pub(crate) fn width(text: &str, size: f64, bold: bool) -> f64 {
    let one = |c: char| {
        let place = (c as usize).checked_sub(32);
        let wide = if c.is_ascii() { 600 } else { 700 };
        place.and_then(|it| WIDTHS.get(it)).copied().unwrap_or(wide)
    };
    let sum: f64 = text.chars().map(|it| f64::from(one(it))).sum();
    sum / 1000.0 * size * ROOM * if bold { 1.08 } else { 1.0 }
}

/// A text cut to a width, with an ellipsis.
pub(crate) fn cut(text: &str, size: f64, bold: bool, most: f64) -> String {
    if width(text, size, bold) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width(&kept, size, bold) > most - size {
            kept.pop();
            break;
        }
    }
    format!("{}…", kept.trim_end_matches([' ', ',', '.', '(']))
}

/// A text in lines of a width; beyond `lines` it is cut.
pub(crate) fn wrap(text: &str, size: f64, most: f64, lines: usize) -> Vec<String> {
    let mut done: Vec<String> = Vec::new();
    let mut line = String::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.peek() {
        let longer = if line.is_empty() { (*word).to_owned() } else { format!("{line} {word}") };
        let fits = width(&longer, size, false) <= most;
        if fits || line.is_empty() {
            line = longer;
            words.next();
        }
        if !fits {
            if done.len() + 1 == lines {
                let rest: Vec<&str> = words.collect();
                done.push(cut(format!("{line} {}", rest.join(" ")).trim(), size, false, most));
                return done;
            }
            done.push(std::mem::take(&mut line));
        }
    }
    if !line.is_empty() {
        done.push(line);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_are_wider() {
        assert!(width("WWW", 10.0, false) > width("iii", 10.0, false) * 3.0);
        assert!(width("abc", 10.0, true) > width("abc", 10.0, false));
    }

    #[test]
    fn cut_or_wrapped_text_fits() {
        let text = "Handed to the team of reviewers, who answer within a day or say why not";
        assert!(width(&cut(text, 11.0, false, 120.0), 11.0, false) <= 120.0);
        let lines = wrap(text, 11.0, 120.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|it| width(it, 11.0, false) <= 120.0), "{lines:?}");
        assert!(lines[1].ends_with('…'), "{lines:?}");
        assert_eq!(wrap("short", 11.0, 120.0, 2), ["short"]);
        assert_eq!(wrap("", 11.0, 120.0, 2), Vec::<String>::new());
    }
}
