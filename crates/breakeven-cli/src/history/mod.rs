//! `breakeven history`: measurements over time.

use std::collections::hash_map::{self, HashMap};
use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use breakeven_history::{Added, At, Branches, Change, Entry, History, Loaded, Sensitivity};
use breakeven_judge::Outcome;
use breakeven_judge::page::clean;
use breakeven_profile::file;
use breakeven_profile::profile::Profile;

use crate::history::args::{
    AddArgs, AnnotateArgs, BranchArgs, ChangesArgs, ExportSeriesArgs, HistoryArgs, HistoryCommand,
    ListArgs, SensitivityArgs, ShowSeriesArgs,
};
use crate::history::data::{Between, Found, values_csv};
use crate::input::{Input, distinct};
use crate::print::page_or_document;

pub(crate) mod args;
mod data;
pub(crate) mod git;
pub(crate) mod page;

pub(crate) fn run(args: &HistoryArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    let path = &args.history;
    match &args.command {
        HistoryCommand::Add(args) => add(path, args, out, err),
        HistoryCommand::List(args) => list(path, args, out),
        HistoryCommand::Show(args) => show(path, args, out),
        HistoryCommand::Changes(args) => changes(path, args, out),
        HistoryCommand::Annotate(args) => annotate(path, args, out),
        HistoryCommand::Remove(args) => {
            let mut history = History::open(path)?;
            let all = history.entries(&Branches::All)?;
            let entries = args.entries.iter();
            let entries = entries.map(|entry| named(&all, Some(*entry), None));
            let entries = entries.collect::<Result<Vec<_>>>()?;
            history.remove(&entries)?;
            for entry in &entries {
                writeln!(out, "removed {}", clean(&page::named(entry)))?;
            }
            Ok(Outcome::Passed)
        }
        HistoryCommand::Export(args) => export(path, args, out),
    }
}

/// The entry with this number, or the only one of this commit.
fn named(entries: &[Entry], number: Option<i64>, commit: Option<&str>) -> Result<Entry> {
    let commit = commit.filter(|commit| !commit.is_empty());
    let named = entries
        .iter()
        .filter(|entry| match (commit, &entry.commit) {
            (Some(begin), Some(commit)) => commit.starts_with(begin),
            (Some(_), None) => false,
            (None, _) => number == Some(entry.id),
        });
    let list = "`breakeven history list`";
    match &named.collect::<Vec<_>>()[..] {
        [] => bail!("there is no such entry in the history; {list} names all"),
        [entry] => Ok((*entry).clone()),
        several => bail!(
            "{:?} names {} entries, which {list} shows; give the number of one",
            commit.unwrap_or_default(),
            several.len()
        ),
    }
}

