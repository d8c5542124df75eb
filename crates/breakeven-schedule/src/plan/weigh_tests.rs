//! Machines on which the fastest choice is not the one that uses least.

use std::time::Duration;

use proptest::prelude::*;

use super::{
    Decision, ExecutionStrategy, Goal, Machine, Objective, OperationCosts, Outcome, Prices,
    ProfilingHeuristics, Resource, costs_from_rates, decide, decide_by,
};
use crate::WorkloadProfile;
use crate::error::ErrorKind;

/// 16 cores of 10 W each, and a GPU of 20 cores' rate for 600 W.
const HOT_CARD: &str = "cores = 16\nwatts = 160\nidle_watts = 0\n\
    [[gpu]]\nspeedup = 20\nwatts = 600\nidle_watts = 0";

/// The GPU is slower than the cores, and saves.
const COOL_CARD: &str = "cores = 16\nwatts = 160\nidle_watts = 0\n\
    [[gpu]]\nspeedup = 8\nwatts = 20\nidle_watts = 0";

const PRICES: &str = "currency = \"EUR\"\n[cpu]\nper_hour = 3.6\nwhile_idle = true\n\
    [[gpu]]\nper_hour = 36\nwhile_idle = false";

/// Tasks of 1 ms on one core.
fn decided(machine: &str, objective: &str) -> Box<Decision> {
    let machine = Machine::from_toml(machine).expect("a machine");
    let prices = Prices::from_toml(PRICES).expect("prices");
    let workload = WorkloadProfile::from_task_count(1_600);
    let costs = costs_from_rates(1e6, &workload, &machine).expect("costs");
    let goal = Goal {
        objective: objective.parse().expect("an objective"),
        prices: Some(&prices),
    };
    let heuristics = ProfilingHeuristics::default();
    decide_by(goal, &workload, &machine, &heuristics, &costs).expect("a decision")
}

fn outcome(decision: &Decision) -> Outcome {
    decision.aim.as_ref().expect("it has one").outcome.clone()
}

#[test]
fn the_least_energy_is_not_the_least_time() {
    assert_eq!(
        decided(HOT_CARD, "time").strategy.to_string(),
        "hybrid:56/44"
    );
    let cold = decided(HOT_CARD, "energy");
    assert_eq!(cold.strategy, ExecutionStrategy::CpuOnly);
    // 100 ms of 160 W; 80 ms of 600 W; 16/36 of the first, 20/36 of the second.
    let joules = cold
        .candidates
        .each_ref()
        .map(|each| each.amounts[Resource::Energy]);
    let near =
        |found: Option<f64>, expected: f64| (found.expect("J") / expected - 1.0).abs() < 0.02;
    assert!(near(joules[0], 16.0) && near(joules[1], 48.0), "{joules:?}");
    assert!(near(joules[2], 16.0 * 0.44 + 48.0 * 0.56), "{joules:?}");
    assert_eq!(
        decided(COOL_CARD, "energy").strategy,
        ExecutionStrategy::GpuOnly
    );
}

#[test]
fn what_waits_draws_too() {
    // Who works hardly draws more than who waits: the soonest end is the least.
    let idle = "cores = 16\nwatts = 160\nidle_watts = 160\n\
        [[gpu]]\nspeedup = 20\nwatts = 600\nidle_watts = 500";
    assert_eq!(decided(idle, "energy").strategy.to_string(), "hybrid:56/44");
}

#[test]
fn a_price_counts_while_idle_or_not() {
    // The CPU costs 1 a second for as long as the batch lasts, the GPU 10 while it works.
    let cost = |decision: &Decision| {
        decision
            .candidates
            .each_ref()
            .map(|each| each.amounts[Resource::Cost])
    };
    let decision = decided(HOT_CARD, "cost");
    let [cpu, gpu, _] = cost(&decision).map(|cost| cost.expect("a cost") * 1e3);
    assert!((cpu - 0.1).abs() < 1e-3, "{cpu}");
    assert!((gpu - (0.08 + 0.8)).abs() < 1e-3, "{gpu}");
    assert_eq!(decision.strategy, ExecutionStrategy::CpuOnly);
}

