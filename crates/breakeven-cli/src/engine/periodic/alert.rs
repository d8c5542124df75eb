//! An alert, as it is logged, sent and handed to the user's command.

use std::path::Path;

use breakeven_history::{ChangeState, Loaded, Turn};
use breakeven_judge::page::clean;
use breakeven_profile::profile::OperationKey;
use serde::Serialize;

/// Most characters of a name in a variable: systems bound what an environment may hold.
const MOST_OF_NAME: usize = 1_000;

/// Whether it began or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// An operation became slower.
    Open,
    /// It is as fast as before.
    Recovered,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Recovered => "recovered",
        }
    }
}

/// How it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    /// The newest value alone is worse by the factor.
    Factor,
    /// The level changed significantly.
    Significance,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Alert {
    pub(crate) state: State,
    pub(crate) by: By,
    pub(crate) operation: String,
    pub(crate) device: String,
    pub(crate) size: Option<u64>,
    pub(crate) machine: String,
    /// The level before, and the level that the alert is about, ns.
    pub(crate) old_ns: f64,
    pub(crate) new_ns: f64,
    /// New level over the old one.
    pub(crate) ratio: f64,
    /// 95 % interval of the ratio; none where the newest value alone is the alert.
    pub(crate) interval: Option<[f64; 2]>,
    /// What was measured just now, ns.
    pub(crate) value_ns: f64,
    /// The entry of the history that was added.
    pub(crate) entry: i64,
    /// When it was measured.
    pub(crate) measured: String,
    pub(crate) commit: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) history: String,
}

impl Alert {
    /// The alert that the entry of that number opened or closed.
    pub(crate) fn of(turn: &Turn, loaded: &Loaded, entry: i64, history: &Path) -> Self {
        let Turn { opened, change } = turn;
        let series = &loaded.series[change.series];
        let mut points = series.points.iter();
        // The entry has a value of each series that it turned.
        let point = points.find(|point| loaded.entry(point).id == entry);
        let point = point.unwrap_or(&change.after);
        let of = loaded.entry(point);
        Self {
            state: if *opened {
                State::Open
            } else {
                State::Recovered
            },
            by: match change.state {
                ChangeState::Newest => By::Factor,
                _ => By::Significance,
            },
            operation: series.operation.clone(),
            device: series.device.clone(),
            size: series.size,
            machine: series.machine.clone(),
            old_ns: change.levels_ns[0],
            new_ns: change.levels_ns[1],
            ratio: change.ratio,
            interval: change.interval,
            value_ns: point.value_ns,
            entry: of.id,
            measured: of.time.clone(),
            commit: of.commit.clone(),
            branch: of.branch.clone(),
            history: history.display().to_string(),
        }
    }

    pub(crate) fn key(&self) -> OperationKey {
        OperationKey {
            name: self.operation.clone(),
            device: self.device.clone(),
            size: self.size,
        }
    }

    /// The main fields as variables. Names lose what a terminal would obey, and are cut.
    pub(crate) fn variables(&self) -> [(&'static str, String); 10] {
        let name = |text: &str| clean(text).chars().take(MOST_OF_NAME).collect::<String>();
        [
            ("BREAKEVEN_ALERT_STATE", self.state.name().to_owned()),
            ("BREAKEVEN_ALERT_OPERATION", name(&self.operation)),
            ("BREAKEVEN_ALERT_DEVICE", name(&self.device)),
            (
                "BREAKEVEN_ALERT_SIZE",
                self.size.map_or_else(String::new, |size| size.to_string()),
            ),
            ("BREAKEVEN_ALERT_OLD_NS", self.old_ns.to_string()),
            ("BREAKEVEN_ALERT_NEW_NS", self.new_ns.to_string()),
            ("BREAKEVEN_ALERT_VALUE_NS", self.value_ns.to_string()),
            ("BREAKEVEN_ALERT_RATIO", self.ratio.to_string()),
            ("BREAKEVEN_ALERT_ENTRY", self.entry.to_string()),
            (
                "BREAKEVEN_ALERT_COMMIT",
                name(self.commit.as_deref().unwrap_or_default()),
            ),
        ]
    }
}
