//! `breakeven ab`: two commands in turns, until it is decided which is faster.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use breakeven_judge::{Ab, AbComparison, ChangeType, Outcome};

mod kernel;

use crate::engine::args::{AbArgs, CommandLine};
use crate::engine::output::ab::write;
use crate::engine::supervisor::interruption;
use crate::exit::{Ending, Interrupted};

/// A command that ended badly.
#[derive(Debug, thiserror::Error)]
#[error("{command:?} failed ({status}): both commands must end well to be compared")]
struct Failed {
    command: String,
    status: std::process::ExitStatus,
}

/// A way to compare.
type Compare = fn(&AbArgs) -> Result<AbComparison>;

pub(crate) fn run(args: &AbArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Ending> {
    let is_kernel = args.kernel.is_some() || !args.chain.is_empty();
    let compare: Compare = if is_kernel { kernel::compare } else { compare };
    let compared = match compare(args) {
        Ok(compared) => compared,
        Err(error) if error.is::<Failed>() => {
            let _ = writeln!(err, "error: {error}");
            return Ok(Ending::Judged(Outcome::Failed));
        }
        Err(error) => return Err(error),
    };
    write(args, &compared, out)?;
    Ok(match compared.verdict {
        _ if !args.gate => Ending::Done,
        ChangeType::Regression => Ending::Judged(Outcome::Failed),
        ChangeType::Inconclusive => Ending::Judged(Outcome::Inconclusive),
        _ => Ending::Done,
    })
}

fn compare(args: &AbArgs) -> Result<AbComparison> {
    let interrupted = interruption()?;
    for _ in 0..args.warmups {
        for command in [&args.a, &args.b] {
            time(command, interrupted)?;
        }
    }
    let ab = Ab::new(format!("{} against {}", args.b.text, args.a.text))
        .threshold(args.threshold)
        .most_time(args.budget)
        .block(1);
    ab.run_samples(|is_b| {
        let command = if is_b { &args.b } else { &args.a };
        time(command, interrupted)
    })
}

/// Time from its start to its end, ns. What it prints is thrown away, its errors are not.
fn time(command: &CommandLine, interrupted: &AtomicBool) -> Result<f64> {
    let (program, arguments) = command.words.split_first().context("no program")?;
    let mut process = Command::new(program);
    let process = process.args(arguments);
    let process = process.stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = process.status();
    let took = start.elapsed();
    let status = status.with_context(|| format!("cannot run {:?}", command.text))?;
    if interrupted.load(Ordering::SeqCst) {
        return Err(Interrupted("interrupted before it was decided").into());
    }
    if !status.success() {
        let command = command.text.clone();
        return Err(Failed { command, status }.into());
    }
    Ok(took.as_secs_f64() * 1e9)
}
