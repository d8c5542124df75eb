//! What the rule looked at, as text: made only when it is asked for.

use breakeven_profile::unit;

use super::decision::Stage;
use super::rule::{MANY_TASKS, PARALLEL_FROM, RuleFacts, Ruling};

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
    let workload = &facts.workload;
    let heuristics = &facts.heuristics;
    match stage {
        Stage::NoGpu if facts.has_gpu => "there is a GPU".to_owned(),
        Stage::NoGpu => "there is no GPU".to_owned(),
        Stage::Small => small(facts),
        Stage::Sequential if facts.answer(stage).is_some() => "the tasks are sequential".to_owned(),
        Stage::Sequential => format!("{} of the work is parallel", part(workload.parallelization)),
        Stage::MemoryPressure => match facts.memory_use {
            None => "how much of the GPU's memory is in use is unknown and counts as no pressure"
                .to_owned(),
            Some(used) => format!(
                "{} of the GPU's memory is in use, {} {}",
                part(used),
                above(facts.answer(stage).is_some()),
                part(heuristics.gpu_memory_pressure_threshold)
            ),
        },
        Stage::DoesNotFit => match facts.free_bytes {
            None => "the GPU's memory is unknown and counts as enough".to_owned(),
            Some(free) => {
                let free = unit::bytes(free);
                let needed = unit::bytes(facts.needed_bytes);
                let fits = match facts.answer(stage).is_some() {
                    true => "do not fit",
                    false => "fit",
                };
                format!("{needed} {fits} the GPU's free {free}")
            }
        },
        Stage::Large => large(facts),
        Stage::Complex => format!(
            "a complexity of {} is {} {}",
            workload.complexity,
            above(facts.answer(stage).is_some()),
            heuristics.complexity_threshold_for_gpu
        ),
        Stage::Last => format!("the last answer is {}", heuristics.last_answer),
    }
}

fn small(facts: &RuleFacts) -> String {
    let least = facts.heuristics.min_tasks_for_gpu;
    let size = grouped(facts.workload_size);
    let threshold = grouped(facts.heuristics.small_workload_threshold);
    let few = match facts.is_few() {
        true => format!("{} fewer than {least}", tasks_are(facts)),
        false => format!("{} not fewer than {least}", tasks_are(facts)),
    };
    let small = match facts.is_small() {
        true => format!("a workload of {size} is below {threshold}"),
        false => format!("a workload of {size} is not below {threshold}"),
    };
    match (facts.is_few(), facts.is_small()) {
        (true, false) => few,
        (false, true) => small,
        _ => format!("{few}, {small}"),
    }
}

fn large(facts: &RuleFacts) -> String {
    let many = format!(
        "{} {} {MANY_TASKS}",
        tasks_are(facts),
        more(facts.is_many())
    );
    let large = format!(
        "a workload of {} is {} {}",
        grouped(facts.workload_size),
        above(facts.is_large()),
        grouped(facts.heuristics.large_workload_threshold)
    );
    let size = match (facts.is_many(), facts.is_large()) {
        (true, false) => many,
        (false, true) => large,
        _ => format!("{many}, {large}"),
    };
    if !(facts.is_many() || facts.is_large()) {
        return size;
    }
    let parallel = facts.workload.parallelization;
    let enough = match parallel >= PARALLEL_FROM {
        true => "and",
        false => "but only",
    };
    let least = match parallel >= PARALLEL_FROM {
        true => "at least",
        false => "less than",
    };
    format!(
        "{size}, {enough} {} of the work is parallel, {least} {}",
        part(parallel),
        part(PARALLEL_FROM)
    )
}

fn tasks_are(facts: &RuleFacts) -> String {
    match facts.workload.task_count {
        1 => "1 task is".to_owned(),
        tasks => format!("{} tasks are", grouped(tasks as u64)),
    }
}

fn more(is: bool) -> &'static str {
    match is {
        true => "more than",
        false => "not more than",
    }
}

fn above(is: bool) -> &'static str {
    match is {
        true => "above",
        false => "not above",
    }
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
    use crate::hardware::Fact;
    use crate::plan::{GpuSpec, Machine, ProfilingHeuristics, rule};

    fn machine(gpus: Vec<GpuSpec>) -> Machine {
        Machine {
            cores: 8,
            memory_bytes: Fact::Unknown,
            gpus,
        }
    }

    fn card(memory: u64, used: Fact<u64>) -> Machine {
        machine(vec![GpuSpec {
            memory_bytes: Fact::Known(memory),
            memory_used_bytes: used,
            ..GpuSpec::named("card")
        }])
    }

    fn reasons(workload: &WorkloadProfile, machine: &Machine) -> String {
        let ruling = rule(workload, machine, &ProfilingHeuristics::default());
        ruling.reasons().join("\n")
    }

    #[test]
    fn without_a_gpu_the_smallness_agrees() {
        insta::assert_snapshot!(
            reasons(&WorkloadProfile::from_task_count(1), &machine(vec![])),
            @r"
        stage 1: there is no GPU: cpu-only
        stage 2 agrees: 1 task is fewer than 10
        "
        );
    }

    #[test]
    fn the_whole_way_down_to_the_last_answer() {
        let workload = WorkloadProfile::from_task_count(60).with_complexity(20.0);
        let nobody = rule(
            &workload,
            &card(32 << 30, Fact::Known(2 << 30)),
            &ProfilingHeuristics::default(),
        );
        assert_eq!(
            nobody.reason(),
            "no stage decided; the last answer is cpu-only"
        );
        insta::assert_snapshot!(reasons(&workload, &card(32 << 30, Fact::Known(2 << 30))), @r"
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
        let workload = WorkloadProfile::from_task_count(1_000);
        insta::assert_snapshot!(reasons(&workload, &machine(vec![GpuSpec::named("card")])), @r"
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
        insta::assert_snapshot!(reasons(&workload, &card(8 << 30, Fact::Known(7 << 30))), @r"
        stage 1: there is a GPU
        stage 2: 1 000 000 tasks are not fewer than 10, a workload of 102 400 000 000 is not below 100 000
        stage 3: 30 % of the work is parallel
        stage 4: 87.5 % of the GPU's memory is in use, above 80 %: hybrid:60/40
        stage 5 agrees: 9.54 GiB do not fit the GPU's free 1 GiB
        ");
        insta::assert_snapshot!(reasons(&workload, &card(8 << 30, Fact::Unknown)), @r"
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
        insta::assert_snapshot!(reasons(&workload, &card(8 << 30, Fact::Known(0))), @r"
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
