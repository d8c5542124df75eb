//! Prints the diagnosis of `breakeven doctor`, as a page or as JSON.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::page::figures::plural;
use breakeven_judge::page::{Column, Item, Page, Row, Table, Text, Tone};
use breakeven_profile::unit;
use serde::Serialize;

use crate::doctor::{Diagnosis, Facts, Finding, Measured, Remedy, Standing, Unfit};
use crate::values::PageFormat;

pub(crate) fn write(
    diagnosis: &Diagnosis,
    facts: &Facts,
    format: PageFormat,
    out: &mut dyn Write,
) -> Result<()> {
    let document = || Document::new(diagnosis, facts);
    crate::print::page_or_document(format, || page(diagnosis), document, out)
}

/// The complete diagnosis as JSON.
#[derive(Serialize)]
struct Document<'d> {
    fit: bool,
    unfit: Vec<Unfit>,
    threshold: f64,
    most_runs: u64,
    runs_needed: Option<u64>,
    working_set_bytes: u64,
    noise: &'d [Measured],
    findings: &'d [Finding],
    facts: &'d Facts,
}

impl<'d> Document<'d> {
    fn new(diagnosis: &'d Diagnosis, facts: &'d Facts) -> Self {
        Self {
            fit: diagnosis.is_fit(),
            unfit: diagnosis.unfit(),
            threshold: diagnosis.limit.threshold.as_fraction(),
            most_runs: diagnosis.limit.runs,
            runs_needed: diagnosis.most_runs(),
            working_set_bytes: diagnosis.working_set_bytes,
            noise: &diagnosis.noise,
            findings: &diagnosis.findings,
            facts,
        }
    }
}

fn page(diagnosis: &Diagnosis) -> Page {
    let mut page = Page::default();
    page.heading(answer(diagnosis));
    let reasons = diagnosis.unfit();
    page.items(
        reasons
            .iter()
            .map(|why| Item::from(reason(why, diagnosis)))
            .collect(),
    );
    noise(diagnosis, &mut page);
    for (standing, heading) in [
        (Standing::Bad, "Distorts measurements"),
        (Standing::Doubtful, "Adds noise"),
        (Standing::Unknown, "Not known"),
    ] {
        let of_it = diagnosis
            .findings
            .iter()
            .filter(|it| it.standing == standing);
        page.list(heading, of_it.map(item));
    }
    let good = diagnosis
        .findings
        .iter()
        .filter(|it| it.standing == Standing::Good);
    let good: Vec<(&str, &str)> = good.map(|it| (it.subject.name(), &*it.seen)).collect();
    if !good.is_empty() {
        page.heading(Text::new("As it should be", Tone::Good));
    }
    page.facts(good);
    if !diagnosis.can_be_changed() {
        page.say("None of these findings can be changed from here: only more runs help.");
    }
    page
}

fn answer(diagnosis: &Diagnosis) -> Text {
    let change = unit::percent(diagnosis.limit.threshold.as_fraction());
    let runs = match diagnosis.most_runs() {
        Some(runs) => format!(
            "a change of {change} needs {} per side",
            plural(runs, "run")
        ),
        None => format!("how many runs a change of {change} needs is not known"),
    };
    match diagnosis.is_fit() {
        true => Text::new(format!("fit to measure on: {runs}"), Tone::Good),
        false => Text::new(format!("not fit to measure on: {runs}"), Tone::Bad),
    }
}

fn reason(why: &Unfit, diagnosis: &Diagnosis) -> String {
    let limit = plural(diagnosis.limit.runs, "run");
    match why {
        Unfit::Found { what } => what.clone(),
        Unfit::Noisy {
            work,
            runs: Some(runs),
        } => format!(
            "{work}: its times vary so much that {} per side are needed, and --runs allows {limit}",
            plural(*runs, "run"),
        ),
        Unfit::Noisy { work, runs: None } => {
            format!("{work}: its times vary so much that no number of runs is enough")
        }
        Unfit::NotMeasured { work } => format!("{work}: its noise could not be measured"),
    }
}

fn noise(diagnosis: &Diagnosis, page: &mut Page) {
    let row = |measured: &Measured| {
        let Some(noise) = measured.noise else {
            let why = measured.failure.as_ref().map(ToString::to_string);
            return Row {
                notes: vec![Text::new(why.unwrap_or_default(), Tone::Bad)],
                ..Row::new([measured.work.name()])
            };
        };
        let ends = measured.needed_between.map(|end| {
            end.map_or_else(|| unit::UNKNOWN.to_owned(), |runs| unit::count(runs as f64))
        });
        let [least, most] = noise.between_interval.map(unit::percent);
        let needed = match measured.needed {
            Some(needed) => format!("{} ({} to {})", needed.runs, ends[0], ends[1]),
            None => unit::UNKNOWN.to_owned(),
        };
        let seen = measured
            .needed
            .map_or_else(String::new, |it| unit::percent(it.seen_from));
        Row::new([
            measured.work.name().to_owned(),
            unit::time(noise.typical_ns),
            noise.runs.to_string(),
            unit::percent(noise.within),
            format!("{:.2}", noise.tail),
            format!("{} ({least} to {most})", unit::percent(noise.between)),
            needed,
            seen,
        ])
    };
    page.heading("Noise");
    page.table(Table {
        columns: vec![
            Column::words("work", Column::KEPT),
            Column::figures("time", 1),
            Column::figures("runs", 2),
            Column::figures("in a run", 4),
            Column::figures("p99", 3),
            Column::figures("between runs", Column::KEPT),
            Column::figures("runs needed", Column::KEPT),
            Column::figures("seen from", 5),
        ],
        rows: diagnosis.noise.iter().map(row).collect(),
        ..Table::default()
    });
    page.aside(format!(
        "Standard deviations; p99 over the median; in parentheses at 90 %. With this many runs \
         per side, an unchanged operation is reported as NO_CHANGE 80 % of the time. The last \
         column is the smallest change that is then reported 80 % of the time. memory: {} are read.",
        unit::bytes(diagnosis.working_set_bytes)
    ));
}

