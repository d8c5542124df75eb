//! `breakeven plan --chain`: where each stage of a chain should run.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use breakeven::plan::{Alone, ChainCosts, Evidence, Leg, Machine, Placement};
use breakeven::{Costs, Stages, Tensor};
use breakeven_judge::Outcome;
use breakeven_judge::page::{Column, Page, Row, Table, Text, Tone};
use breakeven_profile::unit;
use serde::Serialize;

use super::{described, this_machine};
use crate::engine::session::detect;
use crate::engine::suite::{Chained, with_operator};
use crate::plan::args::PlanArgs;
use crate::print::page_or_document;
use crate::values::PageFormat;

pub(super) fn run(args: &PlanArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome> {
    let chained = Chained::new(&args.chain, args.size, args.tasks.unwrap_or(1))?;
    let (costs, warning) = Costs::open_default();
    if let Some(warning) = warning {
        let _ = writeln!(err, "warning: {warning}");
    }
    let elsewhere = args.hardware.as_deref().map(described).transpose()?;
    let found = detect(super::TIMEOUT_S, "interrupted")?;
    let machine = this_machine(&found, args.device.as_deref())?;
    let costs = Arc::new(costs);
    if args.measure {
        measure(&chained, &machine, &costs)?;
    }
    let inputs: Vec<&[usize]> = chained.inputs.iter().map(Tensor::shape).collect();
    let here = with_operator!(&chained.made, chain => {
        let alone = Stages::one(Arc::clone(chain));
        let stages = chain.stages().unwrap_or(&alone);
        let separate = of_chain(&costs, stages, &inputs, &machine);
        let fused = stages.fused().map(|fused| of_chain(&costs, fused, &inputs, &machine));
        let fused = fused.filter(|fused| is_faster(fused, &separate));
        fused.unwrap_or(separate)
    });
    let names = args.chain.join(", ");
    let plan = |name: &str, machine: &Machine, costs: &ChainCosts, notes: Vec<String>| {
        let placement = costs.place().with_context(|| {
            let missing = costs
                .stages
                .iter()
                .filter(|stage| stage.times.iter().all(Option::is_none));
            let missing: Vec<&str> = missing.map(|stage| stage.name.as_str()).collect();
            format!(
                "the time of {} on {name} is unknown; --measure runs the chain on this machine",
                missing.join(", ")
            )
        })?;
        Ok::<_, anyhow::Error>(ChainPlan {
            machine: name.to_owned(),
            machine_is: machine.to_string(),
            chain: names.clone(),
            input: chained.text.clone(),
            placement,
            notes,
        })
    };
    let mut plans = Vec::new();
    if elsewhere.is_none() || args.compare {
        let no_gpu = machine.gpus.is_empty().then(|| NO_GPU.to_owned());
        let notes = no_gpu.into_iter().collect();
        let mut plan = plan("this machine", &machine, &here, notes)?;
        if plan.placement.evidence() == Evidence::Heuristic && !machine.gpus.is_empty() {
            plan.notes.push(GUESSED.to_owned());
        }
        plans.push(plan);
    }
    if let Some((name, described)) = &elsewhere {
        let there = here.on(described, machine.cores);
        let note = "the stages' times there are derived from those on this CPU and from the \
            rates of \
                    the description";
        let mut all = vec![note.to_owned()];
        all.extend(described.gpus.iter().filter_map(super::unknown_rates));
        plans.push(plan(name, described, &there, all)?);
    }
    write_chain(&plans, args.format, out)?;
    Ok(Outcome::Passed)
}

/// True if a fused form of the chain was measured to be faster.
fn is_faster(fused: &ChainCosts, separate: &ChainCosts) -> bool {
    let [Some(fused), Some(separate)] = [fused, separate].map(ChainCosts::place) else {
        return false;
    };
    let is_measured = fused.stages.iter().all(|stage| stage.time.observations > 0);
    is_measured && fused.predicted_ns < separate.predicted_ns
}

const GUESSED: &str = "a heuristic time is derived from the peaks of its device, and a stage may \
    be far slower; --measure runs the chain here";

const NO_GPU: &str = "there is no GPU to use here; `breakeven devices` says why, and `--device \
    gpu` also selects a software GPU";

fn of_chain(costs: &Costs, stages: &Stages, inputs: &[&[usize]], machine: &Machine) -> ChainCosts {
    let names: Vec<&str> = machine.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    for gpu in &machine.gpus {
        if let Some(driver) = gpu.driver.known() {
            costs.declare_driver(&gpu.name, driver);
        }
    }
    let has_form = |_: usize, place: usize| {
        #[cfg(feature = "gpu")]
        return stages
            .iter()
            .nth(place)
            .is_some_and(|stage| stage.device().is_some());
        #[cfg(not(feature = "gpu"))]
        return place < stages.iter().len();
    };
    costs.of_chain(stages, inputs, &names, machine.cores, has_form)
}

/// Runs the chain until every device is measured, and saves the measurements.
#[cfg(feature = "gpu")]
fn measure(chained: &Chained, machine: &Machine, costs: &Arc<Costs>) -> Result<()> {
    use breakeven::execute::{RayonCpu, StrategyManager};

    /// Runs per device: three that count, and one for compilation.
    const RUNS: usize = 4;

    let cpu = Arc::new(RayonCpu::current());
    let Some((first, others)) = machine.gpus.split_first() else {
        bail!("{NO_GPU}");
    };
    let mut manager = StrategyManager::new(cpu, Arc::new(super::open(first)?));
    for gpu in others {
        manager = manager.with_gpu(Arc::new(super::open(gpu)?));
    }
    let manager = manager.allow_software_gpu().with_costs(Arc::clone(costs));
    for _ in 0..RUNS * (1 + machine.gpus.len()) {
        with_operator!(&chained.made, chain => manager.run(&**chain, &chained.inputs).map(drop))?;
    }
    Ok(costs.save()?)
}

#[cfg(not(feature = "gpu"))]
fn measure(_: &Chained, _: &Machine, _: &Arc<Costs>) -> Result<()> {
    bail!("this build has no GPU code: install with the default features to measure a chain")
}

/// A chain's placement on a machine.
#[derive(Serialize)]
pub(crate) struct ChainPlan {
    /// The machine's label: `this machine`, or a file's name.
    pub(crate) machine: String,
    /// The machine's description, in a line.
    pub(crate) machine_is: String,
    pub(crate) chain: String,
    /// The input in words.
    pub(crate) input: String,
    pub(crate) placement: Placement,
    pub(crate) notes: Vec<String>,
}

/// One plan, or one here and one for a described machine.
pub(crate) fn write_chain(
    plans: &[ChainPlan],
    format: PageFormat,
    out: &mut dyn Write,
) -> Result<()> {
    let page = || {
        let mut page = Page::default();
        plans.iter().for_each(|plan| add(plan, &mut page));
        page
    };
    match plans {
        [plan] => page_or_document(format, page, || plan, out),
        plans => page_or_document(format, page, || plans, out),
    }
}

fn add(plan: &ChainPlan, page: &mut Page) {
    let placement = &plan.placement;
    page.heading(format!(
        "{}: {} on {}",
        plan.chain,
        unit::time(placement.predicted_ns),
        placement.devices().join(" and ")
    ));
    page.facts([
        ("input", plan.input.clone()),
        (plan.machine.as_str(), plan.machine_is.clone()),
    ]);
    let row = |leg: Leg<'_>| match leg {
        Leg::Move(each) => {
            let way = format!("from {} to {}", each.from, each.to);
            let cells = [
                unit::bytes(each.bytes),
                way,
                unit::time(each.ns),
                String::new(),
            ];
            Row::new(cells.map(|cell| Text::new(cell, Tone::Faint)))
        }
        Leg::Stage(placed) => Row::new([
            placed.stage.clone(),
            placed.device.clone(),
            unit::time(placed.time.ns),
            placed.time.evidence.to_string(),
        ]),
    };
    page.table(Table {
        columns: vec![
            Column::words("stage", Column::KEPT),
            Column::words("where", Column::KEPT),
            Column::figures("takes", Column::KEPT),
            Column::words("evidence", Column::KEPT),
        ],
        rows: placement.way().map(row).collect(),
        ..Table::default()
    });
    let alone = placement.alone.iter().map(
        |Alone {
             device,
             predicted_ns,
             ..
         }| {
            let time = predicted_ns
                .map_or_else(|| "cannot run there, or not known".to_owned(), unit::time);
            Row::new([format!("all on {device}"), time])
        },
    );
    let together = [
        Text::new("as above", Tone::Strong),
        Text::new(unit::time(placement.predicted_ns), Tone::Strong),
    ];
    page.table(Table {
        columns: vec![
            Column::words("the whole chain", Column::KEPT),
            Column::figures("takes", Column::KEPT),
        ],
        rows: std::iter::once(Row::new(together)).chain(alone).collect(),
        ..Table::default()
    });
    page.facts(plan.notes.iter().map(|note| ("note", note)));
}
