//! The live view in a terminal: the page, drawn again and again.

use std::io::{self, IsTerminal, Write as _, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anstyle::Style;
use anyhow::{Result, bail};
use breakeven_judge::Outcome;

use super::Sources;
use super::page::Load;
use crate::engine::supervisor::interruption;

/// Time between two drawings: the terminal may have another size.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// Smallest readable size.
const LEAST: (usize, usize) = (40, 8);

/// A second screen of the terminal without a cursor (xterm's control sequences), until it is
/// dropped.
struct Screen;

impl Screen {
    fn open() -> io::Result<Self> {
        print("\x1b[?1049h\x1b[?25l")?;
        Ok(Self)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = print("\x1b[?25h\x1b[?1049l");
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

pub(super) fn run(sources: &mut Sources, mut load: Load) -> Result<Outcome> {
    if !stdout().is_terminal() {
        bail!("the live view needs a terminal; `breakeven monitor --once` prints one view");
    }
    let ended = interruption()?;
    let _screen = Screen::open()?;
    show(sources, &mut load, ended)?;
    Ok(Outcome::Passed)
}

fn show(sources: &mut Sources, load: &mut Load, ended: &AtomicBool) -> Result<()> {
    // The first rates need an earlier reading.
    load.take(sources.read());
    let mut due = Instant::now() + load.interval.min(Duration::from_millis(250));
    let mut drawn = String::new();
    while !ended.load(Ordering::SeqCst) {
        let size = terminal_size::terminal_size();
        let size = size.map_or((80, 24), |(width, height)| {
            (width.0.into(), height.0.into())
        });
        // Each line is cleared before: behind the last column its end would be.
        let drawing = format!("\x1b[H\x1b[K{}", frame(load, size)?.join("\r\n\x1b[K"));
        if drawing != drawn {
            print(&drawing)?;
            drawn = drawing;
        }
        thread::sleep(DRAW_EVERY.min(due.saturating_duration_since(Instant::now())));
        if Instant::now() >= due {
            load.take(sources.read());
            due = Instant::now() + load.interval;
        }
    }
    Ok(())
}

/// The lines of the view in a terminal of this size, with their colours.
pub(super) fn frame(load: &Load, (width, height): (usize, usize)) -> io::Result<Vec<String>> {
    if width < LEAST.0 || height < LEAST.1 {
        let mut lines = vec![String::new(); height.max(1)];
        lines[0] = format!("needs {} × {}", LEAST.0, LEAST.1);
        return Ok(lines);
    }
    let mut text = Vec::new();
    load.page(width).text(width, true, &mut text)?;
    let text = String::from_utf8_lossy(&text);
    let room = height - 2;
    let more = match text.lines().count().saturating_sub(room) {
        0 => String::new(),
        below => format!(" · {below} more in --once"),
    };
    let every = breakeven_profile::unit::time(load.interval.as_secs_f64() * 1e9);
    let styled = |style: Style, text: String| {
        let text: String = text.chars().take(width).collect();
        format!("{style}{text}{style:#}")
    };
    let title = format!("breakeven monitor, every {every}");
    let shown = text.lines().map(str::to_owned);
    let shown = shown.chain(std::iter::repeat(String::new())).take(room);
    Ok(std::iter::once(styled(Style::new().invert(), title))
        .chain(shown)
        .chain([styled(Style::new().dimmed(), format!("Ctrl-C ends{more}"))])
        .collect())
}
