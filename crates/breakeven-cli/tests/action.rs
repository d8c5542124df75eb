//! The GitHub Action's script in a repository of two revisions, and its comment.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::command::{Ended, directory};

/// A file of the action.
fn action(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

fn shell(folder: &Path, script: &str) -> Ended {
    let start = std::time::Instant::now();
    let binary = Path::new(env!("CARGO_BIN_EXE_breakeven"));
    let search = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let mut command = Command::new("bash");
    command
        .args(["-euc", script])
        .current_dir(folder)
        .env("PATH", search)
        .env("ACTION", action("action"))
        .env("TMPDIR", folder)
        .env("BREAKEVEN_MEASURE", MEASURE)
        .env("GITHUB_STEP_SUMMARY", folder.join("summary.md"))
        .env("GITHUB_OUTPUT", folder.join("output.txt"))
        .env_remove("RUNNER_TEMP")
        .env_remove("GITHUB_BASE_REF");
    Ended::of(command.output().unwrap(), start.elapsed())
}

/// A repository whose branch `main` takes 8 ms, and whose branch `topic`, which is checked
/// out, takes what is said.
fn repository(ms: &str) -> TempDir {
    let directory = directory();
    let script = format!(
        r#"git init -q -b main repository && cd repository
        git config user.email a@example.org && git config user.name a
        echo 8 > ms && git add ms && git commit -qm one
        git checkout -qb topic && echo {ms} > ms && git commit -qam two"#
    );
    let made = shell(directory.path(), &script);
    assert_eq!(made.code, Some(0), "{made:#?}");
    directory
}

/// Measures the revision in the current folder: ten times around its level, as hyperfine
/// writes them.
const MEASURE: &str = r#"
    level=$(cat ms); times=
    for step in 0 1 2 3 4 5 6 7 8 9; do times="$times,0.00$level$step$RANDOM"; done
    printf '{"results": [{"command": "decode", "times": [%s]}]}' "${times#,}" > "$BREAKEVEN_RESULT"
"#;

fn compare(directory: &TempDir, variables: &str) -> Ended {
    let script = format!("cd repository; {variables} \"$ACTION/compare\"");
    shell(directory.path(), &script)
}

#[test]
fn a_regression_fails_and_is_in_the_summary() {
    let directory = repository("9");
    let compared = compare(&directory, "");
    assert_eq!(compared.code, Some(1), "{compared:#?}");
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
    assert!(read("summary.md").contains("| **REGRESSION** | decode on cpu |"));
    let output = read("output.txt");
    assert!(output.contains("exit-code=1\n"), "{output}");
    let results = output
        .lines()
        .find_map(|line| line.strip_prefix("results="));
    let results = Path::new(results.unwrap());
    for name in ["base-1", "new-5", "compare.xml", "compare.md"] {
        assert!(results.join(name).exists(), "{name}");
    }
    assert!(!results.join("worktree").exists());
    assert_eq!(compare(&directory, "BREAKEVEN_GATE=false").code, Some(0));
}

#[test]
fn a_target_folder_of_all_builds_does_not_mix_the_sides() {
    let directory = repository("9");
    // As Cargo does, which takes two checkouts of a package for one.
    let measure = MEASURE.replace(
        "level=$(cat ms)",
        "mkdir -p \"$CARGO_TARGET_DIR\"; cp -n ms \"$CARGO_TARGET_DIR/ms\"; \
         level=$(cat \"$CARGO_TARGET_DIR/ms\")",
    );
    fs::write(directory.path().join("measure"), measure).unwrap();
    let variables = "export CARGO_TARGET_DIR=$PWD/../target; \
                     BREAKEVEN_MEASURE='. '$PWD/../measure";
    let compared = compare(&directory, variables);
    assert_eq!(compared.code, Some(1), "{compared:#?}");
}

#[test]
fn no_regression_passes() {
    let directory = repository("8\necho more > other && git add other");
    let compared = compare(
        &directory,
        "BREAKEVEN_RUNS=6 BREAKEVEN_OPTIONS='--threshold 20%'",
    );
    assert_eq!(compared.code, Some(0), "{compared:#?}");
}

#[test]
fn what_cannot_be_compared_is_reported() {
    let directory = repository("9");
    for (variables, reported) in [
        ("BREAKEVEN_BASE=none", "there is no revision none here"),
        (
            "BREAKEVEN_BASE=topic",
            "is the revision that is checked out",
        ),
        (
            "GITHUB_BASE_REF=none",
            "HEAD has no common commit with none here",
        ),
        ("BREAKEVEN_RUNS=0", "runs: 0 is no whole number, 1 or more"),
        ("BREAKEVEN_MEASURE=", "BREAKEVEN_MEASURE: give the command"),
        ("PATH=/usr/bin:/bin", "there is no command breakeven"),
        ("BREAKEVEN_BUILD=false", "the build failed in"),
        ("BREAKEVEN_MEASURE=true", "the command wrote nothing"),
        ("BREAKEVEN_MEASURE=false", "measuring failed in"),
    ] {
        let compared = compare(&directory, variables);
        assert_eq!(compared.code, Some(2), "{compared:#?}");
        assert!(compared.stderr.contains(reported), "{compared:#?}");
    }
}

/// `gh` is GitHub's; here it writes down what it is asked for.
#[test]
fn the_comment_is_written_once_and_then_replaced() {
    let directory = directory();
    let gh = directory.path().join("gh");
    fs::write(
        &gh,
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >> asked.txt\ncase \"$*\" in *--paginate*) cat known.txt;; *) exit ${GH:-0};; esac\n",
    )
    .unwrap();
    fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
    let comment = |known: &str, code: &str| {
        fs::write(directory.path().join("known.txt"), known).unwrap();
        fs::write(directory.path().join("asked.txt"), "").unwrap();
        let script = format!(
            "echo '# verdict $(touch ran) `x`' > verdict.md
            export PATH=$PWD:$PATH GH={code} VERDICT=verdict.md PULL_REQUEST=7
            GITHUB_REPOSITORY=a/b \"$ACTION/comment\""
        );
        let said = shell(directory.path(), &script);
        assert_eq!(said.code, Some(0), "{said:#?}");
        (
            said.stdout,
            fs::read_to_string(directory.path().join("asked.txt")).unwrap(),
        )
    };
    let (_, asked) = comment("", "0");
    assert!(
        asked.contains("--method POST repos/a/b/issues/7/comments"),
        "{asked}"
    );
    assert!(
        asked.contains("<!-- breakeven -->\n\n# verdict $(touch ran) `x`"),
        "{asked}"
    );
    assert!(!directory.path().join("ran").exists());
    let (_, asked) = comment("42\n", "0");
    assert!(
        asked.contains("--method PATCH repos/a/b/issues/comments/42"),
        "{asked}"
    );
    let (said, _) = comment("", "1");
    assert!(
        said.starts_with("::warning::the comment could not be written"),
        "{said}"
    );
}

#[test]
fn the_action_hands_every_input_over_as_a_variable() {
    let text = fs::read_to_string(action("action.yml")).unwrap();
    let (inputs, rest) = text.split_once("\noutputs:").unwrap();
    let names = inputs
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    let names: Vec<&str> = names.filter(|name| !name.starts_with(' ')).collect();
    assert_eq!(names.len(), 8);
    for name in names {
        assert!(rest.contains(&format!("inputs.{name} ")), "{name}");
    }
    // Text of users inside a script would be run.
    let runs = rest.split("run:").skip(1);
    assert!(
        runs.map(|run| run.lines().next().unwrap())
            .all(|run| !run.contains("${{"))
    );
}
