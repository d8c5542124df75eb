#![doc = include_str!("../README.md")]

mod args;
mod bench;
mod bencher;
mod judged;
mod runs;

use std::env;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

pub use bench::{Bench, BenchmarkId, Throughput};
pub use bencher::{BatchSize, Bencher};
pub use std::hint::black_box;

use args::Args;
use breakeven_judge::page::clean;

/// The name of [`Bench`] in benches written for criterion.
pub type Criterion = Bench;

/// Makes the `main` of a bench: the arguments are functions or closures that take `&mut` [`Bench`].
#[macro_export]
macro_rules! bench {
    ($($function:expr),+ $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            let target = ::std::option_env!("CARGO_TARGET_TMPDIR").unwrap_or("target/tmp");
            $crate::main(::std::env!("CARGO_CRATE_NAME"), target, &[$($function),+])
        }
    };
}

/// criterion's macro: a function that calls the functions in their order.
#[macro_export]
macro_rules! criterion_group {
    ($group:ident, $($function:path),+ $(,)?) => {
        fn $group(bench: &mut $crate::Bench) {
            $($function(bench);)+
        }
    };
}

/// criterion's macro: [`bench!`] of the groups.
#[macro_export]
macro_rules! criterion_main {
    ($($group:path),+ $(,)?) => {
        $crate::bench!($($group),+);
    };
}

/// Why nothing was measured or judged. It is only printed.
type Wrong = Box<dyn std::error::Error>;

/// The exit code of wrong use and of unreadable files.
const WRONG: u8 = 2;

/// What [`bench!`] calls: `name` is that of the bench, `target` a folder in cargo's target folder.
#[doc(hidden)]
pub fn main(name: &str, target: &str, functions: &[fn(&mut Bench)]) -> ExitCode {
    let ended = Args::parse(env::args_os().skip(1)).and_then(|args| {
        if args.help {
            say(include_str!("help.txt").trim_ascii_end());
            return Ok(0);
        }
        if args.measure && env::var_os(runs::RUN).is_none() {
            return judged::measure(name, target, &args);
        }
        let mut bench = Bench::new(args)?;
        functions.iter().for_each(|function| function(&mut bench));
        Ok(0)
    });
    ExitCode::from(ended.unwrap_or_else(|wrong| {
        report(wrong);
        WRONG
    }))
}

/// Prints a line; its reader may be gone.
fn say(line: impl Display) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Prints an error.
fn report(error: impl Display) {
    let _ = writeln!(io::stderr(), "error: {}", clean(&error.to_string()));
}