fn item(finding: &Finding) -> Item {
    let tone = match finding.standing {
        Standing::Bad => Tone::Bad,
        Standing::Doubtful => Tone::Warning,
        Standing::Good | Standing::Unknown => Tone::Plain,
    };
    let head = vec![
        Text::new(format!("{}: ", finding.subject), tone),
        finding.seen.as_str().into(),
    ];
    let mut facts: Vec<(String, Text)> = Vec::new();
    let mut add = |name: &str, text: String| facts.push((name.to_owned(), text.into()));
    if let Some(source) = &finding.source {
        add("where", source.clone());
    }
    if !finding.effect.is_empty() {
        add("effect", finding.effect.to_owned());
    }
    match &finding.remedy {
        Remedy::Nothing => {}
        Remedy::Command { command, undo } => {
            add("type", command.clone());
            if let Some(undo) = undo {
                add("undo", undo.clone());
            }
        }
        Remedy::Act { what } => add("do", what.clone()),
        Remedy::Elsewhere { why, command } => {
            add("not here", why.clone());
            if let Some(command) = command {
                add("there", command.clone());
            }
        }
    }
    Item { head, facts }
}

#[cfg(test)]
mod tests {
    use breakeven_judge::{Noise, Threshold};
    use breakeven_profile::profile::Failure;
    use insta::assert_snapshot;

    use super::*;
    use crate::doctor::{Limit, Subject};
    use crate::engine::suite::NoiseWork;

    fn noise(between: f64) -> Noise {
        Noise {
            runs: 12,
            samples: 3_456,
            typical_ns: 524_000.0,
            within: 0.021,
            tail: 1.13,
            between,
            between_interval: [0.75 * between, 1.6 * between],
        }
    }

    fn finding(subject: Subject, standing: Standing, seen: &str, remedy: Remedy) -> Finding {
        Finding {
            subject,
            standing,
            seen: seen.to_owned(),
            source: Some("/sys/somewhere".to_owned()),
            effect: match standing {
                Standing::Good => "",
                _ => "it makes some runs slower than others",
            },
            remedy,
        }
    }

    /// A machine whose benchmarks vary widely from run to run.
    fn diagnosis(between: [f64; 2], findings: Vec<Finding>) -> Diagnosis {
        let limit = Limit {
            threshold: Threshold::default(),
            runs: 10,
        };
        let works = [NoiseWork::Compute, NoiseWork::Memory];
        let measured = works.into_iter().zip(between);
        let measured = measured.map(|(work, it)| Measured::new(work, Ok(noise(it)), limit));
        Diagnosis {
            findings,
            noise: measured.collect(),
            working_set_bytes: 64 << 20,
            limit,
        }
    }

    fn text(diagnosis: &Diagnosis) -> String {
        let mut text = Vec::new();
        page(diagnosis).text(100, false, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn command() -> Remedy {
        Remedy::Command {
            command: "echo performance | sudo tee /sys/somewhere".to_owned(),
            undo: Some("echo powersave | sudo tee /sys/somewhere".to_owned()),
        }
    }

    fn elsewhere() -> Remedy {
        Remedy::Elsewhere {
            why: "only the host can".to_owned(),
            command: Some("docker run --cpuset-cpus=2-3 …".to_owned()),
        }
    }

    #[test]
    fn a_machine_that_is_fit() {
        let findings = vec![
            finding(
                Subject::Governor,
                Standing::Doubtful,
                "schedutil",
                command(),
            ),
            finding(Subject::Clock, Standing::Good, "tsc", Remedy::Nothing),
            finding(Subject::Swap, Standing::Good, "none", Remedy::Nothing),
        ];
        let fit = diagnosis([0.004, 0.021], findings);
        assert!(fit.is_fit());
        assert_snapshot!(text(&fit));
    }

    #[test]
    fn a_machine_that_is_not_and_cannot_be_changed() {
        let findings = vec![
            finding(Subject::Steal, Standing::Bad, "9.0 % of it", elsewhere()),
            finding(
                Subject::Heat,
                Standing::Unknown,
                "no sensor",
                Remedy::Nothing,
            ),
        ];
        let mut unfit = diagnosis([0.004, 0.11], findings);
        let failure = Failure {
            kind: "crash".to_owned(),
            message: "the process died of signal 9 (killed, perhaps for memory)".to_owned(),
        };
        let failed = Measured::new(NoiseWork::AllCores, Err(failure), unfit.limit);
        unfit.noise.push(failed);
        assert!(!unfit.is_fit() && !unfit.can_be_changed());
        assert_snapshot!(text(&unfit));
    }
}
