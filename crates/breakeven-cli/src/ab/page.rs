//! Prints the comparison of two commands, as a page or as JSON.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::page::figures::plural;
use breakeven_judge::page::{Column, Page, Row, Table, Text, Tone};
use breakeven_judge::{AbComparison, ChangeType};
use breakeven_profile::unit;

use crate::ab::args::AbArgs;
use crate::print::page_or_document;

pub(crate) fn write(args: &AbArgs, compared: &AbComparison, out: &mut dyn Write) -> Result<()> {
    page_or_document(args.format, || page(args, compared), || compared, out)
}

fn page(args: &AbArgs, compared: &AbComparison) -> Page {
    let mut page = Page::default();
    page.heading(answer(args, compared));
    if compared.a_ns.is_empty() {
        return page;
    }
    let [a, b] = compared.typical_ns;
    let row = |name: &str, text: &str, typical: f64, times: &[f64]| {
        let time = |of: Option<f64>| of.map_or_else(|| unit::UNKNOWN.to_owned(), unit::time);
        let least = times.iter().copied().min_by(f64::total_cmp);
        let most = times.iter().copied().max_by(f64::total_cmp);
        let cells = [
            name.to_owned(),
            text.to_owned(),
            unit::time(typical),
            time(least),
            time(most),
        ];
        Row::new(cells.map(|cell| Text::new(cell, Tone::Plain)))
    };
    page.table(Table {
        columns: vec![
            Column::words("", Column::KEPT),
            Column::words("command", Column::KEPT),
            Column::figures("typical", Column::KEPT),
            Column::figures("least", 1),
            Column::figures("most", 1),
        ],
        rows: vec![
            row("A", &args.a.text, a, &compared.a_ns),
            row("B", &args.b.text, b, &compared.b_ns),
        ],
        ..Table::default()
    });
    let [lower, upper] = [compared.lower, compared.upper].map(|end| unit::change(end - 1.0));
    let (change, level) = (
        unit::change(compared.ratio - 1.0),
        unit::percent(compared.level),
    );
    let runs = plural(compared.a_ns.len() as u64, "run");
    let took = unit::time(compared.took.as_nanos() as f64);
    page.facts([
        (
            "B against A",
            format!("{change} ({lower} to {upper}, at {level}, valid at any stopping time)"),
        ),
        ("measured", format!("{runs} of each, in turns, in {took}")),
    ]);
    page
}

fn answer(args: &AbArgs, compared: &AbComparison) -> String {
    let least = unit::percent(args.threshold.as_fraction());
    let times = |ratio: f64| format!("{:.2} times as long", ratio);
    let took = unit::time(compared.took.as_nanos() as f64);
    match compared.verdict {
        _ if compared.a_ns.is_empty() => {
            format!("Not decided within {took}: a side has not ended once; allow more time")
        }
        ChangeType::Regression => format!("B is slower: it takes {}", times(compared.ratio)),
        ChangeType::Improvement => {
            format!("B is faster: A takes {}", times(1.0 / compared.ratio))
        }
        ChangeType::NoChange => format!("Neither is faster by {least}"),
        _ => format!(
            "Not decided within {took}: allow more time, or give a larger threshold than {least}"
        ),
    }
}
