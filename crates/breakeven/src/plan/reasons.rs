//! What the rule looked at, as text: made only when it is asked for.

use breakeven_profile::unit;

use super::rule::Stage;
use super::rule::{MANY_TASKS, PARALLEL_FROM, RuleFacts, Ruling, SEQUENTIAL_BELOW};

impl Ruling {
    /// A sentence for each stage that was looked at, with its numbers, the one
    /// that decided last; after it the later stages that agree.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<String> = Vec::with_capacity(8);
        for stage in self.looked_at() {
            let finding = finding(&self.facts, stage);
            reasons.push(match stage == self.stage {
                true => format!("{stage}: {finding}: {}", self.strategy),
                false => format!("{stage}: {finding}"),
            });
        }
        if self.stage == Stage::Last {
            reasons.push(format!(
                "no stage decided; the last answer is {}",
                self.strategy
            ));
        }
        let agreeing = self.agreeing().map(|stage| {
            let finding = finding(&self.facts, stage);
            format!("{stage} agrees: {finding}")
        });
        reasons.extend(agreeing);
        reasons
    }

    /// The sentence of the stage that decided, or of the last answer.
    pub fn reason(&self) -> String {
        let before = self.looked_at().count();
        let at = match self.stage {
            Stage::Last => before,
            _ => before.saturating_sub(1),
        };
        self.reasons().into_iter().nth(at).unwrap_or_default()
    }
}

/// What a stage finds, with its numbers.
fn finding(facts: &RuleFacts, stage: Stage) -> String {
    let (workload, heuristics) = (&facts.workload, &facts.heuristics);
    let holds = facts.answer(stage).is_some();
    match stage {
        Stage::NoGpu if facts.has_gpu => "there is a GPU".to_owned(),
        Stage::NoGpu if facts.free_bytes.is_some() => format!(
            "no GPU has the {} free that a task needs",
            unit::bytes(workload.memory_per_task as u64)
        ),
        Stage::NoGpu if facts.gpus_left_out > 0 => "no GPU can be used now".to_owned(),
        Stage::NoGpu => "there is no GPU".to_owned(),
        Stage::Small => small(facts),
        Stage::Sequential if workload.parallelization == 0.0 => {
            "the tasks are sequential".to_owned()
        }
        Stage::Sequential if holds => format!(
            "less than {} of the work is parallel",
            part(SEQUENTIAL_BELOW)
        ),
        Stage::Sequential => format!("{} of the work is parallel", part(workload.parallelization)),
        Stage::MemoryPressure => match facts.memory_use {
            None => "how much of the GPU's memory is in use is unknown and counts as no pressure"
                .to_owned(),
            Some(used) => format!(
                "{} of the GPU's memory is in use, {}above {}",
                part(used),
                not(holds),
                part(heuristics.gpu_memory_pressure_threshold)
            ),
        },
        Stage::DoesNotFit => match facts.free_bytes {
            None => "the GPU's memory is unknown and counts as enough".to_owned(),
            Some(free) => {
                let (needed, free) = (unit::bytes(facts.needed_bytes), unit::bytes(free));
                let fit = if holds { "do not fit" } else { "fit" };
                format!("{needed} {fit} the GPU's free {free}")
            }
        },
        Stage::Large => large(facts),
        Stage::Complex => format!(
            "a complexity of {} is {}above {}",
            workload.complexity,
            not(holds),
            heuristics.complexity_threshold_for_gpu
        ),
        Stage::Last => format!("the last answer is {}", heuristics.last_answer),
    }
}

fn small(facts: &RuleFacts) -> String {
    let (few, small) = (facts.is_few(), facts.is_small());
    let tasks = tasks_are(facts);
    let least = facts.heuristics.min_tasks_for_gpu;
    let size = grouped(facts.workload_size);
    let threshold = grouped(facts.heuristics.small_workload_threshold);
    let tasks = format!("{tasks} {}fewer than {least}", not(few));
    let size = format!("a workload of {size} is {}below {threshold}", not(small));
    what_holds((few, tasks), (small, size))
}

fn large(facts: &RuleFacts) -> String {
    let (many, large) = (facts.is_many(), facts.is_large());
    let tasks = tasks_are(facts);
    let size = grouped(facts.workload_size);
    let threshold = grouped(facts.heuristics.large_workload_threshold);
    let tasks = format!("{tasks} {}more than {MANY_TASKS}", not(many));
    let size = format!("a workload of {size} is {}above {threshold}", not(large));
    let found = what_holds((many, tasks), (large, size));
    if !(many || large) {
        return found;
    }
    let parallel = facts.workload.parallelization;
    let (and, least) = match parallel >= PARALLEL_FROM {
        true => ("and", "at least"),
        false => ("but only", "less than"),
    };
    let (parallel, from) = (part(parallel), part(PARALLEL_FROM));
    format!("{found}, {and} {parallel} of the work is parallel, {least} {from}")
}

/// The one of two findings that holds, or both.
fn what_holds((first, one): (bool, String), (second, other): (bool, String)) -> String {
    match (first, second) {
        (true, false) => one,
        (false, true) => other,
        _ => format!("{one}, {other}"),
    }
}

