//! Parses a command as a POSIX shell would: words, quotes, and syntax that needs a shell.

use super::part::Part;

/// The quoting around a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quote {
    None,
    Single,
    Double,
}

/// A piece of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(Vec<u8>),
    Part(Part, Quote),
}

/// Adjacent pieces: a word, or the text between two words.
pub(super) type Pieces = Vec<Piece>;

/// Why a command cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("it is empty: give a program and its arguments")]
    Empty,
    #[error("a {0} is not closed")]
    Unclosed(&'static str),
    #[error("a placeholder is within `…`; write $(…) in its place")]
    InBackticks,
    #[error(
        "a placeholder is in or behind a here-document (<<); use printf or a file in its place"
    )]
    InHereDocument,
    #[error(
        "{0} is GNU parallel's: here are {{}}, {{.}}, {{/}}, {{//}}, {{/.}}, {{#}} and {{%}}, of one list of inputs; take an input apart in the command, and put several values into one input; `\\{0}` is no placeholder"
    )]
    OfParallel(String),
    #[error("a placeholder is within $((…)); assign it to a variable before, as in n={{#}}")]
    InSum,
}

/// A parsed command.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// Its text, word by word, with its quotes.
    pub(super) script: Vec<Pieces>,
    /// Its words without quotes.
    pub(super) words: Vec<Pieces>,
    pub(super) needs_shell: bool,
    /// True if quoting alone protects the replacements: no placeholder is within syntax that a
    /// shell reads in another way.
    pub(super) is_plain: bool,
    /// It has a placeholder.
    pub(super) has_parts: bool,
}

/// Contexts that a shell reads differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    /// Outside of quotes; in `$(…)`, with this many open parentheses.
    Open(usize),
    Single,
    Double,
    Backticks,
}

/// First words that need a shell.
const OF_SHELLS: &str = " . : alias bg break case cd command continue eval exec exit export fc fg for \
    function getopts hash if jobs local read readonly return set shift times trap type ulimit \
    umask unalias unset until wait while ";

#[derive(Default)]
struct Scanner {
    found: Scanned,
    contexts: Vec<Context>,
    /// The current word: with its quotes, and without.
    script: Pieces,
    word: Pieces,
    is_in_word: bool,
    is_behind_here_document: bool,
    /// Placeholders are literal text.
    is_literal: bool,
}

