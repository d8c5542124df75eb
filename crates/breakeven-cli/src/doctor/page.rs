//! The diagnosis of `breakeven doctor` as a page.

use breakeven_judge::page::figures::plural;
use breakeven_judge::page::{Column, Item, Page, Row, Table, Text, Tone};
use breakeven_profile::unit;

use super::rules::{Finding, Standing};
use super::{Diagnosis, Measured};

pub(super) fn page(diagnosis: &Diagnosis) -> Page {
    let mut page = Page::default();
    page.heading(answer(diagnosis));
    page.items(diagnosis.unfit.iter().map(Item::from).collect());
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
    let good: Vec<(&str, &str)> = good.map(|it| (it.subject, &*it.seen)).collect();
    if !good.is_empty() {
        page.heading(Text::new("As it should be", Tone::Good));
    }
    page.facts(good);
    page
}

fn answer(diagnosis: &Diagnosis) -> Text {
    let change = unit::percent(diagnosis.threshold);
    let runs = match diagnosis.runs_needed {
        Some(runs) => format!(
            "a change of {change} needs {} per side",
            plural(runs, "run")
        ),
        None => format!("how many runs a change of {change} needs is not known"),
    };
    match diagnosis.fit {
        true => Text::new(format!("fit to measure on: {runs}"), Tone::Good),
        false => Text::new(format!("not fit to measure on: {runs}"), Tone::Bad),
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
    page.aside(
        "Standard deviations; p99 over the median; in parentheses at 90 %. With this many runs \
         per side, an unchanged operation is reported as NO_CHANGE 80 % of the time. The last \
         column is the smallest change that is then reported 80 % of the time. memory: 64 MiB are read.",
    );
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
    for (how, text) in &finding.remedy {
        add(how, text.clone());
    }
    Item { head, facts }
}

#[cfg(test)]
mod tests {
    use breakeven_judge::Noise;
    use breakeven_profile::profile::Failure;
    use insta::assert_snapshot;

    use super::*;
    use clap::Parser;

    use crate::doctor::DoctorArgs;
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

    fn finding(
        subject: &'static str,
        standing: Standing,
        seen: &str,
        remedy: &[(&'static str, &str)],
    ) -> Finding {
        Finding {
            subject,
            standing,
            seen: seen.to_owned(),
            source: Some("/sys/somewhere".to_owned()),
            effect: match standing {
                Standing::Good => "",
                _ => "it makes some runs slower than others",
            },
            remedy: remedy
                .iter()
                .map(|(how, text)| (*how, (*text).to_owned()))
                .collect(),
        }
    }

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: DoctorArgs,
    }

    /// A machine whose benchmarks vary widely from run to run.
    fn diagnosis(between: &[Result<f64, Failure>], findings: Vec<Finding>) -> Diagnosis {
        let args = Line::parse_from(["doctor"]).args;
        let measured = NoiseWork::ALL.into_iter().zip(between).map(|(work, it)| {
            let noise = it.clone().map(noise);
            Measured::new(work, noise, args.threshold)
        });
        Diagnosis::new(&args, findings, measured.collect(), <_>::default())
    }

    fn text(diagnosis: &Diagnosis) -> String {
        let mut text = Vec::new();
        page(diagnosis).text(100, false, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    const COMMAND: [(&str, &str); 2] = [
        ("type", "echo performance | sudo tee /sys/somewhere"),
        ("undo", "echo powersave | sudo tee /sys/somewhere"),
    ];

    const ELSEWHERE: [(&str, &str); 2] = [
        ("not here", "only the host can"),
        ("there", "docker run --cpuset-cpus=2-3 …"),
    ];

    #[test]
    fn a_machine_that_is_fit() {
        let findings = vec![
            finding("governor", Standing::Doubtful, "schedutil", &COMMAND),
            finding("clock", Standing::Good, "tsc", &[]),
            finding("swap", Standing::Good, "none", &[]),
        ];
        let fit = diagnosis(&[Ok(0.004), Ok(0.021)], findings);
        assert!(fit.fit);
        assert_snapshot!(text(&fit));
    }

    #[test]
    fn a_machine_that_is_not_and_cannot_be_changed() {
        let findings = vec![
            finding("steal", Standing::Bad, "9.0 % of it", &ELSEWHERE),
            finding("heat", Standing::Unknown, "no sensor", &[]),
        ];
        let failure = Failure {
            kind: "crash".to_owned(),
            message: "the process died of signal 9 (killed, perhaps for memory)".to_owned(),
        };
        let unfit = diagnosis(&[Ok(0.004), Ok(0.11), Err(failure)], findings);
        assert!(!unfit.fit);
        assert_snapshot!(text(&unfit));
    }
}
