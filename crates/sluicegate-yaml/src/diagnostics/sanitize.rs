//! Sanitizing of untrusted text for a terminal.

/// Replaces all characters that control a terminal, except line breaks.
pub fn printable(text: &str) -> String {
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

/// Shortens a text to one line of at most `letters` characters, for a sentence.
pub fn shortened(text: &str, letters: usize) -> String {
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

/// Appends a character of a source line, or its safe replacement.
pub(super) fn push(safe: &mut String, letter: char) {
    match letter {
        // The symbols for control characters have the same order.
        '\0'..='\u{1f}' => safe.extend(char::from_u32(u32::from(letter) + 0x2400)),
        '\u{7f}' => safe.push('␡'),
        letter if letter.is_control() || is_deceptive(letter) => safe.push('\u{fffd}'),
        letter => safe.push(letter),
    }
}

/// Whether a character is invisible and changes the layout of others.
fn is_deceptive(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}
