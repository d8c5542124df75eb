//! Where memory is placed. Random addresses differ from run to run, and that is as it
//! should be: what a layout costs or saves then is noise that more runs average out. With
//! fixed ones it is a bias that no number of runs shows (Mytkowicz, Diwan, Hauswirth and
//! Sweeney 2009, "Producing wrong data without doing anything obviously wrong!"; Curtsinger
//! and Berger 2013, "Stabilizer").

use crate::hardware::Fact;
use crate::hardware::doctor::facts::Facts;
use crate::hardware::doctor::finding::{Finding, Remedy, Standing, Subject};
use crate::hardware::doctor::rights::Rights;

pub(super) fn look(facts: &Facts) -> Vec<Finding> {
    let memory = &facts.settings.memory;
    let subject = Subject::Addresses;
    let effect = "every run has the same layout of memory: a change that only moves code or data \
                  looks like a faster or slower one, however many runs there are";
    let Fact::Known(setting) = &memory.randomised else {
        return vec![Finding::unknown(subject, "the system does not tell")];
    };
    let finding = match (&*setting.value, memory.fixed_here) {
        ("0", _) => Finding::new(subject, Standing::Doubtful, "fixed")
            .from(&setting.file)
            .does(effect)
            .change(Remedy::write(
                setting,
                &setting.file,
                "2",
                Rights::of(facts),
            )),
        (_, Fact::Known(true)) => {
            Finding::new(subject, Standing::Doubtful, "fixed for this process")
                .from("/proc/self/personality")
                .does(effect)
                .change(Remedy::act(
                    "start it without `setarch --addr-no-randomize` or a debugger",
                ))
        }
        _ => Finding::good(subject, "random, another one in every run").from(&setting.file),
    };
    vec![finding]
}
