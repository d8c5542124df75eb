//! What a new entry did to the alerts: which it opened, which it closed.
//!
//! Both are functions of the history alone: the alerts up to the entry, against those up
//! to the entry before it. So each change is told once, whoever asks, however often a
//! program is started anew, and whoever else adds to the history.

use crate::changes::{Change, Sensitivity, changes};
use crate::load::{Loaded, Series};

/// An alert that an entry opened or closed.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// True where it was opened, false where it was closed: the level recovered.
    pub opened: bool,
    /// The alert's change, as it was found with the entry where it was opened, and before
    /// the entry where it was closed.
    pub change: Change,
}

/// The alerts that the entry of that number opened and closed, in the order of the series.
/// Entries that were added after it are not looked at.
pub fn turns(loaded: &Loaded, entry: i64, sensitivity: &Sensitivity) -> Vec<Turn> {
    let touched = loaded.series.iter().enumerate().filter(|(_, series)| {
        let mut points = series.points.iter();
        points.any(|point| loaded.entry(point).id == entry)
    });
    let places: Vec<usize> = touched.map(|(place, _)| place).collect();
    let alerts = |newest: i64| {
        let series = places.iter().map(|place| until(loaded, *place, newest));
        let loaded = Loaded {
            entries: loaded.entries.clone(),
            series: series.collect(),
        };
        let mut alerts: Vec<Vec<Change>> = vec![Vec::new(); places.len()];
        for change in changes(&loaded, sensitivity) {
            if change.is_alert() {
                alerts[change.series].push(change);
            }
        }
        alerts
    };
    let (before, now) = (alerts(entry - 1), alerts(entry));
    let mut turns = Vec::new();
    for (place, (before, now)) in places.iter().zip(before.into_iter().zip(now)) {
        let (many, few, opened) = match now.len() > before.len() {
            true => (now, before, true),
            false => (before, now, false),
        };
        // The newest are those that came, and those that went.
        turns.extend(many.into_iter().skip(few.len()).map(|change| Turn {
            opened,
            change: Change {
                series: *place,
                ..change
            },
        }));
    }
    turns
}

/// A series as it was when that entry was the newest.
fn until(loaded: &Loaded, place: usize, newest: i64) -> Series {
    let mut series = loaded.series[place].clone();
    series
        .points
        .retain(|point| loaded.entries[point.entry].id <= newest);
    series
}
