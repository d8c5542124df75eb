//! The page's figures are those of the judge and of `breakeven show`.

use breakeven_judge::{Limits, overview};
use breakeven_profile::unit;
use serde_json::json;

use crate::browser::Browser;
use crate::made::{data, page, whole};

#[test]
fn numbers_and_texts_are_those_of_the_overview() {
    let profile = whole();
    let html = page(&profile, None, &[]);
    let data = data(&html, "operations");
    let columns: Vec<&str> = data["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c.as_str().unwrap())
        .collect();
    let column = |key: &str| columns.iter().position(|column| *column == key).unwrap();
    for (index, row) in overview(&profile, &Limits::default())
        .rows
        .iter()
        .enumerate()
    {
        let value = |key: &str| data["values"][index][column(key)].as_f64();
        let summary = row.summary;
        assert_eq!(value("mean_ns"), summary.map(|s| s.mean));
        assert_eq!(value("median_ns"), summary.map(|s| s.median));
        assert_eq!(value("p99_ns"), summary.map(|s| s.p99));
        assert_eq!(value("deviation_ns"), summary.and_then(|s| s.deviation));
        assert_eq!(value("total_ns"), summary.map(|_| row.total_ns));
        assert_eq!(value("bytes_share"), row.roofline.bytes_share);
        // All samples are in the histogram.
        let histogram = &data["histograms"][index];
        let counts = histogram["runs"].as_array().into_iter().flatten();
        let counted: u64 = counts
            .flat_map(|run| run.as_array().unwrap())
            .map(|n| n.as_u64().unwrap())
            .sum();
        assert_eq!(counted, row.calls);
    }
}

#[test]
fn the_cells_show_what_the_judge_computed() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let profile = whole();
    let file = browser.file(&page(&profile, None, &[]));
    browser.open(&file, "");
    let cells = browser.evaluate(
        "(() => {
            const table = document.getElementById('operations-table');
            const keys = [...table.tHead.rows[0].cells].map((head) => head.dataset.key);
            return [...table.tBodies[0].rows].map((row) => Object.fromEntries(
                [...row.cells].map((cell, index) => [keys[index], cell.textContent])));
        })()",
    );
    let rows = overview(&profile, &Limits::default()).rows;
    assert_eq!(cells.as_array().unwrap().len(), rows.len());
    for (cell, row) in cells.as_array().unwrap().iter().zip(&rows) {
        let time = |ns: Option<f64>| json!(ns.map_or_else(String::new, unit::time));
        let summary = row.summary;
        assert_eq!(cell["mean_ns"], time(summary.map(|s| s.mean)));
        assert_eq!(cell["min_ns"], time(summary.map(|s| s.min)));
        assert_eq!(cell["p95_ns"], time(summary.map(|s| s.p95)));
        assert_eq!(cell["max_ns"], time(summary.map(|s| s.max)));
        let percent = |share: Option<f64>| json!(share.map_or_else(String::new, unit::percent));
        assert_eq!(cell["cv"], percent(summary.and_then(|s| s.cv)));
        assert_eq!(
            cell["share_of_total"],
            percent(summary.map(|_| row.share_of_total))
        );
    }
    assert_eq!(browser.complaints, [""; 0]);
}

/// The script writes times where the data has none in words; as the tables do.
#[test]
fn the_script_writes_times_as_the_tables_do() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let mut values: Vec<f64> = vec![0.0, 999_499.0, 999_501.0, 9_994.0, 9_996.0, 1e18];
    values.extend((0..400).map(|index| 1e-3 * 1.137_f64.powi(index)));
    let file = browser.file("<!doctype html><html data-ready=\"0\"></html>");
    browser.open(&file, "");
    let script = include_str!("../assets/js/unit.js");
    let texts = browser.evaluate(&format!(
        "(() => {{ {script}; return {}.map(timeText); }})()",
        serde_json::to_string(&values).unwrap()
    ));
    let wanted: Vec<String> = values.iter().map(|ns| unit::time(*ns)).collect();
    assert_eq!(texts, json!(wanted));
}