fn add(path: &Path, args: &AddArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    distinct(&args.files)?;
    // All files are read before the first is added: one that cannot be read adds nothing.
    let mut input = Input::new(&args.input, err);
    let mut additions: Vec<(String, At, Profile)> = Vec::new();
    let (here, mut notes) = (git::commit(), Vec::new());
    for file in &args.files {
        let entries = input.read_history(file)?;
        let is_history = entries.len() > 1;
        let file = file.display().to_string();
        for entry in entries {
            let profile = entry.profile;
            let known = entry.commit.or(profile.environment.revision.clone());
            let known = known.filter(|_| args.at.is_none());
            let is_here = |commit: &String| Some(commit) == here.as_ref() || git::is_here(commit);
            let is_elsewhere = known.as_ref().is_some_and(|commit| !is_here(commit));
            let commit = args.at.clone().or(known).or_else(|| here.clone());
            // Runs of one commit on one machine are one entry.
            let same = additions.iter_mut().find(|(_, at, other)| {
                let differences = other.environment.differences(&profile.environment);
                !is_history && at.commit == commit && differences.is_empty()
            });
            if let Some((files, _, joined)) = same {
                *files = format!("{files}, {file}");
                *joined = Profile::join([std::mem::take(joined), profile])?;
                continue;
            }
            let time = args.date.clone().or(entry.date);
            let branch = args.branch.clone().or(entry.branch);
            let checked_out = branch.is_none().then(git::branch).flatten();
            if let (Some(commit), Some(branch), true) = (&commit, &checked_out, is_elsewhere) {
                notes.push(format!(
                    "note: {file}: its commit {commit} is not on {branch}, which is checked out: it \
                     gets no branch; --branch names one"
                ));
            }
            let branch = branch.or(checked_out.filter(|_| !is_elsewhere));
            let at = At {
                time: time.or_else(|| commit.as_deref().and_then(git::time)),
                branch: branch.filter(|branch| !branch.is_empty()),
                commit,
            };
            additions.push((file.clone(), at, profile));
        }
    }
    input.finish()?;
    for note in notes {
        // The reader of stderr may be gone.
        let _ = writeln!(err, "{}", clean(&note));
    }
    let mut history = History::create(path)?;
    for (file, at, profile) in additions {
        let of = at
            .commit
            .as_deref()
            .map_or_else(String::new, |commit| format!(" of {commit}"));
        let text = match history.add(&profile, &at)? {
            Added::New(entry) => {
                let count = profile.operations.len();
                format!("{file}: added as entry {entry}{of}, {count} operation(s)")
            }
            Added::Known(entry) => format!("{file}: is already in the history, as entry {entry}"),
        };
        writeln!(out, "{}", clean(&text))?;
    }
    Ok(Outcome::Passed)
}

/// The branch of that name; an empty name means detached checkouts.
fn branch(name: &str) -> Branches {
    Branches::Of(Some(name.to_owned()).filter(|name| !name.is_empty()))
}

/// The selected entries and series; an error if there are none.
fn load(history: &History, args: &BranchArgs) -> Result<Loaded> {
    let branches = match (&args.branch, args.all_branches) {
        (Some(name), _) => branch(name),
        (None, true) => Branches::All,
        (None, false) => history.main_branch()?,
    };
    let loaded = history.load(&branches)?;
    if loaded.entries.is_empty() {
        let path = history.path().display();
        match &args.branch {
            Some(branch) => bail!(
                "{path}: there are no entries of the branch {branch:?}; `breakeven history list` shows all"
            ),
            None => bail!("{path}: the history is empty; `breakeven history add` adds profiles"),
        }
    }
    Ok(loaded)
}

/// Keeps the series of one operation.
fn only(loaded: &mut Loaded, operation: Option<&str>) -> Result<()> {
    let Some(operation) = operation else {
        return Ok(());
    };
    let names = || loaded.series.iter().map(|series| series.key.name.as_str());
    if !names().any(|name| name == operation) {
        let hint = crate::values::similar(operation, names());
        bail!(
            "there is no operation {operation:?} in the history; {hint}`breakeven history show` names all"
        );
    }
    loaded.series.retain(|series| series.key.name == operation);
    Ok(())
}

fn list(path: &Path, args: &ListArgs, out: &mut dyn Write) -> Result<Outcome> {
    let history = History::open(path)?;
    let entries = history.entries(&args.branch.as_deref().map_or(Branches::All, branch))?;
    page_or_document(args.format, || page::entries(&entries), || &entries, out)?;
    Ok(Outcome::Passed)
}

/// The selected series and their changes.
fn changes_of(loaded: &Loaded, args: &SensitivityArgs) -> Vec<Change> {
    let (threshold, factor) = (args.threshold, args.factor);
    breakeven_history::changes(loaded, &Sensitivity { threshold, factor })
}