/// Parses a command; in a literal one nothing is a placeholder.
pub(super) fn scan(text: &[u8], is_literal: bool) -> Result<Scanned, CommandError> {
    let mut scanner = Scanner {
        contexts: vec![Context::Open(0)],
        is_literal,
        ..Scanner::default()
    };
    scanner.found.is_plain = true;
    let mut rest = text;
    while !rest.is_empty() {
        scanner.refuse_parallels(text, rest)?;
        let length = match scanner.context() {
            Context::Open(_) => scanner.open(rest)?,
            Context::Single => scanner.single(rest)?,
            Context::Double => scanner.double(rest)?,
            Context::Backticks => scanner.backticks(rest)?,
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    let unclosed = match &scanner.contexts[..] {
        [_] => None,
        [.., Context::Backticks] => Some("backtick"),
        [.., Context::Open(_)] => Some("$("),
        _ => Some("quote"),
    };
    if let Some(what) = unclosed {
        return Err(CommandError::Unclosed(what));
    }
    scanner.end_word();
    let mut found = scanner.found;
    let Some(first) = found.words.first() else {
        return Err(CommandError::Empty);
    };
    if let [Piece::Text(name)] = &first[..] {
        let name = String::from_utf8_lossy(name);
        found.needs_shell |= OF_SHELLS
            .split(' ')
            .any(|known| known == name && !name.is_empty());
    }
    Ok(found)
}

fn push(pieces: &mut Pieces, text: &[u8]) {
    match pieces.last_mut() {
        Some(Piece::Text(last)) => last.extend_from_slice(text),
        _ => pieces.push(Piece::Text(text.to_vec())),
    }
}

impl Scanner {
    fn context(&self) -> Context {
        self.contexts.last().copied().unwrap_or(Context::Open(0))
    }

    /// The placeholder at the beginning of `rest`, and its length.
    fn part_at(&self, rest: &[u8]) -> Option<(Part, usize)> {
        Part::at(rest).filter(|_| !self.is_literal)
    }

    /// Refuses `{1}`, `{..}`, `{= =}` and similar text, unless it is quoted like the repetition of
    /// a regular expression.
    fn refuse_parallels(&self, text: &[u8], rest: &[u8]) -> Result<(), CommandError> {
        let before = text.get(..text.len() - rest.len()).unwrap_or_default();
        let is_atom = |byte: &u8| byte.is_ascii_alphanumeric() || b"])}.\\*".contains(byte);
        let is_quoted = matches!(self.context(), Context::Single | Context::Double);
        let is_repeat = is_quoted && before.last().is_some_and(is_atom);
        match Part::of_parallel(rest) {
            Some(name) if !self.is_literal && !is_repeat => Err(CommandError::OfParallel(name)),
            _ => Ok(()),
        }
    }

    fn is_top(&self) -> bool {
        self.contexts.len() == 1
    }

    /// Adds text of a word, with and without quotes.
    fn text(&mut self, text: &[u8], meant: &[u8]) -> usize {
        push(&mut self.script, text);
        self.is_in_word = true;
        if !meant.is_empty() {
            push(&mut self.word, meant);
        }
        text.len()
    }

    /// Adds text that needs a shell.
    fn shell(&mut self, text: &[u8]) -> usize {
        self.found.needs_shell = true;
        self.text(text, text)
    }

    fn begin(&mut self, context: Context, text: &[u8]) -> usize {
        self.contexts.push(context);
        match context {
            Context::Single | Context::Double => self.text(text, b""),
            Context::Open(_) | Context::Backticks => {
                self.found.is_plain = false;
                self.shell(text)
            }
        }
    }

    fn end(&mut self, text: &[u8]) -> usize {
        self.contexts.pop();
        self.text(text, b"")
    }

    fn part(&mut self, (part, length): (Part, usize), quote: Quote) -> Result<usize, CommandError> {
        if self.is_behind_here_document {
            return Err(CommandError::InHereDocument);
        }
        self.found.has_parts = true;
        self.is_in_word = true;
        let piece = Piece::Part(part, quote);
        self.word.push(piece.clone());
        self.script.push(piece);
        Ok(length)
    }

    fn end_word(&mut self) {
        if std::mem::take(&mut self.is_in_word) {
            self.found.script.push(std::mem::take(&mut self.script));
            self.found.words.push(std::mem::take(&mut self.word));
        }
    }

    /// The text between two words; within `$(…)` it belongs to the outer word.
    fn between(&mut self, text: &[u8]) -> usize {
        if !self.is_top() {
            return self.text(text, b"");
        }
        self.end_word();
        self.found.script.push(vec![Piece::Text(text.to_vec())]);
        text.len()
    }

    fn open(&mut self, rest: &[u8]) -> Result<usize, CommandError> {
        if let Some(part) = self.part_at(rest) {
            return self.part(part, Quote::None);
        }
        let one = rest.get(..1).unwrap_or_default();
        Ok(match rest {
            [b'\\', b'\n', ..] => self.between(b"\\\n"),
            [b'\\', next, ..] => self.text(&[b'\\', *next], &[*next]),
            [b'\'', ..] => self.begin(Context::Single, one),
            [b'"', ..] => self.begin(Context::Double, one),
            [b'`', ..] => self.begin(Context::Backticks, one),
            [b'$', ..] => self.dollar(rest)?,
            [b' ' | b'\t', ..] => self.between(one),
            [b'#', ..] if !self.is_in_word || self.is_behind_blank() => self.comment(rest),
            [b'(', ..] => {
                self.nest(1);
                self.found.needs_shell = true;
                self.between(one)
            }
            [b')', ..] if self.context() == Context::Open(0) && !self.is_top() => self.end(one),
            [b')', ..] => {
                self.nest(-1);
                self.found.needs_shell = true;
                self.between(one)
            }
            [b'\n' | b';' | b'&' | b'|' | b'<' | b'>', ..] => {
                self.is_behind_here_document |= rest.starts_with(b"<<");
                self.found.needs_shell = true;
                self.between(one)
            }
            [b'*' | b'?' | b'[' | b']' | b'~' | b'!' | b'{' | b'}', ..] => self.shell(one),
            // An assignment before the first word.
            [b'=', ..] if self.found.words.is_empty() => self.shell(one),
            _ => self.text(one, one),
        })
    }

    /// Counts a parenthesis of `$(…)`.
    fn nest(&mut self, by: isize) {
        if let Some(Context::Open(open)) = self.contexts.last_mut() {
            *open = open.saturating_add_signed(by);
        }
    }

    /// Within `$(…)`, where words do not end.
    fn is_behind_blank(&self) -> bool {
        let last = self.script.last();
        !self.is_top() && matches!(last, Some(Piece::Text(text)) if text.ends_with(b" "))
    }

    /// A comment has no placeholders.
    fn comment(&mut self, rest: &[u8]) -> usize {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let comment = rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest);
        self.found.is_plain = false;
        self.found.needs_shell = true;
        self.between(comment)
    }

    /// `$(…)`, a variable, or `${…}` and `$((…))`, which may not have placeholders.
    fn dollar(&mut self, rest: &[u8]) -> Result<usize, CommandError> {
        if rest.starts_with(b"$((") {
            let end = rest.windows(2).position(|two| two == b"))");
            let sum = rest.get(..end.map_or(1, |end| end + 2)).unwrap_or(rest);
            let mut parts = (0..sum.len()).filter_map(|at| self.part_at(sum.get(at..)?));
            return match parts.next() {
                Some(_) => Err(CommandError::InSum),
                None => Ok(self.shell(sum)),
            };
        }
        if rest.starts_with(b"$(") {
            return Ok(self.begin(Context::Open(0), b"$("));
        }
        if rest.starts_with(b"${") {
            let end = rest.iter().position(|byte| *byte == b'}');
            return Ok(self.shell(rest.get(..=end.unwrap_or(0)).unwrap_or(rest)));
        }
        Ok(self.shell(b"$"))
    }

    fn single(&mut self, rest: &[u8]) -> Result<usize, CommandError> {
        if let Some(part) = self.part_at(rest) {
            return self.part(part, Quote::Single);
        }
        let one = rest.get(..1).unwrap_or_default();
        Ok(match rest {
            [b'\'', ..] => self.end(one),
            _ => self.text(one, one),
        })
    }

    fn double(&mut self, rest: &[u8]) -> Result<usize, CommandError> {
        if let Some(part) = self.part_at(rest) {
            return self.part(part, Quote::Double);
        }
        let one = rest.get(..1).unwrap_or_default();
        Ok(match rest {
            [b'\\', b'\n', ..] => self.text(b"\\\n", b""),
            [b'\\', next @ (b'$' | b'`' | b'"' | b'\\'), ..] => {
                self.text(&[b'\\', *next], &[*next])
            }
            // A brace that begins no placeholder.
            [b'\\', b'{', ..] => self.text(b"\\{", b"\\{"),
            [b'"', ..] => self.end(one),
            [b'`', ..] => self.begin(Context::Backticks, one),
            [b'$', ..] => self.dollar(rest)?,
            _ => self.text(one, one),
        })
    }

    fn backticks(&mut self, rest: &[u8]) -> Result<usize, CommandError> {
        let length = match rest {
            _ if self.part_at(rest).is_some() => return Err(CommandError::InBackticks),
            [b'`', ..] => return Ok(self.end(b"`")),
            [b'\\', _, ..] => 2,
            _ => 1,
        };
        let text = rest.get(..length).unwrap_or(rest);
        Ok(self.text(text, text))
    }
}
