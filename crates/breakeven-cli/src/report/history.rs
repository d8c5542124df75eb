//! How the operations of a profile developed, in the form that the page needs.

use std::collections::HashSet;
use std::path::Path;

use anyhow::Result;
use breakeven_history::{Change, History, Loaded, Sensitivity, Series, changes};
use breakeven_profile::profile::Profile;
use breakeven_report::{HistoryChange, HistoryPoint, HistorySeries};

use crate::history::page::state;

/// Most values on a page, over all series: browsers and mail must cope with them.
const MOST_POINTS: usize = 20_000;

/// Values of a series that are always shown, the newest.
const LEAST_POINTS: usize = 20;

/// The series of the profile's operations, those with alerts first.
pub(super) fn series(path: &Path, profile: &Profile) -> Result<Vec<HistorySeries>> {
    let history = History::open(path)?;
    let mut loaded = history.load(&history.main_branch()?)?;
    let keys: HashSet<_> = profile.operations.iter().map(|each| each.key()).collect();
    loaded.series.retain(|series| keys.contains(&series.key));
    let found = changes(&loaded, &Sensitivity::default());
    let most = (MOST_POINTS / loaded.series.len().max(1)).max(LEAST_POINTS);
    let of = |(number, series): (usize, &Series)| {
        let found = found.iter().filter(|change| change.series == number);
        let found: Vec<&Change> = found.collect();
        let alert = found.iter().any(|change| change.is_alert());
        (alert, shown(&loaded, series, &found, most))
    };
    let mut all: Vec<_> = loaded.series.iter().enumerate().map(of).collect();
    all.sort_by_key(|(alert, series)| (!alert, series.changes.is_empty()));
    Ok(all.into_iter().map(|(_, series)| series).collect())
}

/// The newest values of a series, with their changes.
fn shown(loaded: &Loaded, series: &Series, found: &[&Change], most: usize) -> HistorySeries {
    let from = series.points.len().saturating_sub(most);
    let several = loaded
        .series
        .iter()
        .any(|other| other.machine != series.machine);
    let point = |point| {
        let entry = loaded.entry(point);
        HistoryPoint {
            commit: entry.commit.clone().unwrap_or_default(),
            time: entry.time.clone(),
            value_ns: point.value_ns,
            low_ns: point.low_ns,
            high_ns: point.high_ns,
        }
    };
    let change = |change: &&Change| {
        let [low, high] = change.interval.unwrap_or([change.ratio; 2]);
        HistoryChange {
            index: change.index - from,
            before_ns: change.levels_ns[0],
            after_ns: change.levels_ns[1],
            low: low - 1.0,
            high: high - 1.0,
            state: state(change).to_owned(),
        }
    };
    let found = found.iter().filter(|change| change.index >= from);
    HistorySeries {
        label: match several {
            true => format!("{}, {}", series.key, series.machine),
            false => series.key.to_string(),
        },
        unit: "median time".to_owned(),
        points: series.points[from..].iter().map(point).collect(),
        changes: found.map(change).collect(),
    }
}
