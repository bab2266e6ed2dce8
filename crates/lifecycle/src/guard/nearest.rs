//! Suggests the nearest known name.

/// The candidate closest to `word`, if it is close enough to be a slip of the fingers.
///
/// Letter case counts for little: `Reviewcycles` finds `reviewCycles`. A kind finds its lifecycle: `article` finds
/// `articles.article`.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = letters(word)?;
    let allowed = (letters.len() / 3).max(1);
    let away = |it: &str| match it.split_once('.') {
        Some((_, kind)) if kind == word => Some(0),
        _ => Some(distance(&letters, &self::letters(it)?)),
    };
    candidates
        .into_iter()
        .filter(|it| *it != word)
        .filter_map(|it| Some((away(it)?, it)))
        .filter(|(distance, it)| *distance <= allowed && *distance < it.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, it)| it)
}

/// The question that proposes the nearest candidate, to be added to a message: `. Did you mean title?`. Empty if none
/// is near. A kind proposes every lifecycle of that kind.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<&str> = candidates.into_iter().collect();
    let is_of_kind = |it: &&&str| it.split_once('.').is_some_and(|(_, kind)| kind == word);
    let of_kind: Vec<&str> = all.iter().filter(is_of_kind).copied().collect();
    match of_kind.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!(". Did you mean {} or {last}?", others.join(", "))
        }
        _ => nearest(word, all).map(|it| format!(". Did you mean {it}?")).unwrap_or_default(),
    }
}

/// Proposes the nearest candidate; lists all of them if none is near: `. Its states: OPEN, CLOSED`.
pub fn did_you_mean_or_all<'a>(
    word: &str,
    title: &str,
    candidates: impl Iterator<Item = &'a str> + Clone,
) -> String {
    match did_you_mean(word, candidates.clone()) {
        none if none.is_empty() => format!(". {title}: {}", candidates.collect::<Vec<_>>().join(", ")),
        near => near,
    }
}

/// Longer names are no slips; leaving them out bounds the work.
const LONGEST: usize = 64;

fn letters(word: &str) -> Option<Vec<char>> {
    let letters: Vec<char> = word.chars().take(LONGEST + 1).map(|it| it.to_ascii_lowercase()).collect();
    (letters.len() <= LONGEST).then_some(letters)
}

/// Insertions, deletions, substitutions and swaps of neighbours that lead from one to the other.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut previous = None;
    for (row, &x) in a.iter().enumerate() {
        let mut current = vec![row + 1];
        let mut left = row + 1;
        let mut behind = None;
        for (column, &y) in b.iter().enumerate() {
            let cell = |line: &[usize], at: usize| line.get(at).copied().unwrap_or(usize::MAX - 1);
            let mut best = (cell(&above, column) + usize::from(x != y)).min(cell(&above, column + 1) + 1);
            best = best.min(left + 1);
            if previous == Some(y) && behind == Some(x) {
                best = best.min(cell(&before, column.wrapping_sub(1)) + 1);
            }
            current.push(best);
            left = best;
            behind = Some(y);
        }
        before = std::mem::replace(&mut above, current);
        previous = Some(x);
    }
    above.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_the_nearest_name() {
        let known = ["reviewCycles", "reviewerId", "assigneeIds", "title", "id"];
        for (slip, meant) in [
            ("revewCycles", Some("reviewCycles")),
            ("reviewcycles", Some("reviewCycles")),
            ("titel", Some("title")),
            ("assigneeId", Some("assigneeIds")),
            ("di", Some("id")),
            ("x", None),
            ("somethingElse", None),
            ("", None),
        ] {
            assert_eq!(nearest(slip, known), meant, "{slip}");
        }
    }

    #[test]
    fn a_kind_finds_its_lifecycle() {
        assert_eq!(nearest("article", ["articles.reader", "articles.article"]), Some("articles.article"));
        assert_eq!(nearest("articles.artcle", ["articles.article"]), Some("articles.article"));
        assert_eq!(nearest("reading", ["articles.article"]), None);
        let known = ["articles.task", "build.task", "build.tasks", "shop.task", "shop.cart"];
        let question = ". Did you mean articles.task, build.task or shop.task?";
        assert_eq!(did_you_mean("task", known), question);
        assert_eq!(did_you_mean("cart", known), ". Did you mean shop.cart?");
        assert_eq!(did_you_mean("build.tsk", known), ". Did you mean build.task?");
        assert_eq!(did_you_mean("reading", known), "");
    }

    #[test]
    fn very_long_names_are_not_measured() {
        let long = "a".repeat(1000);
        assert_eq!(nearest(&long, [long.as_str(), "a"]), None);
    }

    #[test]
    fn swapped_neighbours_are_one_slip() {
        let letters = |it: &str| it.chars().collect::<Vec<_>>();
        for (a, b, expected) in
            [("ab", "ba", 1), ("", "abc", 3), ("kitten", "sitting", 3), ("same", "same", 0), ("abc", "", 3)]
        {
            assert_eq!(distance(&letters(a), &letters(b)), expected, "{a} {b}");
        }
    }
}
