//! Batches that an executor ran: what was decided and by what, where the tasks
//! ran, what fell back, predicted beside actual. From the attributes that
//! executions have in a profile, whoever recorded it.

use std::iter;

use breakeven_judge::Row as Judged;
use breakeven_judge::page::{Column, Page, Row, Table, Text, Tone};
use breakeven_profile::profile::Device;
use breakeven_profile::unit;
use serde_json::Value;

use super::Report;
use super::text::{plural, share, time};
use super::times::title;

/// What decides, in the order in which it comes about.
const ORDER: [&str; 6] = [
    "asked",
    "operator",
    "resident",
    "rule",
    "model",
    "exploration",
];

/// The executions of one operation on one device.
pub(super) struct Executions<'r> {
    pub(super) row: &'r Judged,
    /// The last decision; none where it was left to the CPU, as asked.
    strategy: Option<String>,
    /// Executions by what decided them; the last one's alone where not all are told.
    decided_by: Vec<(String, u64)>,
    /// True where all are told.
    is_counted: bool,
    /// Why, of the last one.
    why: Option<String>,
    /// Tasks in the batch.
    tasks: Option<u64>,
    /// Tasks of the last one that the GPU did.
    gpu_tasks: Option<u64>,
    predicted_ns: Option<f64>,
    fallbacks: Vec<Fallback>,
}

/// Executions in which the GPU failed in one way.
struct Fallback {
    error: String,
    /// How many, and the tasks that fell back in them, where that is told.
    cost: Option<(u64, u64)>,
}

/// A text among the attributes.
fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

impl<'r> Executions<'r> {
    /// None where the row's attributes tell of none.
    pub(super) fn of(row: &'r Judged) -> Option<Self> {
        let of = |name: &str| row.attributes.get(name);
        let told = ["decided_by", "decided", "strategy", "device_error"];
        if told.into_iter().all(|name| of(name).is_none()) {
            return None;
        }
        let counted = of("decided_by").and_then(Value::as_object);
        let mut decided_by: Vec<(String, u64)> = match counted {
            Some(counted) => (counted.iter())
                .filter_map(|(by, count)| Some((by.clone(), count.as_u64()?)))
                .collect(),
            None => of("decided")
                .and_then(text)
                .map(|by| vec![(by, 1)])
                .unwrap_or_default(),
        };
        // In the order in which they come about.
        let order = |by: &str| ORDER.iter().position(|known| *known == by);
        decided_by.sort_by_key(|(by, _)| order(by).unwrap_or(ORDER.len()));
        let count = |name: &str| of(name).and_then(Value::as_u64);
        // A size may be the number of tasks rounded up.
        let tasks = count("tasks").or(row.size);
        Some(Self {
            row,
            strategy: of("strategy").and_then(text),
            decided_by,
            is_counted: counted.is_some(),
            why: of("why").and_then(text),
            tasks,
            gpu_tasks: count("gpu_tasks").or_else(|| match Device::of(&row.device) {
                Device::Cpu => Some(0),
                Device::Both(_) => None,
                Device::Gpu(_) => tasks,
            }),
            predicted_ns: of("predicted_ns").and_then(Value::as_f64),
            fallbacks: fallbacks(row),
        })
    }

    pub(super) fn strategy(&self) -> &str {
        self.strategy.as_deref().unwrap_or("cpu-only")
    }

    /// `rule 1, model 22`.
    pub(super) fn decided_by(&self) -> String {
        let each = self.decided_by.iter();
        let each: Vec<String> = each.map(|(by, count)| format!("{by} {count}")).collect();
        each.join(", ")
    }

    pub(super) fn predicted_ns(&self) -> Option<f64> {
        self.predicted_ns
    }

    pub(super) fn gpu_tasks(&self) -> Option<u64> {
        self.gpu_tasks
    }

    fn cpu_tasks(&self) -> Option<u64> {
        Some(self.tasks?.saturating_sub(self.gpu_tasks?))
    }

    /// Tasks that fell back, of all executions.
    pub(super) fn fallback_tasks(&self) -> Option<u64> {
        let costs = self.fallbacks.iter().filter_map(|fallback| fallback.cost);
        let tasks = costs.map(|(_, tasks)| tasks);
        tasks.reduce(u64::saturating_add)
    }

    /// The errors behind what fell back.
    pub(super) fn errors(&self) -> String {
        let errors: Vec<&str> = (self.fallbacks.iter())
            .map(|fallback| fallback.error.as_str())
            .collect();
        errors.join("; ")
    }

    /// Tasks with their part of the batch.
    fn side(&self, tasks: Option<u64>) -> String {
        match (tasks, self.tasks) {
            (Some(tasks), Some(all)) if tasks > 0 && all > 0 => {
                format!("{tasks} {}", share(tasks as f64 / all as f64))
            }
            (Some(tasks), _) => tasks.to_string(),
            (None, _) => unit::UNKNOWN.to_owned(),
        }
    }

