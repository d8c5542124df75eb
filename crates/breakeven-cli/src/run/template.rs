//! A command with placeholders, and the command lines that it gives for inputs.
//!
//! A command that only has words and quotes is run directly, without a shell. Any other command is
//! run by `sh -c`, and inputs reach it as environment variables: their content is never read as
//! part of the script.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::process::{Command, Stdio};

/// Why a command cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("it is empty: give a program and its arguments")]
    Empty,
    #[error("a {0} is not closed")]
    Unclosed(&'static str),
    #[error(
        "a placeholder cannot be within `…` or $((…)), nor in or behind a here-document (<<); write $(…), or assign it to a variable before, as in n={{#}}"
    )]
    Unquotable,
    #[error(
        "GNU parallel's {{1}}, {{+}}, {{..}} and {{= =}} are not known: here are {{}}, {{.}}, {{/}}, {{//}}, {{/.}}, {{#}} and {{%}}, of one list of inputs; quote other braces, or write `\\{{`"
    )]
    OfParallel,
}

/// The quoting around a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quote {
    /// None, also within `$(…)`.
    None,
    Single,
    Double,
    Backticks,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Part(Part, Quote),
}

/// The values for a command's placeholders.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Filling<'f> {
    /// Its inputs, one or more.
    pub(super) inputs: &'f [&'f [u8]],
    /// The number of the first input.
    pub(super) number: u64,
    /// The number of the job's slot, from 1.
    pub(super) slot: usize,
}

/// A command with placeholders.
#[derive(Debug)]
pub(crate) struct Template {
    /// The text as given.
    pub(super) text: OsString,
    /// Its words with their quotes, and the text between two words.
    words: Vec<Vec<Piece>>,
    /// `sh -c` runs it.
    pub(crate) needs_shell: bool,
}

/// First words that need a shell.
const OF_SHELLS: &str = " . : alias bg break case cd command continue eval exec exit export fc fg for \
    function getopts hash if jobs local read readonly return set shift times trap type ulimit \
    umask unalias unset until wait while ";

impl Template {
    /// A command without inputs, in which nothing is a placeholder.
    pub(crate) fn without_inputs(text: &OsStr) -> Result<Self, CommandError> {
        Self::scan(text, true)
    }

    pub(super) fn new(text: &OsStr) -> Result<Self, CommandError> {
        let mut template = Self::scan(text, false)?;
        let mut pieces = template.words.iter().flatten();
        if !pieces.any(|piece| matches!(piece, Piece::Part(..))) {
            template.words.push(vec![Piece::Text(b" ".to_vec())]);
            let whole = Piece::Part(Part::Whole, Quote::None);
            template.words.push(vec![whole]);
        }
        Ok(template)
    }

    /// Parses a command as a POSIX shell would, as far as quotes, words and placeholders go.
    fn scan(text: &OsStr, is_literal: bool) -> Result<Self, CommandError> {
        let whole = text.as_bytes().trim_ascii();
        let (mut rest, mut words, mut needs_shell) = (whole, vec![Vec::new()], false);
        // The quotes around the current byte, the innermost last.
        let mut quotes = vec![Quote::None];
        let mut is_behind_here_document = false;
        let part_at = |text| Part::at(text).filter(|_| !is_literal);
        while let [byte, ..] = rest {
            let (quote, is_top) = (
                quotes.last().copied().unwrap_or(Quote::None),
                quotes.len() == 1,
            );
            if let Some((part, length)) = part_at(rest) {
                if quote == Quote::Backticks || is_behind_here_document {
                    return Err(CommandError::Unquotable);
                }
                push(&mut words, Piece::Part(part, quote));
                rest = &rest[length..];
                continue;
            }
            let before = &whole[..whole.len() - rest.len()];
            let is_parallels = matches!(rest, [b'{', b'0'..=b'9' | b'+' | b'-' | b'=' | b'.', ..]);
            if is_parallels && quote == Quote::None && !is_literal {
                return Err(CommandError::OfParallel);
            }
            let through = |end: &[u8]| {
                let at = rest.windows(end.len()).position(|found| found == end);
                at.map_or(rest.len(), |at| at + end.len())
            };
            let mut length = 1;
            match (quote, byte) {
                (Quote::Single, b'\'') | (Quote::Double, b'"') | (Quote::Backticks, b'`') => {
                    _ = quotes.pop();
                }
                (Quote::Single, _) => {}
                (_, b'\\') => length = rest.len().min(2),
                (Quote::Backticks, _) => {}
                (_, b'`') => quotes.push(Quote::Backticks),
                (_, b'$') if rest.starts_with(b"$((") => {
                    length = through(b"))");
                    let mut parts = (0..length).filter_map(|at| part_at(&rest[at..]));
                    if parts.next().is_some() {
                        return Err(CommandError::Unquotable);
                    }
                }
                (_, b'$') if rest.starts_with(b"$(") => {
                    quotes.push(Quote::None);
                    length = 2;
                }
                (_, b'$') if rest.starts_with(b"${") => length = through(b"}"),
                (Quote::Double, _) => {}
                (Quote::None, b'\'') => quotes.push(Quote::Single),
                (Quote::None, b'"') => quotes.push(Quote::Double),
                (Quote::None, b'(') if !is_top => quotes.push(Quote::None),
                (Quote::None, b')') if !is_top => _ = quotes.pop(),
                (Quote::None, b'#')
                    if before.last().is_none_or(|last| b" \t\n;".contains(last)) =>
                {
                    let end = rest.iter().position(|byte| *byte == b'\n');
                    length = end.unwrap_or(rest.len());
                    needs_shell = true;
                }
                (Quote::None, b'<') => is_behind_here_document |= rest.starts_with(b"<<"),
                (Quote::None, b'=') => needs_shell |= words.len() == 1,
                (Quote::None, _) => {}
            }
            needs_shell |= match quote {
                Quote::None => b"\n;&|<>()*?[]~!{}$`".contains(byte),
                Quote::Double => b"$`".contains(byte),
                Quote::Single | Quote::Backticks => false,
            };
            let (text, behind) = rest.split_at(length);
            let text = Piece::Text(text.to_vec());
            match quote == Quote::None && is_top && b" \t\n;&|<>()".contains(byte) {
                true => words.extend([vec![text], Vec::new()]),
                false => push(&mut words, text),
            }
            rest = behind;
        }
        match quotes[..] {
            [_] => {}
            [.., Quote::Backticks] => return Err(CommandError::Unclosed("backtick")),
            [.., Quote::None] => return Err(CommandError::Unclosed("$(")),
            _ => return Err(CommandError::Unclosed("quote")),
        }
        match words.first().map(Vec::as_slice) {
            _ if whole.is_empty() => return Err(CommandError::Empty),
            Some([Piece::Text(name)]) => {
                let name = format!(" {} ", String::from_utf8_lossy(name));
                needs_shell |= OF_SHELLS.contains(&name);
            }
            _ => {}
        }
        let text = text.to_owned();
        Ok(Self {
            text,
            words,
            needs_shell,
        })
    }

