//! Asks git and CI systems for the measured commit.

use std::env;
use std::process::{Command, Stdio};

/// Most commits that are listed between two values.
const MOST_COMMITS: usize = 20;

/// The commit that is checked out, as the CI system reports it, else git.
pub(crate) fn commit() -> Option<String> {
    from_environment(&["GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT"])
        .or_else(|| git(&["rev-parse", "HEAD"]))
}

/// Its branch; for a pull request, the branch to be merged.
pub(crate) fn branch() -> Option<String> {
    let names = [
        "GITHUB_HEAD_REF",
        "GITHUB_REF_NAME",
        "CI_COMMIT_REF_NAME",
        "BRANCH_NAME",
    ];
    from_environment(&names).or_else(|| git(&["branch", "--show-current"]))
}

/// True if a commit is on the branch that is checked out, as far as the repository here has both.
pub(crate) fn is_here(commit: &str) -> bool {
    // A file may mark that more than the commit was measured.
    let commit = commit.strip_suffix("-dirty").unwrap_or(commit);
    let full = format!("{commit}^{{commit}}");
    let full = git(&["rev-parse", "--verify", "--end-of-options", &full]);
    full.is_some() && full == git(&["merge-base", "--end-of-options", commit, "HEAD"])
}

/// When a commit was made, if the repository here has it.
pub(crate) fn time(commit: &str) -> Option<String> {
    git(&[
        "show",
        "--no-patch",
        "--format=%cI",
        "--end-of-options",
        commit,
    ])
}

/// The commits after one up to and including another, newest first, one line each with its subject;
/// and how many more there are.
pub(crate) fn between(old: &str, new: &str) -> Option<(Vec<String>, usize)> {
    let range = format!("{old}..{new}");
    let text = git(&["log", "--format=%h %s", "--end-of-options", &range])?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let more = lines.len().saturating_sub(MOST_COMMITS);
    lines.truncate(MOST_COMMITS);
    Some((lines, more))
}

fn from_environment(names: &[&str]) -> Option<String> {
    let mut values = names.iter().filter_map(|name| env::var(name).ok());
    values.find(|value| !value.is_empty())
}

/// Output of git; none without git, without a repository, or without such a commit.
fn git(arguments: &[&str]) -> Option<String> {
    let ran = Command::new("git")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(ran.stdout).ok()?;
    let text = text.trim();
    (ran.status.success() && !text.is_empty()).then(|| text.to_owned())
}
