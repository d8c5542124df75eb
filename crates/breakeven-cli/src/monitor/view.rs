//! The live view in a terminal.

use std::io::{IsTerminal, stdin, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use ratatui::{DefaultTerminal, Frame};

use super::sources::Sources;
use crate::engine::supervisor::interruption;
use crate::exit::Ending;
use crate::monitor::page::Load;

/// Longest wait for a key, and so for noticing a signal.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Smallest readable size.
const LEAST: (u16, u16) = (40, 8);

/// The user's choices.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    paused: bool,
    /// First visible line.
    top: usize,
}

/// The action of a key.
#[derive(Debug, PartialEq, Eq)]
enum Wish {
    End,
    Stay,
}

pub(super) fn run(sources: &mut Sources, mut load: Load) -> Result<Ending> {
    if !(stdout().is_terminal() && stdin().is_terminal()) {
        bail!("the live view needs a terminal; `breakeven monitor --once` prints one view");
    }
    // In this terminal mode Ctrl-C is a key; a signal comes from another process.
    let ended = interruption()?;
    #[cfg(unix)]
    crate::engine::supervisor::start_thread(end_with_the_terminal)?;
    let mut terminal = ratatui::try_init()?;
    let shown = show(sources, &mut load, &mut terminal, ended);
    ratatui::try_restore()?;
    shown?;
    Ok(Ending::Done)
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

fn show(
    sources: &mut Sources,
    load: &mut Load,
    terminal: &mut DefaultTerminal,
    ended: &AtomicBool,
) -> Result<()> {
    let mut choices = Choices::default();
    // The first rates need an earlier reading.
    let (reading, programs) = sources.read();
    load.take(reading, programs);
    let mut due = Instant::now() + load.interval.min(Duration::from_millis(250));
    while !ended.load(Ordering::SeqCst) {
        terminal.draw(|frame| draw(load, &mut choices, frame))?;
        let wait = due.saturating_duration_since(Instant::now());
        if event::poll(wait.min(LOOK_EVERY))? {
            if let Event::Key(key) = event::read()?
                && choices.key(key) == Wish::End
            {
                return Ok(());
            }
            continue;
        }
        if Instant::now() >= due {
            // Reading continues, so that rates stay those of one interval.
            let (reading, programs) = sources.read();
            if !choices.paused {
                load.take(reading, programs);
            }
            due = Instant::now() + load.interval;
        }
    }
    Ok(())
}

impl Choices {
    fn key(&mut self, key: KeyEvent) -> Wish {
        if key.kind == KeyEventKind::Release {
            return Wish::Stay;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return Wish::End,
            KeyCode::Char('q') | KeyCode::Esc => return Wish::End,
            KeyCode::Char('p') => self.paused = !self.paused,
            KeyCode::Down | KeyCode::Char('j') => self.top = self.top.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::PageDown => self.top = self.top.saturating_add(10),
            KeyCode::PageUp => self.top = self.top.saturating_sub(10),
            KeyCode::Home => self.top = 0,
            _ => {}
        }
        Wish::Stay
    }
}

/// Draws the view into the available room.
pub(crate) fn draw(load: &Load, choices: &mut Choices, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let (width, height) = LEAST;
        let text = format!("needs {width} × {height}");
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ]);
    let [head, body, foot] = rows.areas(area);
    let every = breakeven_profile::unit::time(load.interval.as_secs_f64() * 1e9);
    let paused = if choices.paused { ", paused" } else { "" };
    let title = Line::styled(
        format!("breakeven monitor, every {every}{paused}"),
        Style::from(Modifier::REVERSED),
    );
    frame.render_widget(Paragraph::new(title), head);
    let lines = load.lines(usize::from(body.width));
    let room = usize::from(body.height);
    choices.top = choices.top.min(lines.len().saturating_sub(room));
    let below = lines.len().saturating_sub(choices.top + room);
    let shown: Vec<Line<'_>> = lines.into_iter().skip(choices.top).take(room).collect();
    frame.render_widget(Paragraph::new(shown), body);
    let more = match below {
        0 => String::new(),
        below => format!(" · {below} more below"),
    };
    let keys = format!("q end · p pause · ↑ ↓ scroll{more}");
    let keys = Line::styled(keys, Style::from(Modifier::DIM));
    frame.render_widget(Paragraph::new(keys), foot);
}
