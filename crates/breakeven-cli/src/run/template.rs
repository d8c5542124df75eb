//! A command with placeholders, and the command lines that it gives for inputs.
//!
//! A command that only has words and quotes is run directly, without a shell. Any other command is
//! run by `sh -c`, and inputs reach it as environment variables: their content is never read as
//! part of the script.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::process::{Command, Stdio};

use super::scan::Part;
pub(crate) use super::scan::Quote;
use super::scan::{CommandError, Piece, Pieces, Scanned, scan};

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
    text: OsString,
    scanned: Scanned,
}

impl Template {
    /// A command without inputs, in which nothing is a placeholder.
    pub(crate) fn without_inputs(text: &OsStr) -> Result<Self, CommandError> {
        let scanned = scan(text.as_bytes().trim_ascii(), true)?;
        Ok(Self::of(text, scanned))
    }

    pub(super) fn new(text: &OsStr) -> Result<Self, CommandError> {
        let mut scanned = scan(text.as_bytes().trim_ascii_end(), false)?;
        if !scanned.has_parts {
            let whole = || vec![Piece::Part(Part::Whole, Quote::None)];
            // The separator before the end also separates the word from the input.
            scanned.script.push(vec![Piece::Text(b" ".to_vec())]);
            scanned.script.push(whole());
            scanned.words.push(whole());
        }
        Ok(Self::of(text, scanned))
    }

    fn of(text: &OsStr, scanned: Scanned) -> Self {
        let text = text.to_owned();
        Self { text, scanned }
    }

    /// True if `sh -c` runs it.
    pub(crate) fn needs_shell(&self) -> bool {
        self.scanned.needs_shell
    }

    /// Has `sh -c` run it, whether it needs that or not.
    pub(crate) fn with_shell(mut self) -> Self {
        self.scanned.needs_shell = true;
        self
    }

    /// The text as given.
    pub(super) fn text(&self) -> &OsStr {
        &self.text
    }

    /// True if it has that placeholder.
    pub(super) fn has(&self, part: Part) -> bool {
        let mut pieces = self.scanned.script.iter().flatten();
        pieces.any(|piece| matches!(piece, Piece::Part(found, _) if *found == part))
    }

    /// The process of a job, with nothing to read.
    pub(crate) fn command(&self, filling: Filling<'_>) -> Command {
        if self.scanned.needs_shell {
            let mut command = Command::new("sh");
            command.stdin(Stdio::null());
            command
                .arg("-c")
                .arg(OsString::from_vec(self.script(filling)));
            for (part, index, value) in self.values(filling) {
                command.env(variable(part, index), OsString::from_vec(value));
            }
            return command;
        }
        let words = filled(
            &self.scanned.words,
            filling.inputs.len(),
            None,
            |piece, index, word| match piece {
                Piece::Text(text) => word.extend_from_slice(text),
                Piece::Part(part, _) => word.extend(filling.value(*part, index)),
            },
        );
        let mut words = words.into_iter().map(OsString::from_vec);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).stdin(Stdio::null());
        command
    }

    /// The job's command, quoted for a shell.
    pub(super) fn shown(&self, filling: Filling<'_>) -> Vec<u8> {
        self.script_with(filling, |part, index, quote, script| {
            script.extend(quoted(&filling.value(part, index), quote));
        })
    }

    /// The script in which variables replace placeholders.
    fn script(&self, filling: Filling<'_>) -> Vec<u8> {
        self.script_with(filling, |part, index, quote, script| {
            let name = variable(part, index);
            let text = match quote {
                Quote::None => format!("\"${{{name}}}\""),
                Quote::Single => format!("'\"${{{name}}}\"'"),
                Quote::Double => format!("${{{name}}}"),
            };
            script.extend(text.into_bytes());
        })
    }

    fn script_with(
        &self,
        filling: Filling<'_>,
        put: impl Fn(Part, usize, Quote, &mut Vec<u8>),
    ) -> Vec<u8> {
        let (script, inputs) = (&self.scanned.script, filling.inputs.len());
        filled(
            script,
            inputs,
            Some(b" "),
            |piece, index, script| match piece {
                Piece::Text(text) => script.extend_from_slice(text),
                Piece::Part(part, quote) => put(*part, index, *quote, script),
            },
        )
        .concat()
    }

    /// The values of a job's variables.
    fn values(&self, filling: Filling<'_>) -> Vec<(Part, usize, Vec<u8>)> {
        let mut values: Vec<(Part, usize, Vec<u8>)> = Vec::new();
        for piece in self.scanned.script.iter().flatten() {
            let Piece::Part(part, _) = piece else {
                continue;
            };
            let inputs = if part.is_of_input() {
                filling.inputs.len()
            } else {
                1
            };
            for index in 0..inputs {
                if !values
                    .iter()
                    .any(|known| (known.0, known.1) == (*part, index))
                {
                    values.push((*part, index, filling.value(*part, index)));
                }
            }
        }
        values
    }
}

impl Filling<'_> {
    fn value(&self, part: Part, index: usize) -> Vec<u8> {
        let input = self.inputs.get(index).copied().unwrap_or_default();
        part.of(input, self.number, self.slot)
    }
}

/// Words with their placeholders replaced. A word with an input is repeated for each of several
/// inputs, joined by `between` if that is given, else as separate words.
fn filled(
    words: &[Pieces],
    inputs: usize,
    between: Option<&[u8]>,
    put: impl Fn(&Piece, usize, &mut Vec<u8>),
) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::with_capacity(words.len() + inputs);
    for word in words {
        let mut parts = word.iter();
        let repeats =
            parts.any(|piece| matches!(piece, Piece::Part(part, _) if part.is_of_input()));
        for index in 0..if repeats { inputs } else { 1 } {
            let mut text = match between.filter(|_| index > 0) {
                Some(between) => between.to_vec(),
                None => Vec::new(),
            };
            word.iter().for_each(|piece| put(piece, index, &mut text));
            all.push(text);
        }
    }
    all
}

/// The variable for a placeholder.
fn variable(part: Part, index: usize) -> String {
    format!("BREAKEVEN_{part:?}_{index}").to_uppercase()
}

/// Text that a shell takes literally within those quotes.
pub(crate) fn quoted(text: &[u8], quote: Quote) -> Vec<u8> {
    let is_harmless = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./+:,@%".contains(byte);
    let mut quoted = Vec::with_capacity(text.len() + 2);
    match quote {
        Quote::None if !text.is_empty() && text.iter().all(is_harmless) => return text.to_vec(),
        Quote::None => {
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

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
