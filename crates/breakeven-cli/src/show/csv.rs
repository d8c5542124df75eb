//! One line per operation, device and phase of a call, then those of the devices' activity in a
//! trace; times in ns.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::overview::{COLUMNS, Column};
use breakeven_judge::page::clean;

use super::{Report, activity};

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let mut columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.csv > 0).collect();
    columns.sort_by_key(|column| column.csv);
    csv.write_record(columns.iter().map(|column| column.key))?;
    for line in report.overview.rows.iter().flat_map(|row| row.lines()) {
        csv.write_record(
            columns
                .iter()
                .map(|column| clean(&column.text(&line, |_, value| value.to_string()))),
        )?;
    }
    for line in activity::lines(report) {
        let cell = |key| line.iter().find(|(of, _)| *of == key);
        let cells = columns.iter().map(|column| cell(column.key));
        csv.write_record(cells.map(|cell| cell.map_or_else(String::new, |(_, cell)| clean(cell))))?;
    }
    csv.flush()?;
    Ok(())
}
