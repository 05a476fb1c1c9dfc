//! Foreign text made safe to print.

/// The text with everything replaced that a terminal would obey instead of show; line breaks stay.
pub(crate) fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\n' {
            safe.push(letter);
        } else {
            push(&mut safe, letter);
        }
    }
    safe
}

/// The text for the middle of a sentence: one line of at most `letters` characters.
pub(crate) fn shortened(text: &str, letters: usize) -> String {
    let mut safe = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == letters {
            safe.push('…');
            break;
        }
        match letter {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            letter => push(&mut safe, letter),
        }
    }
    safe
}

/// Adds one character of a source line as it may be shown.
pub(super) fn push(safe: &mut String, letter: char) {
    match letter {
        // The pictures of the control characters lie in the same order.
        '\0'..='\u{1f}' => safe.extend(char::from_u32(u32::from(letter) + 0x2400)),
        '\u{7f}' => safe.push('␡'),
        letter if letter.is_control() || misleads(letter) => safe.push('\u{fffd}'),
        letter => safe.push(letter),
    }
}

/// Characters without a shape that change how the others are laid out.
fn misleads(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}
