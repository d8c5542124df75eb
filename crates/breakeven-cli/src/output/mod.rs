//! A profile as text, one format per file.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::io::{ErrorKind, Write};

use anyhow::Result;
use breakeven_history::HistoryError;
use breakeven_judge::budget::Idle;
pub(crate) use breakeven_judge::page::figures as text;
use breakeven_judge::page::{Page, clean, is_obeyed};
use breakeven_judge::{Limits, Outcome, Overview, Standing, Thresholds, overview};
use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::Profile;
use breakeven_report::Words;
use serde::Serialize;

use crate::args::{Format, PageFormat};

mod activity;
pub(crate) mod advice;
pub(crate) mod budgets;
pub(crate) mod compare;
mod csv;
pub(crate) mod environment;
mod executions;
pub(crate) mod history;
mod json;
mod load;
mod verdicts;

/// Everything that is printed about a profile.
pub(crate) struct Report {
    pub(crate) profile: Profile,
    pub(crate) overview: Overview,
    pub(crate) thresholds: Thresholds,
    /// Backends without a device here; empty for a profile from elsewhere.
    pub(crate) absent: Vec<Absent>,
    /// What went wrong beside the operations.
    pub(crate) notes: Vec<String>,
    /// What is worth knowing beside it.
    pub(crate) remarks: Vec<String>,
    /// What is said of budgets of the user's that nothing was held against.
    pub(crate) unmatched: Vec<String>,
    /// How the budgets that the user gave end.
    pub(crate) budgets: Outcome,
    /// True where the user gave the budgets.
    budgets_given: bool,
    /// Names of operations of which the profile has several sizes.
    sized: HashSet<String>,
}

