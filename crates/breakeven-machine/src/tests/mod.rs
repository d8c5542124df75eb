//! Tests with libraries written in C in place of drivers. They are found through the
//! environment of a process, so each case is a child process.

#[cfg(feature = "gpu")]
mod detection;
#[cfg(feature = "gpu")]
mod drivers;
pub(crate) mod nvml;

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

/// Says that a test did not test. Straight to stderr: the test harness keeps
/// back what the print macros write.
pub(super) fn skipped(why: &str) {
    // A test that cannot say so has nobody listening.
    let _ = writeln!(io::stderr(), "SKIPPED: {why}");
}

/// Compiles C into a shared library of these names; none without a C compiler.
pub(super) fn compile(directory: &Path, names: &[impl AsRef<Path>], code: &str) -> Option<()> {
    let source = directory.join("source.c");
    let library = directory.join("library");
    fs::write(&source, code).expect("a file");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-w", "-o"]);
    let compiled = compiler.arg(&library).arg(&source).output();
    let output = compiled
        .inspect_err(|error| skipped(&format!("a made-up driver needs a C compiler: cc: {error}")))
        .ok()?;
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cc: {log}");
    for name in names {
        fs::copy(&library, directory.join(name)).expect("a copy");
    }
    Some(())
}
