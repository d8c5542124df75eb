//! Rust source without its comments and literals, as far as the checks need it.

/// The code, with every character of a comment, a string or a character
/// literal replaced by a space: lines and columns stay where they were.
pub(super) fn code(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while !rest.is_empty() {
        let previous = out.chars().next_back();
        let blank = literal_or_comment(rest, previous);
        let (taken, left) = match blank {
            0 => rest.split_at(rest.chars().next().map_or(0, char::len_utf8)),
            length => rest.split_at(length),
        };
        match blank {
            0 => out.push_str(taken),
            _ => out.extend(taken.chars().map(|c| if c == '\n' { c } else { ' ' })),
        }
        rest = left;
    }
    out
}

/// True where `word` stands in the code as an identifier of its own.
pub(super) fn names(code: &str, word: &str) -> bool {
    words(code).any(|(_, found)| found == word)
}

/// The identifiers and numbers, each with its offset.
pub(super) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    code.split(move |c| !in_word(c))
        .filter(|word| !word.is_empty())
        .map(|word| (word.as_ptr() as usize - code.as_ptr() as usize, word))
}

/// Length in bytes of the comment or literal that the text begins with; 0 for
/// neither. A string's prefix (`b`, `r`) is left in the code.
fn literal_or_comment(text: &str, previous: Option<char>) -> usize {
    let end_of = |position: Option<usize>| position.unwrap_or(text.len());
    if text.starts_with("//") {
        return end_of(text.find('\n'));
    }
    if text.starts_with("/*") {
        return block_comment(text);
    }
    if text.starts_with('"') {
        return quoted(text, '"');
    }
    if matches!(previous, Some('r')) && text.starts_with('#') {
        let hashes = text.len() - text.trim_start_matches('#').len();
        if text[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let found = text[hashes + 1..].find(&end);
            return end_of(found.map(|at| hashes + 1 + at + end.len()));
        }
    }
    // `'a'` and `'\n'` are characters, `'a` is a lifetime.
    let mut chars = text.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('\''), Some('\\'), _) => quoted(text, '\''),
        (Some('\''), Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 0,
    }
}

/// Length of a literal with escapes, quotes included.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Length of a block comment, which may hold others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

#[test]
fn comments_and_literals_are_blank() {
    for (source, expected) in [
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */ d */ e", "a                   e"),
        (r#"f("a \" b", c)"#, r"f(        , c)"),
        ("r#\"a \" b\"# c", "r          c"),
        ("'\"' + 'a' + x", "    +     + x"),
        (r"'\'' + b", "     + b"),
        ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
        ("\"µ\" b", "    b"),
        ("\"a\nb\" c", "  \n   c"),
    ] {
        assert_eq!(code(source), expected, "{source}");
    }
}

#[test]
fn a_word_is_a_whole_one() {
    assert!(names("use crate::kernels::Kernel;", "kernels"));
    assert!(!names("let our_kernels = 1;", "kernels"));
    let found: Vec<_> = words("a_1 + µ").collect();
    assert_eq!(found, [(0, "a_1"), (6, "µ")]);
}
