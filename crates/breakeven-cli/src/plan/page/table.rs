//! A plan as a table, for one machine or two.

use breakeven::plan::{Candidate, ExecutionStrategy, Resource};
use breakeven_judge::page::figures::plural;
use breakeven_judge::page::{Column, Page, Row, Table, Text, Tone};
use breakeven_profile::unit;

use super::{Comparison, Plan};

pub(super) fn of(plan: &Plan) -> Page {
    let mut page = Page::default();
    page.heading(format!("{}: {}", plan.decision.strategy, work(plan)));
    let aim = plan.free().aim.as_deref();
    let objective = aim.map(|aim| ("objective", aim.objective.to_string()));
    let facts = [
        ("workload", plan.workload.to_string()),
        ("machine", plan.machine.to_string()),
    ];
    page.facts(facts.into_iter().chain(objective));
    add_why(plan, &mut page);
    page
}

pub(super) fn of_both(comparison: &Comparison) -> Page {
    let sides = [&comparison.here, &comparison.described];
    let mut page = Page::default();
    let workload = ("workload", comparison.here.workload.to_string());
    let machines = sides.map(|plan| (plan.name.as_str(), plan.machine.to_string()));
    page.facts([workload].into_iter().chain(machines));
    page.table(Table {
        columns: vec![
            Column::words("", Column::KEPT),
            Column::words(&sides[0].name, Column::KEPT),
            Column::words(&sides[1].name, Column::KEPT),
        ],
        rows: FACTS
            .map(|(name, text)| Row::new([name.to_owned(), text(sides[0]), text(sides[1])]))
            .into(),
        ..Table::default()
    });
    for plan in sides {
        page.heading(&plan.name);
        add_why(plan, &mut page);
    }
    page.heading(comparison.answer());
    page
}

/// What is shown of each machine, in addition to its description.
type Fact = (&'static str, fn(&Plan) -> String);
const FACTS: [Fact; 6] = [
    ("strategy", |plan| plan.decision.strategy.to_string()),
    ("decided by", Plan::decided_by),
    ("GPU tasks", |plan| unit::count(plan.tasks().0 as f64)),
    ("CPU tasks", |plan| unit::count(plan.tasks().1 as f64)),
    ("batch", |plan| unit::count(plan.decision.batch_size as f64)),
    ("predicted", |plan| match plan.decision.predicted_ns() {
        Some(ns) => format!("{} ({})", unit::time(ns), plan.decision.evidence()),
        None => unit::UNKNOWN.to_owned(),
    }),
];

/// A column for what candidates use besides time.
struct Spent(Resource);

impl Spent {
    fn of(&self, plan: &Plan, candidate: &Candidate) -> String {
        let aim = plan.free().aim.as_deref();
        let spent = aim.and_then(|aim| aim.spent(candidate, self.0));
        spent.unwrap_or_else(|| unit::UNKNOWN.to_owned())
    }
}

/// The reasons and the candidates.
fn add_why(plan: &Plan, page: &mut Page) {
    let names = std::iter::once("why").chain(std::iter::repeat(""));
    page.facts(names.zip(plan.reasoning()));
    let shares = plan.shares.iter().filter(|share| share.tasks > 0);
    let shares: Vec<_> = shares
        .filter_map(|share| {
            let time = unit::time(share.predicted_ns?);
            let tasks = plural(share.tasks as u64, "task");
            Some(format!("{}: {tasks} in {time}", share.device))
        })
        .collect();
    if shares.len() > 1 {
        page.facts([("shares", shares.join("; "))]);
    }
    let resources = Resource::ALL.map(Spent);
    let is_known = |spent: &Spent| {
        plan.candidates()
            .any(|(each, _)| each.amounts[spent.0].is_some())
    };
    let resources: Vec<Spent> = resources.into_iter().filter(is_known).collect();
    let kind = |strategy: &ExecutionStrategy| std::mem::discriminant(strategy);
    let rows = plan.candidates().map(|(candidate, ns)| {
        let tone = match kind(&candidate.strategy) == kind(&plan.decision.strategy) {
            true => Tone::Strong,
            false => Tone::Plain,
        };
        let head = [candidate.strategy.to_string(), unit::time(ns)];
        let spent = resources.iter().map(|spent| spent.of(plan, candidate));
        let cells = head.into_iter().chain(spent);
        let cells = cells.chain([candidate.evidence.to_string()]);
        Row::new(cells.map(|cell| Text::new(cell, tone)))
    });
    let spent = resources.iter();
    let spent = spent.map(|spent| Column::figures(spent.0.to_string(), Column::KEPT));
    let columns = [
        Column::words("candidate", Column::KEPT),
        Column::figures("predicted", Column::KEPT),
    ];
    page.table(Table {
        columns: (columns.into_iter().chain(spent))
            .chain([Column::words("evidence", Column::KEPT)])
            .collect(),
        rows: rows.collect(),
        ..Table::default()
    });
    page.facts(plan.notes.iter().map(|note| ("note", note)));
}

/// How many tasks each side gets, and how large a batch is.
fn work(plan: &Plan) -> String {
    let (gpu, cpu) = plan.tasks();
    let tasks = |tasks: usize| plural(tasks as u64, "task");
    let on_gpus = match plan.gpu_shares() {
        Some(each) => {
            let each = each.iter().filter(|share| share.tasks > 0);
            let each: Vec<String> = each
                .map(|share| format!("{} on {}", tasks(share.tasks), share.device))
                .collect();
            each.join(", ")
        }
        None if plan.machine.gpus.len() > 1 => format!("{} on the GPUs", tasks(gpu)),
        None => format!("{} on the GPU", tasks(gpu)),
    };
    let sides = match (gpu, cpu) {
        (0, 0) => return "there is nothing to run".to_owned(),
        (0, cpu) => format!("{} on the CPU", tasks(cpu)),
        (_, 0) => on_gpus,
        (_, cpu) => format!("{on_gpus}, {} on the CPU", tasks(cpu)),
    };
    let batch = unit::count(plan.decision.batch_size as f64);
    format!("{sides}, {batch} per batch")
}
