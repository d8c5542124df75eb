//! The commands that `docs/ci.md` and its tutorial show are commands.

use std::fs;
use std::path::Path;

use crate::command::{directory, line};

/// The command lines of the page's code blocks that begin with `breakeven`,
/// without what the shell does with their output, run number 1 in their loops.
fn commands(page: &str) -> Vec<String> {
    let mut in_code = false;
    let mut found = Vec::new();
    for text in page.lines() {
        let text = text.trim();
        if text.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        let command = text.find("breakeven ").filter(|at| {
            // At the beginning, or behind the path of a build.
            let before = &text[..*at];
            before.is_empty() || before.ends_with("release/") && !before.contains(' ')
        });
        if let (true, Some(at)) = (in_code, command) {
            let typed = text[at..].split(" >>").next().unwrap();
            let typed = typed.replace("'mean > 5%'", "mean>5%");
            found.push(typed.replace("$run", "1").replace("-*.json", "-1.json"));
        }
    }
    found
}

#[test]
fn every_command_line_is_understood() {
    for (page, at_least) in [("ci.md", 6), ("tutorial-ci.md", 1)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let commands = commands(&fs::read_to_string(path.join(page)).unwrap());
        assert!(commands.len() >= at_least, "{page}: {commands:#?}");
        understood(&commands);
    }
}

fn understood(commands: &[String]) {
    let directory = directory();
    for command in commands {
        let args = command.strip_prefix("breakeven ").unwrap();
        // Measuring takes minutes, and what is wrong with arguments is reported first.
        let is_profile = args.starts_with("profile ");
        if is_profile && cfg!(not(feature = "engine")) {
            continue;
        }
        let args = match is_profile {
            true => format!("{args} --budget missing.toml"),
            false => args.to_owned(),
        };
        let mut breakeven = line(&args);
        breakeven.command.current_dir(&directory);
        let said = breakeven.run().refusal();
        let file = ["cannot be opened", "cannot read the budget file"];
        assert!(
            file.iter().any(|text| said.contains(text)),
            "{command}: {said}"
        );
    }
}
