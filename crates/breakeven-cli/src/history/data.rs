//! Series and their changes, as JSON, and values as CSV.

use std::collections::HashMap;
use std::io::Write;

use anyhow::Result;
use breakeven_history::{Change, ChangeState, Failed, Loaded, Point, Series};
use breakeven_judge::page::clean;
use serde::Serialize;
use serde_json::{Value, json};

/// Series and their changes.
pub(super) struct Found<'l> {
    pub(super) loaded: &'l Loaded,
    pub(super) changes: Vec<Change>,
    /// Failures in the newest entries, if they were looked up.
    pub(super) failed: Vec<Failed>,
    /// What is behind changes, by the entries before and after them, if it was looked up.
    pub(super) between: HashMap<[usize; 2], Between>,
}

/// The commits and differences between two values.
#[derive(Debug, Serialize)]
pub(super) struct Between {
    /// Commits with their subjects, newest first.
    pub(super) commits: Vec<String>,
    /// Number of further commits.
    pub(super) more: usize,
    /// Differences of the machine or the build.
    pub(super) environment: Vec<String>,
}

impl<'l> Found<'l> {
    pub(super) fn series(&self, change: &Change) -> &'l Series {
        &self.loaded.series[change.series]
    }

    pub(super) fn of(&self, series: usize) -> impl DoubleEndedIterator<Item = &Change> {
        let changes = self.changes.iter();
        changes.filter(move |change| change.series == series)
    }

    pub(super) fn between(&self, change: &Change) -> Option<&Between> {
        self.between.get(&[change.before.entry, change.after.entry])
    }

    /// Series and changes as JSON.
    pub(super) fn json(&self) -> Value {
        let series = self.loaded.series.iter().map(|series| {
            let points = series.points.iter().map(|point| self.json_point(point));
            with(series, json!({ "points": points.collect::<Vec<Value>>() }))
        });
        json!({ "series": series.collect::<Vec<Value>>(), "changes": self.json_changes() })
    }

    /// Failures and changes as JSON.
    pub(super) fn json_changes(&self) -> Vec<Value> {
        let failed = self.failed.iter();
        let failed = failed.map(|failed| with(failed, json!({ "state": "failed", "alert": true })));
        let changes = self.changes.iter().map(|change| {
            let series = self.series(change);
            let back = match change.state {
                ChangeState::Recovered(back) => series.points.get(back),
                _ => None,
            };
            let found = json!({
                "before": self.json_point(&change.before),
                "after": self.json_point(&change.after),
                "direction": change.direction,
                "state": change.state,
                "alert": change.is_alert(),
                "levels_ns": change.levels_ns,
                "ratio": change.ratio,
                "interval": change.interval,
                "recovered_at": back.map(|point| self.json_point(point)),
                "between": self.between(change),
            });
            with(series, found)
        });
        failed.chain(changes).collect()
    }

    fn json_point(&self, point: &Point) -> Value {
        let entry = self.loaded.entry(point);
        let (time, commit, branch) = (&entry.time, &entry.commit, &entry.branch);
        let at = json!({ "entry": entry.id, "time": time, "commit": commit, "branch": branch });
        with(point, at)
    }
}

/// An object with further fields.
fn with(object: &impl Serialize, more: Value) -> Value {
    let mut all = json!(object);
    if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
        all.extend(more);
    }
    all
}

/// All values, one per line.
pub(super) fn values_csv(loaded: &Loaded, out: &mut dyn Write) -> Result<()> {
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
