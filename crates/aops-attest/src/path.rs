//! Converts a path in git, which may have any bytes, to a JSON string and back.

/// Unchanged if possible, otherwise in quotation marks with octal escapes, which git's own tools can also
/// read.
pub fn spell(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(text) if !text.starts_with('"') => text.to_owned(),
        _ => {
            let inside: String = path.iter().map(|byte| spell_byte(*byte)).collect();
            format!("\"{inside}\"")
        }
    }
}

fn spell_byte(byte: u8) -> String {
    match byte {
        b'"' | b'\\' | 0..0x20 | 0x7f.. => format!("\\{byte:03o}"),
        _ => char::from(byte).to_string(),
    }
}

/// `None` for a spelling that `spell` does not produce.
pub fn read(text: &str) -> Option<Vec<u8>> {
    let Some(quoted) = text.strip_prefix('"') else { return Some(text.as_bytes().to_vec()) };
    let mut path = Vec::new();
    let mut rest = quoted.strip_suffix('"')?;
    while let Some(first) = rest.chars().next() {
        let long = if first == '\\' { 4 } else { first.len_utf8() };
        let (one, after) = rest.split_at_checked(long)?;
        match one.strip_prefix('\\') {
            Some(digits) => path.push(u8::from_str_radix(digits, 8).ok()?),
            None => path.extend_from_slice(one.as_bytes()),
        }
        rest = after;
    }
    (spell(&path) == text).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn odd_paths() {
        assert_eq!(spell("src/ä b.py".as_bytes()), "src/ä b.py");
        assert_eq!(spell(b"a\xff\"\n"), r#""a\377\042\012""#);
        assert_eq!(spell(b"\"a\""), r#""\042a\042""#);
        for odd in [r#"""#, r#""a""#, r#""\377"x"#, r#""\9""#, r#""\777""#, r#""\+12\377""#] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }

    proptest! {
        #[test]
        fn there_and_back(path in prop::collection::vec(any::<u8>(), 0..20), text in "\"?[\\\\\"0-7é]{0,6}\"?") {
            let spelled = spell(&path);
            prop_assert_eq!(read(&spelled), Some(path));
            if let Some(read) = read(&text) {
                prop_assert_eq!(spell(&read), text);
            }
        }
    }
}