fn tasks_are(facts: &RuleFacts) -> String {
    match facts.workload.task_count {
        1 => "1 task is".to_owned(),
        tasks => format!("{} tasks are", grouped(tasks as u64)),
    }
}

fn not(holds: bool) -> &'static str {
    if holds { "" } else { "not " }
}

/// A part as a percentage, whole where it is one: `80 %`, `6.3 %`.
fn part(fraction: f64) -> String {
    unit::percent(fraction).replace(".0 %", " %")
}

fn grouped(count: u64) -> String {
    unit::count(count as f64)
}

#[cfg(test)]
mod tests {
    use crate::WorkloadProfile;
    use crate::plan::{Machine, ProfilingHeuristics, Ruling, rule};

    fn ruling(workload: WorkloadProfile, gpu: &str) -> Ruling {
        let machine = Machine::from_toml(&format!("cores = 8\n{gpu}")).expect("a machine");
        rule(&workload, &machine, &ProfilingHeuristics::default())
    }

    fn reasons(workload: WorkloadProfile, gpu: &str) -> String {
        ruling(workload, gpu).reasons().join("\n")
    }

    #[test]
    fn without_a_gpu_the_smallness_agrees() {
        insta::assert_snapshot!(reasons(WorkloadProfile::from_task_count(1), ""), @r"
        stage 1: there is no GPU: cpu-only
        stage 2 agrees: 1 task is fewer than 10
        ");
    }

    #[test]
    fn the_whole_way_down_to_the_last_answer() {
        let workload = WorkloadProfile::from_task_count(60).with_complexity(20.0);
        let card = "[[gpu]]\nmemory = \"32 GiB\"\nmemory_used = \"2 GiB\"";
        let last = "no stage decided; the last answer is cpu-only";
        assert_eq!(ruling(workload, card).reason(), last);
        insta::assert_snapshot!(reasons(workload, card), @r"
        stage 1: there is a GPU
        stage 2: 60 tasks are not fewer than 10, a workload of 1 228 800 is not below 100 000
        stage 3: 100 % of the work is parallel
        stage 4: 6.3 % of the GPU's memory is in use, not above 80 %
        stage 5: 600 KiB fit the GPU's free 30 GiB
        stage 6: 60 tasks are not more than 100, a workload of 1 228 800 is not above 10 000 000
        stage 7: a complexity of 20 is not above 50
        no stage decided; the last answer is cpu-only
        ");
    }

    #[test]
    fn what_is_unknown_says_what_it_counts_as() {
        insta::assert_snapshot!(reasons(WorkloadProfile::from_task_count(1_000), "[[gpu]]"), @r"
        stage 1: there is a GPU
        stage 2: 1 000 tasks are not fewer than 10, a workload of 102 400 000 is not below 100 000
        stage 3: 100 % of the work is parallel
        stage 4: how much of the GPU's memory is in use is unknown and counts as no pressure
        stage 5: the GPU's memory is unknown and counts as enough
        stage 6: 1 000 tasks are more than 100, a workload of 102 400 000 is above 10 000 000, and 100 % of the work is parallel, at least 50 %: gpu-only
        stage 7 agrees: a complexity of 100 is above 50
        ");
    }

    #[test]
    fn a_batch_past_the_memory_in_use() {
        let workload = WorkloadProfile::from_task_count(1_000_000).with_parallelization(0.3);
        insta::assert_snapshot!(reasons(workload, "[[gpu]]\nmemory = \"8 GiB\"\nmemory_used = \"7 GiB\""), @r"
        stage 1: there is a GPU
        stage 2: 1 000 000 tasks are not fewer than 10, a workload of 102 400 000 000 is not below 100 000
        stage 3: 30 % of the work is parallel
        stage 4: 87.5 % of the GPU's memory is in use, above 80 %: hybrid:60/40
        stage 5 agrees: 9.54 GiB do not fit the GPU's free 1 GiB
        ");
        insta::assert_snapshot!(reasons(workload, "[[gpu]]\nmemory = \"8 GiB\""), @r"
        stage 1: there is a GPU
        stage 2: 1 000 000 tasks are not fewer than 10, a workload of 102 400 000 000 is not below 100 000
        stage 3: 30 % of the work is parallel
        stage 4: how much of the GPU's memory is in use is unknown and counts as no pressure
        stage 5: 9.54 GiB do not fit the GPU's free 8 GiB: hybrid:83/17
        ");
    }

    #[test]
    fn many_tasks_that_are_hardly_parallel() {
        let workload = WorkloadProfile::from_task_count(1_000).with_parallelization(0.3);
        insta::assert_snapshot!(reasons(workload, "[[gpu]]\nmemory = \"8 GiB\"\nmemory_used = \"0 B\""), @r"
        stage 1: there is a GPU
        stage 2: 1 000 tasks are not fewer than 10, a workload of 102 400 000 is not below 100 000
        stage 3: 30 % of the work is parallel
        stage 4: 0 % of the GPU's memory is in use, not above 80 %
        stage 5: 9.77 MiB fit the GPU's free 8 GiB
        stage 6: 1 000 tasks are more than 100, a workload of 102 400 000 is above 10 000 000, but only 30 % of the work is parallel, less than 50 %
        stage 7: a complexity of 100 is above 50: gpu-only
        ");
    }
}
