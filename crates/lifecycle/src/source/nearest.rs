//! The word that was probably meant.

/// The candidate closest to `word`, if one is close enough to be worth suggesting.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = plainly(word);
    // Nobody mistypes a paragraph; and the distance costs length times length.
    if wanted.is_empty() || wanted.len() > 64 {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(&wanted, &plainly(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= allowed(wanted.len().max(candidate.chars().count())))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// One slip in a short word, two in a word of six letters, three at most.
fn allowed(length: usize) -> usize {
    match length {
        0..=2 => 0,
        3..=5 => 1 + usize::from(length > 3),
        6..=9 => 2,
        _ => 3,
    }
}

/// Letter case and the choice of `-` or `_` are not what distinguishes words.
fn plainly(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).map(|c| if c == '-' { '_' } else { c }).take(65).collect()
}

/// Letters changed, left out, added, or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX - 1);
            let mut best = cell(&above, j) + usize::from(x != y);
            best = best.min(cell(&above, j + 1) + 1).min(cell(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(cell(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let keys = ["from", "to", "by", "takes", "when", "effects", "assigned_to", "maxReviewCycles"];
        for (word, meant) in [
            ("form", Some("from")),
            ("From", Some("from")),
            ("efects", Some("effects")),
            ("take", Some("takes")),
            ("assigned-to", Some("assigned_to")),
            ("maxreviewcycles", Some("maxReviewCycles")),
            ("whne", Some("when")),
            ("colour", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, keys), meant, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(10_000), keys), None);
    }
}
