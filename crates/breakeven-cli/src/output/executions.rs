//! Batches that an executor ran: what was decided and by what, where the tasks
//! ran, what fell back, predicted beside actual. From the attributes that
//! executions have in a profile, whoever recorded it.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::Row;
use breakeven_profile::unit;
use serde_json::Value;

use super::Report;
use super::table::{TABLE, title};
use super::text::{
    BOLD, FAINT, WARNING, clipped_middle, left, right, share, shown, styled, time, wrapped,
};

/// Columns of the device and of the figures after it.
const DEVICE: usize = 32;
const STRATEGY: usize = 14;
const WIDTHS: [usize; 4] = [13, 13, 9, 17];
const HEADS: [&str; 4] = ["GPU tasks", "CPU tasks", "median", "predicted"];

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
    pub(super) row: &'r Row,
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

/// The rows that are executions.
pub(super) fn executions(report: &Report) -> Vec<Executions<'_>> {
    let rows = report.overview.rows.iter();
    rows.filter_map(Executions::of).collect()
}

/// Text from a profile, fit to be printed.
fn text(value: &Value) -> Option<String> {
    let mut text = value.as_str()?.to_owned();
    shown(&mut text);
    Some(text)
}

impl<'r> Executions<'r> {
    /// None where the row's attributes tell of none.
    pub(super) fn of(row: &'r Row) -> Option<Self> {
        let of = |name: &str| row.attributes.get(name);
        let told = ["decided_by", "decided", "strategy", "device_error"];
        if told.into_iter().all(|name| of(name).is_none()) {
            return None;
        }
        let counted = of("decided_by").and_then(Value::as_object);
        let mut decided_by: Vec<(String, u64)> = match counted {
            Some(counted) => (counted.iter())
                .filter_map(|(by, count)| Some((text(&Value::from(by.as_str()))?, count.as_u64()?)))
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
            gpu_tasks: count("gpu_tasks").or_else(|| match row.device.as_str() {
                "cpu" => Some(0),
                both if both.starts_with("cpu+") => None,
                _ => tasks,
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

fn plural(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
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
fn fallbacks(row: &Row) -> Vec<Fallback> {
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

pub(super) fn write(report: &Report, out: &mut dyn Write) -> Result<()> {
    let executions = executions(report);
    if executions.is_empty() {
        return Ok(());
    }
    let heads = HEADS.map(str::to_owned);
    let head = format!(
        "{}{}",
        styled(&left("Executions", DEVICE), BOLD),
        styled(&figures("strategy", &heads), FAINT)
    );
    writeln!(out, "\n{head}")?;
    let mut before = None;
    for each in &executions {
        let key = (each.row.operation.as_str(), each.row.size);
        if before != Some(key) {
            writeln!(out, "{}", title(each.row))?;
            before = Some(key);
        }
        let label = clipped_middle(&report.label(&each.row.device), DEVICE - 1);
        let figures = figures(each.strategy(), &each.figures());
        writeln!(out, "{}{figures}", left(&label, DEVICE))?;
        write_indented(&each.how(), FAINT, out)?;
        for fallback in &each.fallbacks {
            write_indented(&fallback.text(), WARNING, out)?;
        }
    }
    Ok(())
}

fn figures(strategy: &str, cells: &[String; 4]) -> String {
    let mut line = left(strategy, STRATEGY);
    for (cell, width) in cells.iter().zip(WIDTHS) {
        line.push_str(&right(cell, width));
    }
    line
}

fn write_indented(text: &str, style: anstyle::Style, out: &mut dyn Write) -> Result<()> {
    for (index, line) in wrapped(text, TABLE - 4).iter().enumerate() {
        let indent = if index == 0 { "  " } else { "    " };
        writeln!(out, "{indent}{}", styled(line, style))?;
    }
    Ok(())
}

pub(super) fn write_markdown(report: &Report, out: &mut dyn Write) -> Result<()> {
    let executions = executions(report);
    if executions.is_empty() {
        return Ok(());
    }
    let heads = ["executed", "device", "strategy", "decided by"];
    let heads: Vec<&str> = heads.into_iter().chain(HEADS).collect();
    let rows: Vec<Vec<String>> = executions
        .iter()
        .map(|each| {
            let mut row = vec![
                report.operation(&each.row.operation, each.row.size),
                report.label(&each.row.device),
                each.strategy().to_owned(),
                each.decided_by(),
            ];
            row.extend(each.figures());
            row
        })
        .collect();
    super::markdown::table(&heads, &rows, out)?;
    let fallen = executions
        .iter()
        .flat_map(|each| each.fallbacks.iter().map(move |fallback| (each, fallback)));
    for (index, (each, fallback)) in fallen.enumerate() {
        if index == 0 {
            writeln!(out)?;
        }
        let who = report.who(&each.row.operation, each.row.size, &each.row.device);
        let text = format!("{who}: {}", fallback.text());
        writeln!(out, "- {}", super::markdown::escaped(&text))?;
    }
    Ok(())
}
