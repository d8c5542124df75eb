//! Reports commands that a build without the feature `engine` lacks.

use std::ffi::OsString;

/// The commands for users.
const COMMANDS: [&str; 9] = [
    "profile", "sweep", "plan", "tune", "devices", "monitor", "doctor", "run", "ab",
];

/// A command that this build lacks.
#[derive(Debug, thiserror::Error)]
#[error(
    "this build only judges; it has neither `breakeven {command}` nor the other commands that \
     measure or run; `cargo install breakeven-cli` installs all commands, with the code for GPUs; \
     `cargo install breakeven-cli --no-default-features --features engine` installs all, without that code"
)]
pub(crate) struct LeftOut {
    command: &'static str,
}

/// Fails if the command line (the program's name first) asks for one of them or for its help.
pub(crate) fn check(args: &[OsString]) -> Result<(), LeftOut> {
    let mut words = args.iter().skip(1).skip_while(|word| *word == "help");
    let asked = words.next();
    let command = (COMMANDS.into_iter()).find(|command| asked.is_some_and(|word| word == command));
    command.map_or(Ok(()), |command| Err(LeftOut { command }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Option<String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        check(&words).err().map(|left_out| left_out.to_string())
    }

    #[test]
    fn they_and_their_help_are_distinguished_from_the_rest() {
        let plan = of(&["breakeven", "plan", "--tasks", "9"]).expect("it is left out");
        assert!(plan.contains("`breakeven plan`") && plan.contains("features engine"));
        assert_eq!(of(&["breakeven", "help", "plan"]), Some(plan));
        for words in [
            &["breakeven"][..],
            &["breakeven", "help"],
            &["breakeven", "show", "plan"],
        ] {
            assert_eq!(of(words), None, "{words:?}");
        }
    }

    #[cfg(all(unix, feature = "engine"))]
    #[test]
    fn all_are_named() {
        use clap::Subcommand as _;

        let engine = crate::engine::Command::augment_subcommands(clap::Command::new("breakeven"));
        let visible = engine
            .get_subcommands()
            .filter(|command| !command.is_hide_set());
        let names: Vec<&str> = visible.map(|command| command.get_name()).collect();
        assert_eq!(names, COMMANDS);
    }
}
