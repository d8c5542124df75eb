//! A break-even as a constant in a source file. The comment above it has its interval, the devices,
//! the date, and the command that measures it again.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use breakeven_judge::Outcome;
use breakeven_judge::page::clean;
use breakeven_profile::profile::Device;
use breakeven_profile::unit;
use clap::Parser;

use super::Measured;
use crate::exit::Interrupted;
use crate::sweep::{Language, SweepArgs};

/// What begins the line that has the command.
const COMMAND: &str = "$ breakeven sweep ";

/// What begins a comment, longer ones first.
const COMMENTS: [&str; 3] = ["///", "//", "#"];

/// What a constant is if the GPU never pays.
const NEVER: [&str; 3] = ["usize::MAX", "SIZE_MAX", "float(\"inf\")"];

/// A constant that was read.
#[derive(Debug, PartialEq)]
pub(super) struct Constant {
    /// The line of its command, from 1.
    pub(super) line: usize,
    pub(super) name: String,
    /// Values from this one on are for the GPU; infinite if none is.
    pub(super) value: f64,
    /// The command line that measures it.
    pub(super) words: Vec<String>,
}

/// The source of the constant; none if the times do not decide.
pub(super) fn emit(args: &SweepArgs, measured: &Measured, language: Language) -> Option<String> {
    let (swept, profile) = (&measured.swept, &measured.session.profile);
    let rival = swept.rivals.first()?;
    let value = rival.break_even?.constant()?;
    if value.is_infinite() && !swept.not_measured.is_empty() {
        // It may pay at a size that was left out.
        return None;
    }
    let environment = &profile.environment;
    let mut gpus = environment.gpus.iter();
    let gpu = gpus.clone().find(|gpu| gpu.id == rival.device);
    let gpu = gpu.or_else(|| gpus.find(|gpu| !gpu.is_software()));
    let gpu = gpu.map_or_else(
        || "no known GPU".to_owned(),
        |gpu| {
            let driver = gpu
                .driver
                .as_ref()
                .map(|driver| format!(", driver {driver}"));
            let name = gpu.name.as_deref().unwrap_or("unnamed");
            format!("{} ({name}{})", gpu.id, driver.unwrap_or_default())
        },
    );
    let cpu = environment.cpu.as_ref().and_then(|cpu| cpu.model.clone());
    let cpu = cpu.unwrap_or_else(|| "unnamed".to_owned());
    let date = profile.created.as_deref().unwrap_or_default();
    let date = date.get(..10).unwrap_or(date);
    let text = format!("breakeven: {}.", swept.answer(rival, &rival.device));
    let on = format!(
        "Measured on {gpu} and {} ({cpu}) on {date} by:",
        Device::CPU
    );
    let words = words(args, &rival.device);
    let command = shlex::try_join(words.iter().map(String::as_str)).ok()?;
    let command = format!("{COMMAND}{command}");
    Some(source(language, &swept.name, value, [text, on], &command))
}

fn source(language: Language, name: &str, value: f64, texts: [String; 2], command: &str) -> String {
    let name = identifier(name);
    let number = unit::count(value);
    let [grouped, plain] = ["_", ""].map(|between| number.replace(' ', between));
    let [rust, c, python] = match value.is_finite() {
        true => [&*grouped, &*plain, &*grouped],
        false => NEVER,
    };
    let (comment, before, constant) = match language {
        Language::Rust => ("///", "", format!("pub const {name}: usize = {rust};")),
        Language::C => (
            "//",
            "#include <stddef.h>\n#include <stdint.h>\n",
            format!("static const size_t {name} = {c};"),
        ),
        Language::Cpp => (
            "//",
            "#include <cstddef>\n#include <cstdint>\n",
            format!("constexpr std::size_t {name} = {c};"),
        ),
        Language::Python => ("#", "", format!("{name} = {python}")),
    };
    // No name of a device or driver may end the comment.
    let printable = |text: String| text.replace(|c: char| !(' '..='~').contains(&c), "?");
    let [text, on] = texts.map(printable);
    format!("{before}{comment} {text}\n{comment} {on}\n{comment} {command}\n{constant}\n")
}

/// `NAME_GPU_FROM`, of what an identifier may have.
fn identifier(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    let name = upper.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    format!("{}{name}_GPU_FROM", if begins_well { "" } else { "N_" })
}

