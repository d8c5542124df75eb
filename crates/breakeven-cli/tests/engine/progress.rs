//! What long commands show on a terminal while they run.

use std::process::Command;

use crate::command::{directory, skipped};

/// What the command line writes to a terminal; none without `script`.
fn on_terminal(line: &str) -> Option<String> {
    let cache = directory();
    let command = format!("{} {line}", env!("CARGO_BIN_EXE_breakeven"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]);
    script.env("BREAKEVEN_CACHE_DIR", cache.path());
    script.env("TERM", "xterm");
    let Ok(output) = script.output() else {
        skipped("there is no `script` to make a terminal");
        return None;
    };
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn long_commands_show_how_far_they_are() {
    for (line, shown) in [
        (
            "ab --time-limit 1s 'sleep 0.1' 'sleep 0.1'",
            "the last of A",
        ),
        (
            "sweep vector_add --from 1000 --to 4000 --rounds 2 --device cpu",
            "round 2 of 2",
        ),
        ("run --progress --cpu sleep --jobs 1 1.2 1.2", "left"),
    ] {
        let Some(written) = on_terminal(line) else {
            return;
        };
        assert!(written.contains(shown), "{line}: {written:?}");
        // Before there is an estimate.
        assert!(!written.contains("0s left"), "{line}: {written:?}");
    }
}
