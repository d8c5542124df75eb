//! Memory on a disk.

use crate::hardware::Fact;
use crate::hardware::doctor::facts::Facts;
use crate::hardware::doctor::finding::{Finding, Remedy, Standing, Subject};
use crate::hardware::doctor::rights::Rights;

pub(super) fn look(facts: &Facts) -> Vec<Finding> {
    let (subject, file) = (Subject::Swap, "/proc/swaps");
    let Fact::Known(swaps) = &facts.settings.memory.swaps else {
        return vec![Finding::unknown(subject, "the system does not tell")];
    };
    if swaps.is_empty() {
        return vec![Finding::good(subject, "none").from(file)];
    }
    let moved = [facts.quiet.swapped_pages, facts.loaded.swapped_pages];
    let moved: Option<u64> = moved.iter().map(|pages| pages.get()).sum();
    let on = swaps.join(", ");
    let finding = match moved {
        Some(0) => Finding::good(subject, format!("{on}; nothing was moved")),
        Some(pages) => {
            let rights = Rights::of(facts);
            let sudo = if rights.root { "" } else { "sudo " };
            let command = format!("{sudo}swapoff -a");
            let seen = format!("{on}; {pages} pages were moved");
            Finding::new(subject, Standing::Bad, seen)
                .does("an access to memory may take milliseconds instead of 100 ns")
                .change(match rights.container {
                    true => Remedy::Elsewhere {
                        why: "the container cannot change it; whoever runs its host can".to_owned(),
                        command: Some(command),
                    },
                    false => Remedy::Command {
                        command,
                        undo: Some(format!("{sudo}swapon -a")),
                    },
                })
        }
        None => Finding::unknown(subject, format!("{on}; whether it is used is not told")),
    };
    vec![finding.from(file)]
}
