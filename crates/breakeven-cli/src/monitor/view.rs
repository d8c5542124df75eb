//! The live view in a terminal.

use breakeven_judge::Outcome;
use std::io::{self, IsTerminal, Write as _, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anstyle::Style;
use anyhow::{Result, bail};
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::style::Print;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};
use crossterm::{execute, queue};

use super::Sources;
use super::page::Load;
use crate::engine::supervisor::interruption;

/// Longest wait for a key, and so for noticing a signal.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Smallest readable size.
const LEAST: (usize, usize) = (40, 8);

/// The user's choices.
#[derive(Debug, Default)]
pub(super) struct Choices {
    paused: bool,
    /// First visible line.
    top: usize,
}

/// The terminal in the mode of the view, until it is dropped.
struct Screen;

impl Screen {
    fn open() -> io::Result<Self> {
        enable_raw_mode()?;
        let screen = Self;
        execute!(stdout(), EnterAlternateScreen, Hide)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = execute!(stdout(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

pub(super) fn run(sources: &mut Sources, mut load: Load) -> Result<Outcome> {
    if !(stdout().is_terminal() && stdin().is_terminal()) {
        bail!("the live view needs a terminal; `breakeven monitor --once` prints one view");
    }
    // In this terminal mode Ctrl-C is a key; a signal comes from another process.
    let ended = interruption()?;
    #[cfg(unix)]
    crate::engine::supervisor::start_thread(end_with_the_terminal)?;
    let _screen = Screen::open()?;
    show(sources, &mut load, ended)?;
    Ok(Outcome::Passed)
}

/// Ends the process when its terminal is gone: otherwise crossterm would read the end of the
/// terminal forever.
#[cfg(unix)]
fn end_with_the_terminal() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;

    let stdin = stdin();
    let look_every = Timespec::try_from(LOOK_EVERY).ok();
    loop {
        let mut terminal = [PollFd::new(&stdin, PollFlags::empty())];
        match poll(&mut terminal, look_every.as_ref()) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) if terminal[0].revents().contains(PollFlags::HUP) => std::process::exit(130),
            // A system that cannot watch a terminal returns at once, repeatedly.
            Ok(_) | Err(_) => return,
        }
    }
}

fn show(sources: &mut Sources, load: &mut Load, ended: &AtomicBool) -> Result<()> {
    let mut choices = Choices::default();
    // The first rates need an earlier reading.
    load.take(sources.read());
    let mut due = Instant::now() + load.interval.min(Duration::from_millis(250));
    while !ended.load(Ordering::SeqCst) {
        draw(&frame(load, &mut choices, size()?)?)?;
        let wait = due.saturating_duration_since(Instant::now());
        if event::poll(wait.min(LOOK_EVERY))? {
            match event::read()? {
                Event::Key(key) if choices.ends(key) => return Ok(()),
                Event::Resize(..) => execute!(stdout(), Clear(ClearType::All))?,
                _ => {}
            }
            continue;
        }
        if Instant::now() >= due {
            // Reading continues, so that rates stay those of one interval.
            let read = sources.read();
            if !choices.paused {
                load.take(read);
            }
            due = Instant::now() + load.interval;
        }
    }
    Ok(())
}

/// Draws the lines of a frame, from the top.
fn draw(lines: &[String]) -> io::Result<()> {
    let mut out = stdout().lock();
    for (row, line) in (0..).zip(lines) {
        queue!(
            out,
            MoveTo(0, row),
            Clear(ClearType::CurrentLine),
            Print(line)
        )?;
    }
    out.flush()
}

impl Choices {
    /// Does what a key means; returns true if it ends the view.
    fn ends(&mut self, key: KeyEvent) -> bool {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            _ if key.kind == KeyEventKind::Release => {}
            KeyCode::Char('c') if is_control => return true,
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Char('p') => self.paused = !self.paused,
            KeyCode::Down | KeyCode::Char('j') => self.top = self.top.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::PageDown => self.top = self.top.saturating_add(10),
            KeyCode::PageUp => self.top = self.top.saturating_sub(10),
            KeyCode::Home => self.top = 0,
            _ => {}
        }
        false
    }
}

/// The lines of the view in a terminal of this size, with their colours.
pub(super) fn frame(
    load: &Load,
    choices: &mut Choices,
    (width, height): (u16, u16),
) -> io::Result<Vec<String>> {
    let (width, height) = (usize::from(width), usize::from(height));
    if width < LEAST.0 || height < LEAST.1 {
        return Ok(vec![format!("needs {} × {}", LEAST.0, LEAST.1)]);
    }
    let mut text = Vec::new();
    load.page(width).text(width, true, &mut text)?;
    let text = String::from_utf8_lossy(&text);
    let (lines, room) = (text.lines().count(), height - 2);
    choices.top = choices.top.min(lines.saturating_sub(room));
    let more = match lines.saturating_sub(choices.top + room) {
        0 => String::new(),
        below => format!(" · {below} more below"),
    };
    let every = breakeven_profile::unit::time(load.interval.as_secs_f64() * 1e9);
    let paused = if choices.paused { ", paused" } else { "" };
    let styled = |style: Style, text: String| {
        let text: String = text.chars().take(width).collect();
        format!("{style}{text}{style:#}")
    };
    let title = format!("breakeven monitor, every {every}{paused}");
    let keys = format!("q end · p pause · ↑ ↓ scroll{more}");
    let shown = text.lines().skip(choices.top).map(str::to_owned);
    let shown = shown.chain(std::iter::repeat(String::new())).take(room);
    Ok(std::iter::once(styled(Style::new().invert(), title))
        .chain(shown)
        .chain([styled(Style::new().dimmed(), keys)])
        .collect())
}