    /// True if it has that placeholder.
    pub(super) fn has(&self, part: Part) -> bool {
        let mut pieces = self.words.iter().flatten();
        pieces.any(|piece| matches!(piece, Piece::Part(found, _) if *found == part))
    }

    /// The process of a job, with nothing to read.
    pub(crate) fn command(&self, filling: Filling<'_>) -> Command {
        let mut command;
        if self.needs_shell {
            command = Command::new("sh");
            let script = self.filled(filling, |part, index, quote, value| {
                let name = format!("BREAKEVEN_{part:?}_{index}").to_uppercase();
                let text = match quote {
                    Quote::Single => format!("'\"${{{name}}}\"'"),
                    Quote::Double => format!("${{{name}}}"),
                    Quote::None | Quote::Backticks => format!("\"${{{name}}}\""),
                };
                command.env(name, OsString::from_vec(value));
                text.into_bytes()
            });
            command.arg("-c").arg(OsString::from_vec(script));
        } else {
            let words = shlex::bytes::split(&self.shown(filling)).unwrap_or_default();
            let mut words = words.into_iter().map(OsString::from_vec);
            command = Command::new(words.next().unwrap_or_default());
            command.args(words);
        }
        command.stdin(Stdio::null());
        command
    }

    /// The job's command, quoted for a shell.
    pub(super) fn shown(&self, filling: Filling<'_>) -> Vec<u8> {
        self.filled(filling, |_, _, quote, value| quoted(&value, quote))
    }

    /// The command with what `put` makes of the placeholders' values. A word with an input is
    /// repeated for each of several inputs.
    fn filled(
        &self,
        filling: Filling<'_>,
        mut put: impl FnMut(Part, usize, Quote, Vec<u8>) -> Vec<u8>,
    ) -> Vec<u8> {
        let mut line = Vec::new();
        let is_of_input =
            |piece: &Piece| matches!(piece, Piece::Part(part, _) if part.is_of_input());
        for word in &self.words {
            let repeats = match word.iter().any(is_of_input) {
                true => filling.inputs.len(),
                false => 1,
            };
            for index in 0..repeats {
                if index > 0 {
                    line.push(b' ');
                }
                let input = filling.inputs.get(index).copied().unwrap_or_default();
                for piece in word {
                    match piece {
                        Piece::Text(text) => line.extend_from_slice(text),
                        Piece::Part(part, quote) => {
                            let value = part.of(input, filling.number, filling.slot);
                            line.extend(put(*part, index, *quote, value));
                        }
                    }
                }
            }
        }
        line
    }
}

/// Adds to the last word.
fn push(words: &mut [Vec<Piece>], piece: Piece) {
    let Some(word) = words.last_mut() else { return };
    match (word.last_mut(), piece) {
        (Some(Piece::Text(last)), Piece::Text(text)) => last.extend(text),
        (_, piece) => word.push(piece),
    }
}

/// Text that a shell takes literally within those quotes.
pub(crate) fn quoted(text: &[u8], quote: Quote) -> Vec<u8> {
    let is_harmless = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./+:,@%".contains(byte);
    let mut quoted = Vec::with_capacity(text.len() + 2);
    match quote {
        Quote::None if !text.is_empty() && text.iter().all(is_harmless) => return text.to_vec(),
        Quote::None | Quote::Backticks => {
            quoted.push(b'\'');
            quoted.extend(self::quoted(text, Quote::Single));
            quoted.push(b'\'');
        }
        Quote::Single => {
            for byte in text {
                match byte {
                    b'\'' => quoted.extend(b"'\\''"),
                    byte => quoted.push(*byte),
                }
            }
        }
        Quote::Double => {
            for byte in text {
                if b"\\\"$`".contains(byte) {
                    quoted.push(b'\\');
                }
                quoted.push(*byte);
            }
        }
    }
    quoted
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
#[path = "template_tests.rs"]
mod tests;
