//! Makes the profile of all runs, prints its table, and compares it with a baseline.

use std::path::{Path, PathBuf, absolute};
use std::time::SystemTime;
use std::{env, fs};

use breakeven_judge::compare::Options;
use breakeven_judge::page::Page;
use breakeven_judge::{Compared, Limits, Policy, Source, compare, overview};
use breakeven_profile::profile::Profile;
use breakeven_profile::{file, machine};

use crate::args::Args;
use crate::bench::id;
use crate::runs::{self, INTERRUPTED};
use crate::{WRONG, Wrong, say};

/// Measures, writes the profile, prints and judges it; returns the exit code.
pub(crate) fn measure(name: &str, target: &str, args: &Args) -> Result<u8, Wrong> {
    let path = output(name, target, args)?;
    let baseline = baseline(&path, args)?;
    let created = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let (operations, mut code) = runs::all(args)?;
    if code == WRONG || (code != 0 && operations.is_empty()) {
        return Ok(code);
    } else if operations.is_empty() {
        let filters = args.filters.join(" or ");
        return Err(format!("no benchmark matches {filters:?}; --list prints the names").into());
    }
    let profile = Profile {
        created: Some(created),
        generator: Some(concat!("breakeven-bench ", env!("CARGO_PKG_VERSION")).to_owned()),
        interrupted: code == INTERRUPTED,
        benchmark: true,
        environment: machine::environment(),
        operations,
        ..Profile::default()
    };
    file::write(&profile, &path)?;
    let mut page = Page::default();
    overview(&profile, &Limits::default()).add_to(&mut page, &profile);
    page.aside(format!("profile: {}", path.display()));
    if profile.operations.iter().any(|each| each.failure.is_some()) {
        code = code.max(1);
    }
    print(&page);
    if let Some((from, baseline)) = baseline.filter(|_| !profile.interrupted) {
        let options = Options {
            threshold: args.threshold,
            ..Options::default()
        };
        let [before, after] = [[baseline], [profile]];
        let comparison = compare(&before, &after, &options)?;
        let sources = [Source::of(&[from], &before), Source::of(&[path], &after)];
        let policy = args.gate.then(Policy::default);
        let compared = Compared::new(sources, comparison, policy);
        say("");
        print(&compared.page(|_| None));
        if code == 0 {
            code = compared.verdict.outcome.exit_code();
        }
    }
    Ok(code)
}

/// Where the profile will be written.
fn output(name: &str, target: &str, args: &Args) -> Result<PathBuf, Wrong> {
    let folder = Path::new(target).with_file_name("breakeven");
    if args.output.is_none() {
        // The check below reports a folder that could not be made.
        let _ = fs::create_dir_all(&folder);
    }
    let default = folder.join(format!("{name}.json"));
    let path = absolute(args.output.as_ref().map_or(default, PathBuf::from))?;
    file::check_writable(&path)?;
    Ok(path)
}

/// The profile to compare with, of the benchmarks that will be measured.
fn baseline(output: &Path, args: &Args) -> Result<Option<(PathBuf, Profile)>, Wrong> {
    let Some(path) = &args.baseline else {
        return Ok(None);
    };
    // Absolute in errors: cargo starts a bench in its package's folder.
    let path = absolute(path)?;
    let behind = fs::canonicalize(&path).ok();
    if args.gate && behind.is_some() && behind == fs::canonicalize(output).ok() {
        let path = path.display();
        return Err(format!("{path} is the baseline and the output; copy it to a new file").into());
    }
    let mut profile = file::read(&path)?;
    let operations = &mut profile.operations;
    operations.retain(|operation| args.matches(&id(operation)));
    Ok(Some((path, profile)))
}

/// Prints the page, as wide as the terminal. Its reader may be gone.
fn print(page: &Page) {
    let columns = env::var("COLUMNS").ok();
    let columns = columns.and_then(|columns| columns.parse().ok());
    let terminal = terminal_size::terminal_size().map(|(width, _)| width.0.into());
    let width: usize = terminal.or(columns).unwrap_or(80);
    let _ = page.text(width.min(1_000), true, &mut anstream::stdout());
}
