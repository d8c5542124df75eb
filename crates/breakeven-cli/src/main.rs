//! The `breakeven` command.

use std::process::ExitCode;

use breakeven_cli::{exit, run};

fn main() -> ExitCode {
    let mut out = anstream::stdout();
    let mut err = anstream::stderr();
    exit::code(run(std::env::args_os(), &mut out, &mut err))
}
