//! Writes a history as JSON (series and changes) and CSV (values).

use std::io::Write;

use anyhow::Result;
use breakeven_history::{Change, ChangeState, Direction, Failed, Loaded, Point, Series};
use breakeven_judge::page::clean;
use serde::Serialize;

use super::found::{Between, Found};

/// Series and changes as JSON.
#[derive(Serialize)]
pub(super) struct Json<'l> {
    series: Vec<JsonSeries<'l>>,
    pub(super) changes: Vec<JsonItem<'l>>,
}

#[derive(Serialize)]
struct JsonSeries<'l> {
    #[serde(flatten)]
    series: &'l Series,
    points: Vec<JsonPoint<'l>>,
}

#[derive(Serialize)]
struct JsonPoint<'l> {
    entry: i64,
    time: &'l str,
    commit: Option<&'l str>,
    branch: Option<&'l str>,
    #[serde(flatten)]
    point: &'l Point,
}

#[derive(Serialize)]
pub(super) struct JsonChange<'l> {
    #[serde(flatten)]
    series: &'l Series,
    before: JsonPoint<'l>,
    after: JsonPoint<'l>,
    direction: Direction,
    state: ChangeState,
    alert: bool,
    levels_ns: [f64; 2],
    ratio: f64,
    interval: Option<[f64; 2]>,
    recovered_at: Option<JsonPoint<'l>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    between: Option<&'l Between>,
}

/// The output of `changes`.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum JsonItem<'l> {
    Failed {
        state: &'static str,
        alert: bool,
        #[serde(flatten)]
        failed: &'l Failed,
    },
    Change(Box<JsonChange<'l>>),
}

fn json_point<'l>(loaded: &'l Loaded, point: &'l Point) -> JsonPoint<'l> {
    let entry = loaded.entry(point);
    JsonPoint {
        entry: entry.id,
        time: &entry.time,
        commit: entry.commit.as_deref(),
        branch: entry.branch.as_deref(),
        point,
    }
}

fn json_series<'l>(loaded: &'l Loaded, series: &'l Series) -> JsonSeries<'l> {
    let points = series.points.iter();
    JsonSeries {
        series,
        points: points.map(|point| json_point(loaded, point)).collect(),
    }
}

pub(super) fn json<'l>(found: &'l Found<'l>) -> Json<'l> {
    let loaded = found.loaded;
    let change = |(index, change): (usize, &'l Change)| {
        let series = found.series(change);
        let back = match change.state {
            ChangeState::Recovered(back) => series.points.get(back),
            _ => None,
        };
        JsonItem::Change(Box::new(JsonChange {
            series,
            before: json_point(loaded, &change.before),
            after: json_point(loaded, &change.after),
            direction: change.direction,
            state: change.state,
            alert: change.is_alert(),
            levels_ns: change.levels_ns,
            ratio: change.ratio,
            interval: change.interval,
            recovered_at: back.map(|point| json_point(loaded, point)),
            between: found.between.get(index),
        }))
    };
    let failed = found.failed.iter().map(|failed| JsonItem::Failed {
        state: "failed",
        alert: true,
        failed,
    });
    Json {
        series: (loaded.series.iter())
            .map(|series| json_series(loaded, series))
            .collect(),
        changes: failed
            .chain(found.changes.iter().enumerate().map(change))
            .collect(),
    }
}

/// All values, one per line.
pub(crate) fn values_csv(loaded: &Loaded, out: &mut dyn Write) -> Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record([
        "operation",
        "device",
        "size",
        "machine",
        "entry",
        "time",
        "commit",
        "branch",
        "median_ns",
        "least_ns",
        "greatest_ns",
        "runs",
    ])?;
    for series in &loaded.series {
        for point in &series.points {
            let entry = loaded.entry(point);
            csv.write_record([
                clean(&series.key.name),
                clean(&series.key.device),
                (series.key.size).map_or_else(String::new, |size| size.to_string()),
                clean(&series.machine),
                entry.id.to_string(),
                entry.time.clone(),
                clean(entry.commit.as_deref().unwrap_or_default()),
                clean(entry.branch.as_deref().unwrap_or_default()),
                point.value_ns.to_string(),
                point.low_ns.to_string(),
                point.high_ns.to_string(),
                point.runs.to_string(),
            ])?;
        }
    }
    Ok(csv.flush()?)
}
