//! Parses a command as a POSIX shell would: words, quotes, and syntax that needs a shell.

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
            Context::Open(_) | Context::Backticks => self.shell(text),
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

/// What a placeholder is replaced by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Whole,
    NoExtension,
    Name,
    Folder,
    NameNoExtension,
    /// The job's number, from 1.
    Number,
    /// The number of the job's slot, from 1.
    Slot,
}

/// The text of each placeholder, longer ones first.
const PARTS: [(&[u8], Part); 7] = [
    (b"{/.}", Part::NameNoExtension),
    (b"{//}", Part::Folder),
    (b"{}", Part::Whole),
    (b"{.}", Part::NoExtension),
    (b"{/}", Part::Name),
    (b"{#}", Part::Number),
    (b"{%}", Part::Slot),
];

impl Part {
    /// The placeholder at the beginning of `text`, and its length.
    pub(super) fn at(text: &[u8]) -> Option<(Self, usize)> {
        let mut parts = PARTS.into_iter();
        let (name, part) = parts.find(|(name, _)| text.starts_with(name))?;
        Some((part, name.len()))
    }

    /// A placeholder of GNU parallel alone at the beginning of `text`, as in `{1}`, `{2/.}`,
    /// `{-1}`, `{+}`, `{..}` and `{= s/a/b/ =}`.
    pub(super) fn of_parallel(text: &[u8]) -> Option<String> {
        let is_perl = text.starts_with(b"{=");
        let end: &[u8] = if is_perl { b"=}" } else { b"}" };
        let end = text.windows(end.len()).position(|found| found == end)? + end.len();
        let name = text.get(..end)?;
        let inner = name.strip_prefix(b"{")?.strip_suffix(b"}")?;
        let is_it = inner.iter().all(|byte| b"0123456789-+/.#%".contains(byte));
        let is_it = is_perl || is_it && Self::at(text).is_none();
        is_it.then(|| String::from_utf8_lossy(name).into_owned())
    }

    /// True if its text differs for each input of a job.
    pub(super) fn is_of_input(self) -> bool {
        !matches!(self, Self::Number | Self::Slot)
    }

    /// Its replacement.
    pub(super) fn of(self, input: &[u8], number: u64, slot: usize) -> Vec<u8> {
        match self {
            Self::Whole => input.to_vec(),
            Self::NoExtension => without_extension(input).to_vec(),
            Self::Name => name(input).to_vec(),
            Self::Folder => folder(input).to_vec(),
            Self::NameNoExtension => without_extension(name(input)).to_vec(),
            Self::Number => number.to_string().into_bytes(),
            Self::Slot => slot.to_string().into_bytes(),
        }
    }
}

/// Without the last dot of the last name and the text after it.
fn without_extension(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| b"./".contains(byte));
    match end.filter(|end| path.get(*end) == Some(&b'.')) {
        Some(dot) => path.get(..dot).unwrap_or(path),
        None => path,
    }
}

fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// The output of `dirname`.
fn folder(path: &[u8]) -> &[u8] {
    let trimmed = without_slashes(path);
    let Some(slash) = trimmed.iter().rposition(|byte| *byte == b'/') else {
        return if path.starts_with(b"/") { b"/" } else { b"." };
    };
    let folder = without_slashes(trimmed.get(..slash).unwrap_or_default());
    if folder.is_empty() { b"/" } else { folder }
}

/// Without trailing slashes.
fn without_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/');
    path.get(..end.map_or(0, |end| end + 1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_gnu_parallel() {
        // What GNU parallel 20221122 prints for [{.}] [{/}] [{//}] [{/.}].
        let cases = [
            ("a/b.c.d/x", ["a/b.c.d/x", "x", "a/b.c.d", "x"]),
            ("a.b/c", ["a.b/c", "c", "a.b", "c"]),
            ("/x.y", ["/x", "x.y", "/", "x"]),
            ("foo", ["foo", "foo", ".", "foo"]),
            ("./", ["./", "", ".", ""]),
            ("/", ["/", "", "/", ""]),
            ("x/", ["x/", "", ".", ""]),
            (".bashrc", ["", ".bashrc", ".", ""]),
            ("", ["", "", ".", ""]),
            ("a//b.tar.gz", ["a//b.tar", "b.tar.gz", "a", "b.tar"]),
        ];
        for (input, expected) in cases {
            let parts = ["{.}", "{/}", "{//}", "{/.}"].map(|text| {
                let (part, length) = Part::at(text.as_bytes()).expect("a placeholder");
                assert_eq!(length, text.len());
                let found = part.of(input.as_bytes(), 1, 1);
                String::from_utf8(found).expect("text")
            });
            assert_eq!(parts, expected, "{input:?}");
        }
        for text in [
            "{+}",
            "{..}",
            "{/..}",
            "{-1}",
            "{2/.}",
            "{0#}",
            "{= s/}/x/ =}",
        ] {
            let found = Part::of_parallel(format!("{text} {{}}").as_bytes());
            assert_eq!(found.as_deref(), Some(text));
        }
        for text in [
            "{}", "{.}", "{//}", "{#}", "{%}", "{x}", "{a,b}", "{ 1 }", "{= x",
        ] {
            assert_eq!(Part::of_parallel(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Part::at(b"{x}"), None);
        assert_eq!(Part::Number.of(b"a", 12, 3), b"12");
        assert_eq!(Part::Slot.of(b"a", 12, 3), b"3");
    }
}
