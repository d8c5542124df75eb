//! `breakeven ab`: two commands in turns, until it is decided which is faster.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use breakeven_judge::{Ab, ChangeType, Outcome};

use crate::args::{AbArgs, CommandLine};
use crate::exit::{Ending, Interrupted};
use crate::output::ab::write;
use crate::supervisor::interruption;

pub(crate) fn run(args: &AbArgs, out: &mut dyn Write) -> Result<Ending> {
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
    let compared = ab.run_samples(|is_b| {
        let command = if is_b { &args.b } else { &args.a };
        time(command, interrupted)
    })?;
    write(args, &compared, out)?;
    let outcome = match compared.verdict {
        _ if !args.gate => return Ok(Ending::Done),
        ChangeType::Regression => Outcome::Failed,
        ChangeType::Inconclusive => Outcome::Inconclusive,
        _ => Outcome::Passed,
    };
    Ok(Ending::Judged(outcome))
}

/// Time from its start to its end, ns. What it prints is thrown away, its errors are not.
fn time(command: &CommandLine, interrupted: &AtomicBool) -> Result<f64> {
    let (program, arguments) = command.words.split_first().context("no program")?;
    let mut process = Command::new(program);
    process
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let start = Instant::now();
    let status = process
        .status()
        .with_context(|| format!("cannot run {:?}", command.text))?;
    let took = start.elapsed();
    if interrupted.load(Ordering::SeqCst) {
        return Err(Interrupted("interrupted before it was decided").into());
    }
    if !status.success() {
        bail!(
            "{:?} failed ({status}): both commands must end well to be compared",
            command.text
        );
    }
    Ok(took.as_secs_f64() * 1e9)
}