impl Report {
    /// Judges a profile by the limits given, else by the suite's own.
    pub(crate) fn new(profile: Profile, limits: Option<Limits>) -> Self {
        let budgets_given = limits.is_some();
        let limits = limits.unwrap_or_else(|| budgets::of_the_suite(&profile));
        let mut unmatched = limits.unmatched(std::slice::from_ref(&profile));
        if !budgets_given {
            // The suite's own are for whatever of it was measured.
            unmatched.clear();
        }
        let overview = overview(&profile, &limits);
        let mut held = overview.rows.iter().flat_map(|row| &row.budgets);
        let over = budgets_given && held.any(|held| held.standing == Standing::Over);
        let budgets = match unmatched.iter().all(|(_, why)| *why == Idle::Failed) {
            _ if over => Outcome::Failed,
            _ if unmatched.is_empty() => Outcome::Passed,
            true => Outcome::Failed,
            false => Outcome::Mismatched,
        };
        let unmatched = unmatched.iter();
        let unmatched =
            unmatched.map(|(scope, why)| format!("the limit of {scope} applies to nothing: {why}"));
        let unmatched = unmatched.collect();
        Self {
            unmatched,
            budgets,
            budgets_given,
            sized: sized(&profile),
            overview,
            profile,
            thresholds: limits.thresholds,
            absent: Vec::new(),
            notes: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Everything, for people.
    fn page(&self) -> Page {
        let mut page = Page::default();
        environment::add(self, &mut page);
        self.overview.add_to(&mut page, &self.profile);
        activity::add(self, &mut page);
        load::add(self, &mut page);
        executions::add(self, &mut page);
        verdicts::add(self, &mut page);
        page
    }

    /// What stands beside the table of the operations, for the page of `breakeven report`.
    pub(crate) fn words(&self) -> Words {
        let mut words = Words::default();
        environment::add(self, &mut words.environment);
        executions::add(self, &mut words.executions);
        activity::add(self, &mut words.devices);
        load::add(self, &mut words.load);
        verdicts::add(self, &mut words.judged);
        words
    }

    /// An operation's name, with its size where the profile has several.
    fn operation(&self, name: &str, size: Option<u64>) -> String {
        match size.filter(|_| self.sized.contains(name)) {
            Some(size) => format!("{name} (size {size})"),
            None => name.to_owned(),
        }
    }

    /// An operation and its device.
    fn who(&self, name: &str, size: Option<u64>, device: &str) -> String {
        format!("{} on {}", self.operation(name, size), self.label(device))
    }

    /// The id of a device, said to be software where it is a GPU and is.
    fn label(&self, device: &str) -> String {
        self.profile.device_label(device)
    }
}

/// A backend that has no device here.
#[derive(Debug, Serialize)]
pub(crate) struct Absent {
    /// Which one; none for all of them.
    pub(crate) backend: Option<&'static str>,
    pub(crate) reason: String,
    /// What would make it present.
    pub(crate) remedy: String,
}

fn sized(profile: &Profile) -> HashSet<String> {
    let mut first: HashMap<&str, Option<u64>> = HashMap::new();
    let several = profile.operations.iter().filter(|operation| {
        let size = first.entry(&operation.name).or_insert(operation.size);
        *size != operation.size
    });
    several.map(|operation| operation.name.clone()).collect()
}

/// A report in a format; what a format has no room for goes to `err`. A reader that
/// has gone stops the printing and nothing else.
pub(crate) fn write(
    report: &Report,
    format: Format,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<()> {
    let printed = match format {
        Format::Table => print(&report.page(), out),
        Format::Json => json::write(report, out),
        Format::Markdown => Ok(report.page().markdown(out)?),
        Format::Csv => csv::write(report, out),
    };
    unless_closed(printed.and_then(|()| Ok(out.flush()?)))?;
    // Nobody may be left to tell.
    for note in report.notes.iter().filter(|_| format == Format::Csv) {
        let _ = writeln!(err, "{}", clean(note));
    }
    // A page has them.
    if let Format::Json | Format::Csv = format {
        tell_unmatched(report, err);
    }
    Ok(())
}

/// Says which budgets nothing was held against.
pub(crate) fn tell_unmatched(report: &Report, err: &mut dyn Write) {
    for text in &report.unmatched {
        let _ = writeln!(err, "error: {}", clean(text));
    }
}

/// Prints a page, as wide as the terminal.
pub(crate) fn print(page: &Page, out: &mut dyn Write) -> Result<()> {
    Ok(page.text(width(), true, out)?)
}

/// The widest page, columns: breaking a long name into lines costs its length times this.
const WIDEST: usize = 1_000;

/// Columns of the terminal; where there is none those of `COLUMNS`, else 80.
pub(crate) fn width() -> usize {
    if let Some((terminal_size::Width(columns), _)) = terminal_size::terminal_size() {
        return WIDEST.min(columns.into());
    }
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|columns| columns.parse().ok());
    columns.unwrap_or(80).min(WIDEST)
}

/// Prints a page, or the document that it shows, whichever is asked for.
pub(crate) fn page_or_document<D: Serialize>(
    format: PageFormat,
    page: impl FnOnce() -> Page,
    document: impl FnOnce() -> D,
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        PageFormat::Table => print(&page(), out)?,
        PageFormat::Json => self::document(&document(), out)?,
        PageFormat::Markdown => page().markdown(out)?,
    }
    Ok(out.flush()?)
}

/// Prints a document for programs.
pub(crate) fn document(document: &impl Serialize, out: &mut dyn Write) -> Result<()> {
    escaped(&(serde_json::to_string_pretty(document)? + "\n"), out)
}

/// Prints JSON. What a terminal would obey is escaped, which JSON itself asks for only
/// below a space.
fn escaped(json: &str, out: &mut dyn Write) -> Result<()> {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match c != '\n' && is_obeyed(c) {
            true => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => shown.push(c),
        }
    }
    Ok(out.write_all(shown.as_bytes())?)
}

/// What printing came to, where a reader that has gone is no error.
pub(crate) fn unless_closed(printed: Result<()>) -> Result<()> {
    match printed {
        Err(error) if !error.chain().any(is_closed_pipe) => Err(error),
        Err(_) => {
            CLOSED.set(true);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

thread_local! {
    /// A reader of what this thread printed has gone.
    static CLOSED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a reader has gone since the last call.
pub(crate) fn take_closed() -> bool {
    CLOSED.take()
}

/// True for a write to a pipe that nobody reads, however it is wrapped.
pub(crate) fn is_closed_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    io_kind(error) == Some(ErrorKind::BrokenPipe)
}

/// True for a write for which there was no space left, however it is wrapped.
pub(crate) fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    use ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let file = error.downcast_ref::<FileError>();
    let history = error.downcast_ref::<HistoryError>();
    file.is_some_and(|error| error.kind() == FileErrorKind::Full)
        || matches!(history, Some(HistoryError::Full { .. }))
        || matches!(
            io_kind(error),
            Some(StorageFull | QuotaExceeded | FileTooLarge)
        )
}

fn io_kind(error: &(dyn std::error::Error + 'static)) -> Option<ErrorKind> {
    if let Some(io) = error.downcast_ref::<std::io::Error>() {
        Some(io.kind())
    } else if let Some(json) = error.downcast_ref::<serde_json::Error>() {
        json.io_error_kind()
    } else if let Some(csv) = error.downcast_ref::<::csv::Error>() {
        match csv.kind() {
            ::csv::ErrorKind::Io(io) => Some(io.kind()),
            _ => None,
        }
    } else {
        None
    }
}
