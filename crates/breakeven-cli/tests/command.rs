//! Runs the command as a user would, in an environment of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A command line and its environment.
pub(crate) struct Breakeven {
    pub(crate) command: Command,
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    #[cfg_attr(not(feature = "engine"), expect(dead_code, reason = "it is short"))]
    pub(crate) took: Duration,
}

/// Variables of the machine that change what is found or how it is printed.
const OF_THE_MACHINE: [&str; 25] = [
    "BREAKEVEN_STRATEGY",
    "VK_ICD_FILENAMES",
    "VK_DRIVER_FILES",
    "VK_ADD_DRIVER_FILES",
    "VK_LOADER_DRIVERS_SELECT",
    "VK_LOADER_DRIVERS_DISABLE",
    "VK_LAYER_PATH",
    "VK_ADD_LAYER_PATH",
    "VK_INSTANCE_LAYERS",
    "VK_LOADER_DEBUG",
    "LD_LIBRARY_PATH",
    "CUDA_PATH",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "TERM",
    "GITHUB_SHA",
    "GITHUB_HEAD_REF",
    "GITHUB_REF_NAME",
    "CI_COMMIT_SHA",
    "CI_COMMIT_REF_NAME",
    "GIT_COMMIT",
    "BRANCH_NAME",
    "COLUMNS",
];

/// `breakeven` with these arguments, its outputs piped.
pub(crate) fn breakeven<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Breakeven {
    let mut command = Command::new(env!("CARGO_BIN_EXE_breakeven"));
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Were there a panic or an error with a backtrace, it would show.
        .env("RUST_BACKTRACE", "1")
        // Mesa complains on stderr where it is not there.
        .env("XDG_RUNTIME_DIR", std::env::temp_dir())
        // What a test measures is none of the user's business.
        .env("BREAKEVEN_CACHE_DIR", own_cache());
    for name in OF_THE_MACHINE {
        command.env_remove(name);
    }
    Breakeven { command }
}

/// Where this test's costs are kept.
fn own_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cache-{}", std::process::id()))
}

/// `breakeven` with arguments in one line.
pub(crate) fn line(args: &str) -> Breakeven {
    breakeven(args.split_whitespace())
}

/// `breakeven show FILE` with further arguments in one line.
pub(crate) fn show(file: &Path, args: &str) -> Ended {
    line("show").arg(file).args(args).run()
}

impl Breakeven {
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Further arguments in one line.
    pub(crate) fn args(mut self, args: &str) -> Self {
        self.command.args(args.split_whitespace());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    #[cfg(feature = "engine")]
    pub(crate) fn env_remove(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Runs it to its end.
    pub(crate) fn run(mut self) -> Ended {
        let start = Instant::now();
        let output = self.command.output().expect("the command starts");
        Ended::of(output, start.elapsed())
    }
}

impl Ended {
    /// Its text on stdout, wherever lines were broken.
    pub(crate) fn said(&self) -> String {
        self.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn of(output: Output, took: Duration) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8, whatever a driver writes");
        let ended = Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            took,
        };
        for (name, output) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
            for word in ["panicked", "RUST_BACKTRACE", "stack backtrace"] {
                assert!(!output.contains(word), "{word:?} on {name}: {ended:#?}");
            }
        }
        ended
    }

    /// It ended with this code and said nothing on stderr.
    #[track_caller]
    pub(crate) fn quietly(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.stderr, "", "{self:#?}");
        self
    }

    /// It refused: code 2, nothing on stdout. What it said.
    #[track_caller]
    pub(crate) fn refusal(self) -> String {
        assert_eq!(self.code, Some(2), "{self:#?}");
        assert_eq!(self.stdout, "", "{self:#?}");
        assert!(self.stderr.ends_with('\n'), "{self:#?}");
        self.stderr
    }

    /// The lines of stdout that contain `text`.
    pub(crate) fn lines_with(&self, text: &str) -> Vec<&str> {
        self.stdout
            .lines()
            .filter(|line| line.contains(text))
            .collect()
    }

    /// stdout as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// A directory that is removed at the end of the test.
pub(crate) fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// Says that a test did not test. Straight to stderr: the harness keeps back
/// what the print macros write.
pub(crate) fn skipped(why: &str) {
    use std::io::Write as _;
    // A test that cannot say so has nobody listening.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}
