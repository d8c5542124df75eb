//! A harness for the benches of a Rust project (`harness = false`): functions to measure in, runs
//! as processes and a profile file out.
//!
//! ```no_run
//! // benches/sorting.rs
//! use breakeven_bench::{BenchmarkId, bench};
//!
//! fn sorted(input: &Vec<u64>) -> Vec<u64> {
//!     let mut output = input.clone();
//!     output.sort_unstable();
//!     output
//! }
//!
//! bench!(|b| {
//!     b.bench("parse", || "12345".parse::<u64>());
//!     for n in [1_000, 10_000] {
//!         let input: Vec<u64> = (0..n).rev().collect();
//!         b.bench(BenchmarkId::new("sort", n), || sorted(&input));
//!     }
//! });
//! ```
//!
//! The harness starts its own executable anew for each run, five times without `--runs`, and each
//! process measures every benchmark: processes differ more than the calls inside one, so the run is
//! the unit of inference. `cargo bench` prints the table of `breakeven show` and writes the profile
//! to `target/breakeven/`; `cargo bench --bench NAME -- --baseline FILE --gate` judges it as
//! `breakeven compare --gate` does, with its exit codes: 0 passed, 1 a regression or a failure, 2
//! wrong use, 3 undecided, 130 interrupted. `-- --help` has all options.
//!
//! # Benches written for criterion
//!
//! After `use criterion::…` became `use breakeven_bench::…`, these forms work:
//! `criterion_group!(name, function, …)`, `criterion_main!`, [`Criterion::bench_function`],
//! [`Criterion::bench_with_input`], [`Criterion::benchmark_group`] with [`Throughput::Bytes`] and
//! [`Throughput::Elements`], [`BenchmarkId`], [`Bencher::iter`], [`Bencher::iter_batched`] with
//! three sizes of [`BatchSize`], and [`black_box`]. Names are those of criterion
//! (`group/function/parameter`); a parameter that is a whole number is the size of the operation.
//! Without a counterpart, and so a compile error: `config = …`, `sample_size`, `measurement_time`
//! (there are `--time` and `--runs`), `iter_custom`, `iter_batched_ref`, other measurements, async.
//!
//! # Why a crate of its own
//!
//! `breakeven-profile` is what programs embed, and `breakeven-judge` depends on it. The harness
//! prints the judge's table and verdicts, so it cannot be in `breakeven-profile`; in the judge,
//! every reader of profiles would have it.

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
