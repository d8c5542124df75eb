//! Completions and the manual, which come from the arguments themselves.

use std::process::Command;

use crate::command::{breakeven, line};

#[test]
fn every_command_is_completed_and_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man");
    let wrote = breakeven(["man", pages.to_str().unwrap()]).run();
    assert_eq!(wrote.code, Some(0), "{}", wrote.stderr);
    let script = line("completions bash").run();
    assert_eq!(script.code, Some(0), "{}", script.stderr);
    let help = line("--help").run().stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            line.strip_prefix("  ")?
                .split(' ')
                .find(|word| !word.is_empty())
        })
        .filter(|command| *command != "help")
        .collect();
    assert!(
        commands.contains(&"compare") && commands.len() >= 6,
        "{commands:?}"
    );
    for command in commands {
        let page = pages.join(format!("breakeven-{command}.1"));
        let page = std::fs::read_to_string(page).unwrap();
        assert!(
            page.contains(".SH DESCRIPTION") || page.contains(".SH NAME"),
            "{command}"
        );
        let completed = format!("breakeven__subcmd__{command}");
        assert!(script.stdout.contains(&completed), "{command}");
    }
}

#[cfg(unix)]
#[test]
fn bash_takes_the_completions() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("breakeven.bash");
    std::fs::write(&file, line("completions bash").run().stdout).unwrap();
    let asked = "source \"$1\"; COMP_WORDS=(breakeven comp); COMP_CWORD=1; \
                 _breakeven breakeven comp breakeven; echo \"${COMPREPLY[*]}\"";
    let completed = Command::new("bash")
        .args(["-c", asked, "bash"])
        .arg(&file)
        .output()
        .unwrap();
    let completed = String::from_utf8(completed.stdout).unwrap();
    assert_eq!(completed.trim(), "compare completions");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let wrote = breakeven(["man", file.path().to_str().unwrap()]).run();
    assert_eq!(wrote.code, Some(2));
    assert!(
        wrote.stderr.contains("cannot make the folder"),
        "{}",
        wrote.stderr
    );
    assert_eq!(line("completions no-such-shell").run().code, Some(2));
}

#[test]
fn the_command_that_imports_is_suggested() {
    for name in ["import", "export"] {
        let said = line(&format!("{name} x.json")).run().refusal();
        assert!(said.contains("'convert'"), "{said}");
    }
}
