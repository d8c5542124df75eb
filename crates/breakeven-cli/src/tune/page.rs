//! Prints tuning results, as a page or as JSON.

use std::io::Write;

use anyhow::Result;
use breakeven::tune::{Fate, Tried, TunedKernel};
use breakeven_judge::page::figures::plural;
use breakeven_judge::page::{Column, Page, Row, Table, Text, Tone};
use breakeven_profile::unit;

use crate::print::{page_or_document, print};
use crate::values::PageFormat;

/// Most configurations that are shown of a tuned kernel, besides the default and the winner.
const SHOWN: usize = 5;

/// Summary of a tuned kernel.
pub(crate) fn write_one(kernel: &TunedKernel, out: &mut dyn Write) -> Result<()> {
    let mut page = Page::default();
    add(kernel, SHOWN, &mut page);
    print(&page, out)?;
    Ok(out.flush()?)
}

/// Kernels with all tried configurations.
pub(crate) fn write(
    kernels: &[TunedKernel],
    format: PageFormat,
    out: &mut dyn Write,
) -> Result<()> {
    let page = || {
        let mut page = Page::default();
        kernels
            .iter()
            .for_each(|kernel| add(kernel, usize::MAX, &mut page));
        page
    };
    page_or_document(format, page, || kernels, out)
}

fn add(kernel: &TunedKernel, shown: usize, page: &mut Page) {
    page.heading(answer(kernel));
    page.facts([
        ("calls of", kernel.key.size.to_string()),
        ("device", kernel.key.device.clone()),
        ("driver", kernel.key.driver.clone()),
    ]);
    let default_ns = kernel.tried.first().and_then(|tried| tried.trial.median_ns);
    let mut tried: Vec<&Tried> = kernel.tried.iter().collect();
    let time = |tried: &Tried| tried.trial.median_ns.unwrap_or(f64::INFINITY);
    tried.sort_by(|one, other| time(one).total_cmp(&time(other)));
    let is_listed =
        |(place, tried): &(usize, &Tried)| *place < shown || is_final(&tried.trial.fate);
    let listed: Vec<_> = tried
        .iter()
        .copied()
        .enumerate()
        .filter(is_listed)
        .collect();
    let hidden = tried.len() - listed.len();
    let row = |(_, tried): (usize, &Tried)| {
        let tone = if is_final(&tried.trial.fate) {
            Tone::Strong
        } else {
            Tone::Plain
        };
        let ns = tried.trial.median_ns;
        let speed = default_ns
            .zip(ns)
            .map(|(default, ns)| format!("{:.2}×", default / ns));
        let cells = [
            tried.configuration.to_string(),
            ns.map_or_else(String::new, unit::time),
            speed.unwrap_or_default(),
            tried.trial.samples.to_string(),
            fate(&tried.trial.fate),
        ];
        Row::new(cells.map(|cell| Text::new(cell, tone)))
    };
    page.table(Table {
        columns: vec![
            Column::words("configuration", Column::KEPT),
            Column::figures("median", Column::KEPT),
            Column::figures("speed", Column::KEPT),
            Column::figures("samples", 1),
            Column::words("", Column::KEPT),
        ],
        rows: listed.into_iter().map(row).collect(),
        ..Table::default()
    });
    if hidden > 0 {
        page.aside(format!(
            "{} more: `breakeven tune --show` lists them",
            plural(hidden as u64, "configuration")
        ));
    }
}

/// The result, in a line.
fn answer(kernel: &TunedKernel) -> String {
    let name = &kernel.key.kernel;
    let end = if kernel.is_complete {
        ""
    } else {
        " within the time limit; --again with a larger --time-limit continues"
    };
    match &kernel.gain {
        Some(gain) => format!(
            "{name}: {} is {:.2} times as fast as the default ({:.2} to {:.2})",
            kernel.configuration, gain.ratio, gain.lower, gain.upper
        ),
        None if kernel.is_at_roofline => {
            format!("{name}: the default is as fast as the device allows; nothing was searched")
        }
        None => format!("{name}: no configuration was faster than the default{end}"),
    }
}

fn is_final(fate: &Fate) -> bool {
    matches!(fate, Fate::Won | Fate::Kept | Fate::Beaten | Fate::Tied)
}

fn fate(fate: &Fate) -> String {
    match fate {
        Fate::Won => "used from now on".to_owned(),
        Fate::Kept => "the default, kept".to_owned(),
        Fate::Beaten => "the default".to_owned(),
        Fate::Tied => "not significantly faster than the default".to_owned(),
        Fate::Dropped(round) => format!("dropped in round {round}"),
        Fate::Failed(why) => format!("failed: {why}"),
        Fate::NotTried => "not tried".to_owned(),
    }
}