/// The options of a sweep that measures the same.
fn words(args: &SweepArgs, device: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut add = |option: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([option.to_owned(), value]);
        }
    };
    add("--cpu", args.cpu.clone());
    add("--gpu", args.gpu.clone());
    add("--name", args.name.clone());
    add("--over", args.over.map(|over| over.to_string()));
    add("--from", args.from.map(|from| from.to_string()));
    add("--to", args.to.map(|to| to.to_string()));
    add("--rounds", args.rounds.map(|rounds| rounds.to_string()));
    match args.kernel {
        Some(kernel) => {
            add("--device", Some(device.to_owned()));
            add("--iterations", Some(args.iterations.to_string()));
            add("--warmup", Some(args.warmup.to_string()));
            words.insert(0, kernel.to_owned());
        }
        None => {
            let limit = args.time_limit.as_secs_f64();
            add("--time-limit", Some(format!("{limit}s")));
        }
    }
    words
}

/// The constants of a source file.
pub(super) fn read(path: &Path) -> Result<Vec<Constant>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let constants = constants(&text);
    let constants = constants.map_err(|(line, why)| {
        anyhow::anyhow!(
            "{}:{line}: {why}; emit the constant anew with --emit",
            path.display()
        )
    })?;
    if constants.is_empty() {
        bail!(
            "{}: has no constants of `breakeven sweep --emit`",
            path.display()
        );
    }
    Ok(constants)
}

/// The constants, or the line at which something is wrong.
fn constants(text: &str) -> Result<Vec<Constant>, (usize, &'static str)> {
    let mut constants = Vec::new();
    // The line of a constant's comment, and its command.
    let mut open: Option<(usize, Option<Vec<String>>)> = None;
    for (index, line) in text.lines().enumerate() {
        let (line, number) = (line.trim(), index + 1);
        let sign = COMMENTS.into_iter().find(|sign| line.starts_with(sign));
        if let Some(comment) = sign.and_then(|sign| line.strip_prefix(sign)).map(str::trim) {
            if comment.starts_with("breakeven: ") && comment.contains(" pays ") {
                if let Some((line, _)) = open {
                    return Err((line, "no constant is below this comment"));
                }
                open = Some((number, None));
            } else if let Some(command) = comment.strip_prefix(COMMAND) {
                let words = shlex::split(command).ok_or((number, "a quote is not closed"))?;
                open = Some((number, Some(words)));
            }
        } else if !line.is_empty()
            && let Some((line_of, words)) = open.take()
        {
            let words = words.ok_or((line_of, "this comment has no command"))?;
            let (name, value) =
                assigned(line).ok_or((number, "this is no constant with a whole number"))?;
            constants.push(Constant {
                line: line_of,
                name,
                value,
                words,
            });
        }
    }
    match open {
        Some((line, _)) => Err((line, "no constant is below this comment")),
        None => Ok(constants),
    }
}

/// The name and the value of `pub const NAME: usize = 48_000;` and the like.
fn assigned(line: &str) -> Option<(String, f64)> {
    let (left, right) = line.split_once('=')?;
    let left = left.split_once(": ").map_or(left, |(left, _)| left);
    let name = left.split_whitespace().next_back()?.to_owned();
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value = right.split([';', '#']).next()?.trim();
    let value = match NEVER.contains(&value) || value == "std::usize::MAX" {
        true => f64::INFINITY,
        false => {
            let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            digits.replace(['_', '\''], "").parse::<u64>().ok()? as f64
        }
    };
    Some((name, value))
}

/// The command line of a constant.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    sweep: SweepArgs,
}

/// Measures the constants of a source file again.
pub(super) fn check(path: &Path, out: &mut dyn Write) -> Result<Outcome> {
    let constants = read(path)?;
    let at = |constant: &Constant| format!("{}:{}", path.display(), constant.line);
    let sweeps: Vec<SweepArgs> = constants
        .iter()
        .map(|constant| sweep(constant).map_err(|why| anyhow!("{}: {why}", at(constant))))
        .collect::<Result<_>>()?;
    let mut outcome = Outcome::Passed;
    for (constant, args) in constants.iter().zip(&sweeps) {
        let measured = super::measure(args).map_err(|error| error.context(at(constant)))?;
        let swept = &measured.swept;
        if swept.interrupted {
            return Err(Interrupted("interrupted: the remaining constants are not checked").into());
        }
        let found = swept.break_even();
        let admitted = found.and_then(|found| found.admits(constant.value));
        // It may pay at a size that was left out.
        let is_open = admitted == Some(true)
            && constant.value.is_infinite()
            && !swept.not_measured.is_empty();
        let admitted = admitted.filter(|_| !is_open);
        let verdict = match admitted {
            Some(true) => "holds",
            Some(false) => {
                outcome = Outcome::Failed;
                "is stale"
            }
            None => {
                if outcome == Outcome::Passed {
                    outcome = Outcome::Inconclusive;
                }
                "is undecided"
            }
        };
        let answer = swept.rivals.first().map_or_else(
            || "no GPU was measured".to_owned(),
            |rival| swept.answer(rival, &rival.device),
        );
        let mut times = swept.points.iter().flat_map(|point| &point.times);
        let failure = times.find_map(|time| time.failure.as_ref());
        let failure = failure.map_or_else(String::new, |failure| format!("; failed: {failure}"));
        let value = match constant.value.is_finite() {
            true => unit::count(constant.value),
            false => "never".to_owned(),
        };
        let name = &constant.name;
        let line = format!(
            "{}: {name} = {value} {verdict}: {answer}{failure}",
            at(constant)
        );
        writeln!(out, "{}", clean(&line))?;
        out.flush()?;
    }
    Ok(outcome)
}

