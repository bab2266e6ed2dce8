//! Finds references to artifacts in a text. An artifact's id is the SHA-256 of its content.

use std::collections::BTreeSet;

/// Length of a name.
const LENGTH: usize = 64;

/// Every run of exactly 64 lower-case hexadecimal digits that stands by itself.
pub(crate) fn collect_digests(text: &str, into: &mut BTreeSet<String>) {
    let words = text.split(|it: char| !it.is_ascii_alphanumeric());
    let names = words.filter(|it| it.len() == LENGTH && it.bytes().all(is_digit));
    into.extend(names.map(str::to_owned));
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_by_itself() {
        let name = "0123456789abcdef".repeat(4);
        let found = |text: String| {
            let mut all = BTreeSet::new();
            collect_digests(&text, &mut all);
            all.into_iter().collect::<Vec<_>>()
        };
        for text in [
            name.clone(),
            format!("[\"{name}\",\"{name}\"]"),
            format!("/v1/artifacts/{name}"),
            format!("sha256:{name}"),
        ] {
            assert_eq!(found(text), [name.as_str()]);
        }
        for text in [format!("{name}0"), format!("x{name}"), name.to_uppercase(), name[1..].to_owned()] {
            assert_eq!(found(text), [""; 0]);
        }
    }
}