    fn median(&self) -> Option<f64> {
        self.row.summary.map(|summary| summary.median)
    }

    /// The prediction, and how much more or less it took.
    fn predicted(&self) -> String {
        let Some(predicted) = self.predicted_ns.filter(|ns| *ns > 0.0) else {
            return unit::UNKNOWN.to_owned();
        };
        // What fell back did not run as predicted.
        let as_decided = self.median().filter(|_| self.fallbacks.is_empty());
        let off = as_decided.map_or_else(String::new, |median| {
            format!(
                " {}",
                unit::change(median / predicted - 1.0).replace(' ', "")
            )
        });
        time(predicted) + &off
    }

    /// The figures of the table: tasks of each side, median, prediction.
    pub(super) fn figures(&self) -> [String; 4] {
        [
            self.side(self.gpu_tasks),
            self.side(self.cpu_tasks()),
            self.median().map_or_else(|| unit::UNKNOWN.to_owned(), time),
            self.predicted(),
        ]
    }

    /// How many there were, what decided them, and why the last one.
    fn how(&self) -> String {
        let all = self.decided_by.iter().map(|(_, count)| count).sum();
        let decided = match &self.decided_by[..] {
            [] => return "as asked".to_owned(),
            [(by, _)] if !self.is_counted => format!("the last one {}", in_words(by)),
            [(by, count)] => format!("{}, {}", plural(*count, "execution"), in_words(by)),
            several => {
                let each = several.iter();
                let each = each.map(|(by, count)| format!("{count} {}", in_words(by)));
                let each = each.collect::<Vec<_>>().join(", ");
                format!("{}: {each}; the last one", plural(all, "execution"))
            }
        };
        // Who asked needs no reason.
        let asked = |(by, _): &(String, u64)| by == "asked" || by == "operator";
        match &self.why {
            Some(why) if !self.decided_by.iter().all(asked) => format!("{decided}: {why}"),
            _ => decided,
        }
    }
}

impl Fallback {
    pub(super) fn text(&self) -> String {
        let Some((executions, tasks)) = self.cost else {
            return format!("the last error of the GPU: {}", self.error);
        };
        let executions = plural(executions, "execution");
        match tasks {
            // Smaller launches went well, or Auto did without the GPU.
            0 => format!(
                "no task fell back; reported in {executions}: {}",
                self.error
            ),
            tasks => format!(
                "{} fell back to the CPU in {executions}: {}",
                plural(tasks, "task"),
                self.error
            ),
        }
    }
}

fn in_words(decided_by: &str) -> &str {
    match decided_by {
        "asked" => "as asked",
        "operator" => "by BREAKEVEN_STRATEGY",
        "resident" => "where the inputs are",
        "rule" => "by the rule",
        "model" => "by the cost model",
        "exploration" => "to try the other device",
        other => other,
    }
}

/// What fell back: all of it, or the last where not all is told.
fn fallbacks(row: &Judged) -> Vec<Fallback> {
    let of = |name: &str| row.attributes.get(name);
    if let Some(all) = of("fallbacks").and_then(Value::as_array) {
        let each = all.iter().filter_map(|each| {
            Some(Fallback {
                error: text(&each["error"])?,
                cost: Some((each["executions"].as_u64()?, each["tasks"].as_u64()?)),
            })
        });
        return each.collect();
    }
    let last = of("device_error")
        .and_then(text)
        .map(|error| Fallback { error, cost: None });
    last.into_iter().collect()
}

/// Adds the table of executions, where there are any.
pub(super) fn add(report: &Report, page: &mut Page) {
    let rows = report.overview.rows.iter().filter_map(Executions::of);
    let rows = rows.map(|each| {
        let label = report.label(&each.row.device);
        let cells = [label, each.strategy().to_owned()].into_iter();
        let fallbacks = each.fallbacks.iter();
        let fallbacks = fallbacks.map(|fallback| Text::new(fallback.text(), Tone::Warning));
        Row {
            group: title(each.row),
            notes: iter::once(Text::new(each.how(), Tone::Faint))
                .chain(fallbacks)
                .collect(),
            ..Row::new(cells.chain(each.figures()))
        }
    });
    let rows: Vec<Row> = rows.collect();
    if rows.is_empty() {
        return;
    }
    page.heading("Executions");
    let heads = ["GPU tasks", "CPU tasks", "median", "predicted"];
    page.table(Table {
        groups: "operation".to_owned(),
        columns: [
            Column::words("", Column::KEPT),
            Column::words("strategy", Column::KEPT),
        ]
        .into_iter()
        .chain(heads.map(|head| Column::figures(head, Column::KEPT)))
        .collect(),
        rows,
    });
}