#[test]
fn a_deadline_lets_the_one_that_saves_work_until_then() {
    // 100 ms on the cores, 200 on the card, 67 on both.
    let of = |objective: &str| decided(COOL_CARD, objective);
    let any_time = of("deadline:250ms");
    assert_eq!(any_time.strategy, ExecutionStrategy::GpuOnly);
    let late = of("deadline:50ms");
    assert_eq!(outcome(&late), Outcome::Late);
    assert_eq!(late.strategy, of("time").strategy);
    // The card alone is late; it does half of the work in half of its time.
    let between = of("deadline:100ms");
    assert_eq!(between.strategy.to_string(), "hybrid:50/50");
    assert!(between.keeps_parts() && outcome(&between) == Outcome::Least);
    assert!(between.predicted_ns().expect("a time") <= 100e6);
    let reasons = [between, late].map(|decision| decision.reasons().join("\n"));
    insta::assert_snapshot!(reasons.join("\n\n"));
}

#[test]
fn what_is_not_known_is_an_error_that_says_what_is_needed() {
    let workload = WorkloadProfile::from_task_count(1_600);
    let heuristics = ProfilingHeuristics::default();
    let refused = |machine: &str, objective, prices: Option<&Prices>| {
        let machine = Machine::from_toml(machine).expect("a machine");
        let costs = costs_from_rates(1e6, &workload, &machine).expect("costs");
        let goal = Goal { objective, prices };
        let error = decide_by(goal, &workload, &machine, &heuristics, &costs);
        let error = error.expect_err("something is missing");
        assert_eq!(error.kind(), ErrorKind::Unmeasured);
        error.to_string()
    };
    let no_cpu = "cores = 4\n[[gpu]]\nspeedup = 20\nwatts = 30\nidle_watts = 3";
    let bare = "cores = 4\nwatts = 30\nidle_watts = 3\n[[gpu]]\nname = \"a\"\nspeedup = 20";
    let other = PRICES.replace("[[gpu]]", "[[gpu]]\nname = \"b\"");
    let other = Prices::from_toml(&other).expect("prices");
    let said = [
        refused(no_cpu, Objective::Energy, None),
        refused(bare, Objective::Energy, None),
        refused(bare, Objective::Cost, None),
        refused(bare, Objective::Cost, Some(&other)),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn where_nothing_is_measured_nothing_is_weighed() {
    let prices = Prices::from_toml(PRICES).expect("prices");
    let answer = |machine: &str| {
        let machine = Machine::from_toml(machine).expect("a machine");
        let goal = Goal {
            objective: Objective::Cost,
            prices: Some(&prices),
        };
        let (workload, costs) = (WorkloadProfile::from_task_count(1_600), Default::default());
        let heuristics = ProfilingHeuristics::default();
        let decision = decide_by(goal, &workload, &machine, &heuristics, &costs);
        let decision = decision.expect("a decision");
        assert_eq!(outcome(&decision), Outcome::Unweighed);
        decision.reasons().pop().expect("it says so")
    };
    let said = [answer(HOT_CARD), answer("cores = 4")];
    insta::assert_snapshot!(said.join("\n"));
}

prop_compose! {
    fn machines()(
        cores in 1..64_usize,
        cpu in (0.0..300.0, 0.0..100.0),
        gpus in prop::collection::vec((0.1..60.0, 0.0..500.0, 0.0..100.0, 0..500_u32), 1..3),
    ) -> String {
        let (above, idle): (f64, f64) = cpu;
        let mut text = format!("cores = {cores}\nwatts = {:?}\nidle_watts = {idle:?}\n", idle + above);
        for (index, (speedup, above, idle, launch)) in gpus.into_iter().enumerate() {
            let watts: f64 = idle + above;
            text += &format!(
                "[[gpu]]\nname = \"{index}\"\nspeedup = {speedup:?}\nwatts = {watts:?}\nidle_watts = {idle:?}\nlaunch = \"{launch} us\"\n"
            );
        }
        text
    }
}

/// The decision as it is written, without what it was for.
fn written(goal: Goal<'_>, machine: &Machine, tasks: usize, times: u64) -> String {
    let workload = WorkloadProfile::from_task_count(tasks);
    let mut costs: OperationCosts = costs_from_rates(1e5, &workload, machine).expect("costs");
    // Measured, and for some time without one of the devices.
    for cost in costs
        .cpu
        .iter_mut()
        .chain(costs.gpus.iter_mut().filter_map(|gpu| gpu.cost.as_mut()))
    {
        cost.observations = times;
    }
    costs.cpu_absence.since_ns = times as f64 * 1e6;
    let decision = decide_by(
        goal,
        &workload,
        machine,
        &ProfilingHeuristics::default(),
        &costs,
    );
    let mut decision = decision.expect("a decision");
    if let Some(aim) = &mut decision.aim {
        aim.objective = Objective::Time;
    }
    serde_json::to_string(&decision).expect("it is data")
}

proptest! {
    #[test]
    fn time_is_decided_as_if_nothing_were_known_of_power(
        machine in machines(), tasks in 0..5_000_usize, times in 0..9_u64,
    ) {
        let machine = Machine::from_toml(&machine).expect("a machine");
        let mut bare = machine.clone();
        bare.cpu_power = Default::default();
        bare.gpus.iter_mut().for_each(|gpu| gpu.power = Default::default());
        let prices = Prices::from_toml(PRICES).expect("prices");
        let known = Goal { objective: Objective::Time, prices: Some(&prices) };
        let with = written(known, &machine, tasks, times);
        prop_assert_eq!(&with, &written(Goal::default(), &bare, tasks, times));
        prop_assert!(!with.contains("energy_j") && !with.contains("aim"));
        let workload = WorkloadProfile::from_task_count(tasks);
        let costs = costs_from_rates(1e5, &workload, &bare).expect("costs");
        let heuristics = ProfilingHeuristics::default();
        let plain = decide(&workload, &bare, &heuristics, &costs).expect("a decision");
        let aimed = decide_by(known, &workload, &machine, &heuristics, &costs).expect("a decision");
        prop_assert_eq!(plain, aimed);
    }

    #[test]
    fn a_deadline_that_never_comes_is_its_objective(
        machine in machines(), tasks in 0..5_000_usize, times in 0..9_u64, cost: bool,
    ) {
        let machine = Machine::from_toml(&machine).expect("a machine");
        let prices = Prices::from_toml(PRICES).expect("prices");
        let (then, alone) = match cost {
            true => (Resource::Cost, Objective::Cost),
            false => (Resource::Energy, Objective::Energy),
        };
        let within = Duration::MAX;
        let of = |objective| {
            let goal = Goal { objective, prices: Some(&prices) };
            written(goal, &machine, tasks, times)
        };
        prop_assert_eq!(of(Objective::Deadline { within, then }), of(alone));
    }

    #[test]
    fn no_candidate_takes_less_than_the_choice_unless_it_is_late(
        machine in machines(), tasks in 1..5_000_usize, part in 0.01..2.0,
    ) {
        let machine = Machine::from_toml(&machine).expect("a machine");
        let workload = WorkloadProfile::from_task_count(tasks);
        let costs = costs_from_rates(1e5, &workload, &machine).expect("costs");
        let heuristics = ProfilingHeuristics::default();
        let fastest = decide(&workload, &machine, &heuristics, &costs).expect("a decision");
        let ns = fastest.candidates[0].predicted_ns.expect("the rates are known") * part;
        #[expect(clippy::cast_sign_loss, reason = "a time")]
        let within = Duration::from_nanos(ns as u64 + 1);
        let objective = Objective::Deadline { within, then: Resource::Energy };
        let goal = Goal { objective, prices: None };
        let decision = decide_by(goal, &workload, &machine, &heuristics, &costs);
        let decision = decision.expect("a decision");
        match outcome(&decision) {
            Outcome::Least => {
                let in_time = |ns: Option<f64>| ns.is_some_and(|ns| ns <= within.as_nanos() as f64);
                prop_assert!(in_time(decision.predicted_ns()));
                let least = decision.chosen().and_then(|chosen| chosen.amounts[Resource::Energy]).expect("J");
                for other in decision.candidates.iter().filter(|other| in_time(other.predicted_ns)) {
                    // A split must be worth it.
                    prop_assert!(other.amounts[Resource::Energy].expect("J") >= 0.969 * least);
                }
            }
            Outcome::Late => prop_assert_eq!(decision.strategy, fastest.strategy),
            other => prop_assert!(decision.ruling.stage == super::Stage::Small, "{:?}", other),
        }
    }
}
