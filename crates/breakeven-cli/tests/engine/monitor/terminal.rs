//! The live view in a real terminal, that of tmux.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::Program;
use crate::command::{directory, skipped};
use crate::engine::interrupt::signal;
use crate::engine::serve::server::wait_until;

/// A terminal with a shell in it.
struct Terminal {
    folder: tempfile::TempDir,
}

impl Terminal {
    /// None where there is no tmux.
    fn start(width: u16, height: u16) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skipped("the live view is not tested in a terminal: there is no tmux");
            return None;
        }
        let terminal = Self {
            folder: directory(),
        };
        // The prompt, and nothing that a user's own shell would do.
        fs::write(terminal.path().join("profile"), "PS1='shell> '\n").unwrap();
        let size = [width.to_string(), height.to_string()];
        let config = terminal.path().join("config");
        fs::write(&config, "set -g status off\n").unwrap();
        terminal.tmux(&[
            "-f",
            config.to_str().unwrap(),
            "new-session",
            "-d",
            "-x",
            &size[0],
            "-y",
            &size[1],
            "sh",
        ]);
        wait_until("the prompt", || terminal.shown().contains("shell>"));
        Some(terminal)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs tmux with a server of its own.
    fn tmux(&self, args: &[&str]) -> String {
        let output = Command::new("tmux")
            .arg("-S")
            .arg(self.path().join("tmux"))
            .args(args)
            .env("ENV", self.path().join("profile"))
            .env("XDG_RUNTIME_DIR", self.path())
            .env("TMPDIR", self.path())
            .env("LD_LIBRARY_PATH", self.path())
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env("BREAKEVEN", env!("CARGO_BIN_EXE_breakeven"))
            .env_remove("TMUX")
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// What it shows.
    fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    #[track_caller]
    fn shows(&self, text: &str) -> String {
        wait_until(text, || self.shown().contains(text));
        self.shown()
    }

    fn resize(&self, width: u16, height: u16) {
        let (width, height) = (width.to_string(), height.to_string());
        self.tmux(&["resize-window", "-x", &width, "-y", &height]);
    }

    fn watch(&self, args: &str) {
        self.keys(&["clear", "Enter"]);
        self.keys(&[
            &format!("\"$BREAKEVEN\" monitor --interval 100ms {args}"),
            "Enter",
        ]);
        self.shows("Ctrl-C ends");
    }

    /// As `watch`; gives the process's number.
    fn watch_and_know(&self) -> u32 {
        let file = self.path().join("pid");
        let run = format!(
            "sh -c 'echo $$ > {}; exec \"$BREAKEVEN\" monitor --interval 100ms'",
            file.display()
        );
        self.keys(&["clear", "Enter"]);
        self.keys(&[&run, "Enter"]);
        self.shows("Ctrl-C ends");
        fs::read_to_string(file).unwrap().trim().parse().unwrap()
    }

    /// Every line is where it belongs: nothing was broken into two.
    #[track_caller]
    fn is_whole(&self, height: usize) {
        let first = [
            "breakeven monitor, every 100 ms",
            "cpu: ",
            "use     ",
            "memory  ",
        ];
        wait_until("every line in its place", || {
            let shown = self.shown();
            let lines: Vec<&str> = shown.lines().collect();
            let begins = |(line, start): (&&str, &str)| line.starts_with(start);
            let last = lines
                .last()
                .is_some_and(|line| line.starts_with("Ctrl-C ends"));
            lines.len() == height && last && lines.iter().zip(first).all(begins)
        });
    }

    /// The view has ended with that code, and the terminal is as before.
    #[track_caller]
    fn is_restored(&self, code: i32) {
        // What is typed before would be its.
        wait_until("the prompt", || self.shown().trim_end().ends_with("shell>"));
        self.keys(&["echo \"code:$?\"", "Enter"]);
        let shown = self.shows(&format!("\ncode:{code}\n"));
        assert!(!shown.contains("Ctrl-C ends"), "{shown}");
        assert!(shown.contains("shell>"), "{shown}");
        assert_eq!(
            self.tmux(&["display-message", "-p", "#{alternate_on}"]),
            "0\n"
        );
        assert_eq!(
            self.tmux(&["display-message", "-p", "#{cursor_flag}"]),
            "1\n"
        );
        self.keys(&["clear; stty -a", "Enter"]);
        let shown = self.shows("icanon");
        let off = [" -icanon", " -echo ", " -isig", " -opost", " -icrnl"];
        assert!(!off.iter().any(|mode| shown.contains(mode)), "{shown}");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let socket = self.path().join("tmux");
        let ended = Command::new("tmux")
            .arg("-S")
            .arg(socket)
            .arg("kill-server")
            .output();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

/// Puts a made-up driver into the folder; none without a C compiler.
fn with_card(folder: &Path) -> Option<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/monitor/nvml.c");
    let library: PathBuf = folder.join("libnvidia-ml.so.1");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-w", "-o"]);
    let Ok(status) = compiler.arg(&library).arg(source).status() else {
        skipped("the live view is not tested with a GPU: there is no C compiler");
        return None;
    };
    assert!(status.success());
    fs::copy(&library, folder.join("libnvidia-ml.so")).unwrap();
    Some(())
}

#[test]
fn it_shows_cpu_gpu_and_programs_and_is_resized() {
    let Some(terminal) = Terminal::start(80, 24) else {
        return;
    };
    let card = with_card(terminal.path());
    let program = Program::start("busy", terminal.path());
    terminal.watch("");
    terminal.is_whole(24);
    if card.is_some() {
        terminal.shows("gpu: Made-up card (");
        let shown = terminal.shows(" 37%");
        assert!(shown.contains("2 GiB of 8 GiB"), "{shown}");
    }
    terminal.resize(200, 60);
    terminal.is_whole(60);
    terminal.shows(&format!("(process {}), published for ", program.pid()));
    terminal.shows("busy  ");
    terminal.shows(" /s, ");
    terminal.resize(80, 14);
    terminal.is_whole(14);
    terminal.shows("more in --once");
    terminal.resize(30, 5);
    terminal.shows("needs 40 × 8");
    terminal.resize(80, 24);
    terminal.shows("Ctrl-C ends");
    terminal.keys(&["C-c"]);
    terminal.is_restored(0);
}

#[test]
fn it_ends_with_control_c_and_when_it_is_asked_to() {
    let Some(terminal) = Terminal::start(80, 24) else {
        return;
    };
    terminal.watch("");
    terminal.shows("no program publishes its figures");
    terminal.keys(&["C-c"]);
    terminal.is_restored(0);
    signal("TERM", terminal.watch_and_know());
    terminal.is_restored(0);
}

#[test]
fn it_ends_with_its_terminal() {
    let Some(terminal) = Terminal::start(80, 24) else {
        return;
    };
    let pid = terminal.watch_and_know();
    let process = Path::new("/proc").join(pid.to_string());
    if !process.exists() {
        return skipped("whether the live view ends with its terminal: there is no /proc");
    }
    terminal.tmux(&["kill-server"]);
    wait_until("its end", || !process.exists());
}
