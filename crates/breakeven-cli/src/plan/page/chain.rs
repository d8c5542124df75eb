//! Prints where the stages of a chain should run, as a page or as JSON.

use std::io::Write;

use anyhow::Result;
use breakeven::plan::{Alone, Leg, Placement};
use breakeven_judge::page::{Column, Page, Row, Table, Text, Tone};
use breakeven_profile::unit;
use serde::Serialize;

use crate::print::page_or_document;
use crate::values::PageFormat;

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