fn show(path: &Path, args: &ShowSeriesArgs, out: &mut dyn Write) -> Result<Outcome> {
    let history = History::open(path)?;
    let mut loaded = load(&history, &args.branch)?;
    only(&mut loaded, args.operation.as_deref())?;
    let found = Found {
        loaded: &loaded,
        changes: changes_of(&loaded, &args.sensitivity),
        failed: Vec::new(),
        between: HashMap::new(),
    };
    let page = || match args.operation {
        Some(_) => page::series(&found),
        None => page::overview(&found),
    };
    page_or_document(args.format, page, || found.json(), out)?;
    Ok(Outcome::Passed)
}

fn changes(path: &Path, args: &ChangesArgs, out: &mut dyn Write) -> Result<Outcome> {
    let history = History::open(path)?;
    let mut loaded = load(&history, &args.branch)?;
    only(&mut loaded, args.operation.as_deref())?;
    let mut changes = changes_of(&loaded, &args.sensitivity);
    let mut failed = history.failed(&loaded.entries)?;
    let asked = |name: &String| args.operation.as_ref().is_none_or(|asked| asked == name);
    failed.retain(|failed| asked(&failed.key.name));
    let passed = failed.is_empty() && !changes.iter().any(Change::is_alert);
    changes.retain(|change| change.is_alert() || !args.open);
    // Changes of several operations may have the same two entries.
    let mut between = HashMap::new();
    for change in &changes {
        let ends = [change.before.entry, change.after.entry];
        if let hash_map::Entry::Vacant(unknown) = between.entry(ends) {
            unknown.insert(behind(&history, &loaded, change)?);
        }
    }
    let found = Found {
        loaded: &loaded,
        changes,
        failed,
        between,
    };
    let (page, json) = (|| page::changes(&found), || found.json_changes());
    page_or_document(args.format, page, json, out)?;
    Ok(match passed || !args.gate {
        true => Outcome::Passed,
        false => Outcome::Failed,
    })
}

/// The commits and differences between the last value of the old level and the first of the new
/// one.
fn behind(history: &History, loaded: &Loaded, change: &Change) -> Result<Between> {
    let (old, new) = (loaded.entry(&change.before), loaded.entry(&change.after));
    let commits = match (&old.commit, &new.commit) {
        (Some(old), Some(new)) => git::between(old, new),
        _ => None,
    };
    let [old, new] = [old, new].map(|entry| history.profile(entry.id));
    let differences = old?.environment.differences(&new?.environment);
    let (commits, more) = commits.unwrap_or_default();
    Ok(Between {
        commits,
        more,
        // The revision is the commit, which is shown already.
        environment: (differences.into_iter())
            .filter(|each| each.part != breakeven_profile::profile::Part::Revision)
            .map(|each| format!("{}: {} → {}", each.what, each.first, each.second))
            .collect(),
    })
}

fn annotate(path: &Path, args: &AnnotateArgs, out: &mut dyn Write) -> Result<Outcome> {
    let mut history = History::open(path)?;
    let all = history.entries(&Branches::All)?;
    let entry = named(&all, args.entry.entry, args.entry.at.as_deref())?;
    if args.text.trim().is_empty() {
        bail!("the note is empty; give a text");
    }
    history.annotate(std::slice::from_ref(&entry), &args.text, args.accept)?;
    let verb = if args.accept { "accepted" } else { "annotated" };
    writeln!(out, "{verb} {}", clean(&page::named(&entry)))?;
    Ok(Outcome::Passed)
}

fn export(path: &Path, args: &ExportSeriesArgs, out: &mut dyn Write) -> Result<Outcome> {
    let history = History::open(path)?;
    if let (Some(entry), Some(output)) = (args.entry, &args.output) {
        file::check_writable(output)?;
        file::write(&history.profile(entry)?, output)?;
        return Ok(Outcome::Passed);
    }
    let loaded = load(&history, &args.branch)?;
    match &args.output {
        Some(output) => file::replace(output, |file| values_csv(&loaded, file))?,
        None => values_csv(&loaded, out)?,
    }
    Ok(Outcome::Passed)
}