/// The sweep that measures a constant.
fn sweep(constant: &Constant) -> Result<SweepArgs, String> {
    let program = "breakeven sweep".to_owned();
    match Line::try_parse_from([&program].into_iter().chain(&constant.words)) {
        Ok(line) if line.sweep.check.is_none() => Ok(line.sweep),
        Err(error) if error.use_stderr() => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(first.trim_start_matches("error: ").to_owned())
        }
        _ => Err("this command measures nothing".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    const TEXTS: [&str; 2] = ["breakeven: gpu pays from size 48 000 on.", "On a b\\\n*/."];

    fn emitted(language: Language, value: f64, command: &str) -> String {
        let texts = TEXTS.map(str::to_owned);
        source(language, "my-sum 2", value, texts, command)
    }

    #[test]
    fn a_constant_is_source_of_each_language() {
        let languages = [Language::Rust, Language::C, Language::Cpp, Language::Python];
        let values = [48_000.0, 0.0, f64::INFINITY];
        let all = languages.map(|language| {
            let each = values.map(|value| emitted(language, value, "$ breakeven sweep x"));
            each.concat()
        });
        assert_snapshot!(all.join("\n"));
        for source in &all {
            let constants = constants(source).unwrap();
            assert_eq!(
                constants.iter().map(|read| read.value).collect::<Vec<_>>(),
                values
            );
            assert!(
                constants
                    .iter()
                    .all(|read| read.name == "MY_SUM_2_GPU_FROM")
            );
        }
    }

    #[test]
    fn a_command_comes_back_as_it_was() {
        for word in [
            "",
            "a b",
            "it's",
            "'",
            "$'",
            "x $'y'",
            "\\",
            "ends in \\",
            "*/ -->",
            "\"\"\"",
            "# // ??/",
            "ü",
            "$(rm -rf x) `x` {n} !",
        ] {
            let command = shlex::try_join([word, "--gpu", "$'x"]).unwrap();
            let line = format!("{COMMAND}{command}");
            assert!(!line.ends_with('\\'), "{line}");
            for language in [Language::Rust, Language::C, Language::Cpp, Language::Python] {
                let source = emitted(language, 1.0, &line);
                let constants = constants(&source).unwrap();
                assert_eq!(constants[0].words, [word, "--gpu", "$'x"], "{line}");
                assert_eq!(constants.len(), 1);
            }
        }
    }

    #[test]
    fn what_is_damaged_has_its_line() {
        let wrong = |text: &str| constants(text).unwrap_err();
        let text = emitted(Language::Rust, 5.0, "$ breakeven sweep x --cpu 'y'");
        assert_eq!(
            constants("fn main() {}\n// breakeven: see below\n"),
            Ok(Vec::new())
        );
        assert_eq!(
            wrong(&text.replace("y'", "y")),
            (3, "a quote is not closed")
        );
        assert_eq!(
            wrong(&text.replace("= 5", "= f()")),
            (4, "this is no constant with a whole number")
        );
        let without = text.replace("$ break", "break");
        assert_eq!(wrong(&without), (1, "this comment has no command"));
        let comment = text.split("pub").next().unwrap();
        assert_eq!(wrong(comment), (3, "no constant is below this comment"));
        for (line, value) in [
            ("#define", None),
            ("static const size_t A = 48000UL; // by hand", Some(48e3)),
            ("constexpr std::size_t A = 48'000;", Some(48e3)),
            ("A: int = 48_000  # by hand", Some(48e3)),
            ("pub(crate) const A: u64 = u64::MAX;", None),
            ("A = -5", None),
            ("A = 4.5", None),
        ] {
            assert_eq!(
                assigned(line),
                value.map(|value| ("A".to_owned(), value)),
                "{line}"
            );
        }
    }
}
