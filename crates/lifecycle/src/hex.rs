//! Bytes as hexadecimal digits.

/// Two lower-case digits for each byte.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let digit = |it: u8| char::from_digit(u32::from(it), 16).unwrap_or('0');
    let mut text = String::with_capacity(bytes.len() * 2);
    text.extend(bytes.iter().flat_map(|it| [digit(it >> 4), digit(it & 15)]));
    text
}

/// Exactly `N` bytes from digits of either case; none if the text is anything else.
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |it: u8| char::from(it).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let mut bytes = [0; N];
    if pairs.len() != N {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

/// Sixteen bytes in the form of a UUID, with four hyphens.
pub fn encode_uuid(bytes: &[u8; 16]) -> String {
    let mut text = encode(bytes);
    [20, 16, 12, 8].into_iter().for_each(|at| text.insert(at, '-'));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_bytes_decode_to_the_same_bytes() {
        let bytes: Vec<u8> = (0..=255).collect();
        let bytes: [u8; 256] = std::array::from_fn(|n| bytes[n]);
        assert_eq!(decode(&encode(bytes)), Some(bytes));
        assert_eq!(decode(&encode(bytes).to_uppercase()), Some(bytes));
        assert_eq!(encode([0, 9, 0xa0, 0xff]), "0009a0ff");
    }

    #[test]
    fn only_the_right_number_of_digits_decodes() {
        for wrong in ["", "0", "000", "0000", "+f", "0g", " 0", "é"] {
            assert_eq!(decode::<1>(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_uuid_has_its_hyphens() {
        let bytes = std::array::from_fn(|n| n as u8 * 17);
        assert_eq!(encode_uuid(&bytes), "00112233-4455-6677-8899-aabbccddeeff");
    }
}
