//! Hashes as text.

use super::Hash;

/// A hash as 64 hexadecimal digits.
pub fn hex(hash: &Hash) -> String {
    let digit = |it: u8| char::from_digit(u32::from(it), 16).unwrap_or('0');
    hash.iter().flat_map(|it| [digit(it >> 4), digit(it & 15)]).collect()
}

/// Parses a hash of 64 hexadecimal digits.
pub fn unhex(text: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    if text.len() != 2 * hash.len() || !text.bytes().all(|it| it.is_ascii_hexdigit()) {
        return None;
    }
    for (n, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * n..2 * n + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_round_trips_and_other_text_is_rejected() {
        let hash = super::super::digest("a text");
        assert_eq!(unhex(&hex(&hash)), Some(hash));
        assert_eq!(unhex(&hex(&hash).to_uppercase()), Some(hash));
        for wrong in ["", "00", &"+f".repeat(32), &"0g".repeat(32), &"0".repeat(65)] {
            assert_eq!(unhex(wrong), None, "{wrong}");
        }
    }
}
