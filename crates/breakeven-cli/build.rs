//! Puts the version-control revision into the binary, for the environment of its profiles.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // Outside a checkout the revision stays unknown.
    let Some(revision) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return;
    };
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && std::path::Path::new(&log).exists()
    {
        println!("cargo:rerun-if-changed={log}");
    }
    println!("cargo:rustc-env=BREAKEVEN_REVISION={revision}");
}
