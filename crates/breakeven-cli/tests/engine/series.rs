//! `breakeven profile --series`: the user's own data.

use std::fs;

use insta::assert_snapshot;

use crate::command::{directory, line};

/// A series that swings around a level: what follows is between its values.
fn swinging(points: usize) -> Vec<f64> {
    let mut values = vec![1.0, 2.0];
    for at in 2..points {
        let push = ((at * 37) % 101) as f64 / 101.0 - 0.5;
        values.push(3.0 + 0.5 * values[at - 1] - 0.4 * values[at - 2] + push);
    }
    values
}

#[test]
fn a_series_is_measured_beside_the_synthetic_one_and_its_forecast_is_told() {
    let directory = directory();
    let path = directory.path().join("days.csv");
    let days = swinging(200).into_iter().enumerate();
    let lines: String = days
        .map(|(day, value)| format!("day {day},{value}\n"))
        .collect();
    fs::write(&path, format!("day,temperature\n{lines}")).unwrap();
    let profile = "profile --iterations 2 --warmup 1 --device cpu --kernel ar_forecast";
    let with = |column: &str, format: &str| {
        let series = format!("{}{column}", path.display());
        line(profile)
            .args(format)
            .args("--series")
            .arg(series)
            .run()
            .quietly(0)
    };
    let document = with("", "--format json").json();
    let operations = document["operations"].as_array().unwrap();
    let names: Vec<_> = operations
        .iter()
        .map(|each| each["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["ar_forecast", "ar_forecast:series"]);
    assert_eq!(operations[1]["size"], 200);
    assert_eq!(operations[1]["figures"]["summary"]["count"], 2);
    let forecast = document["forecast"].as_array().unwrap();
    assert_eq!(forecast.len(), 10);
    let values = forecast.iter().map(|value| value.as_f64().unwrap());
    assert!(
        values.clone().all(|value| (1.0..6.0).contains(&value)),
        "{document:#}"
    );

    let table = with(":temperature", "");
    let words: Vec<&str> = table.stdout.split_whitespace().collect();
    let first = values.clone().next().unwrap() as f32;
    let after = format!("the 10 points after the series: {first}, ");
    assert!(words.join(" ").contains(&after), "{words:?}");
    let of_series = "; it has 200 points, from 1 to ";
    assert!(words.join(" ").contains(of_series), "{table:#?}");
    assert!(
        table.stdout.lines().all(|line| line.chars().count() <= 80),
        "{table:#?}"
    );
    let markdown = with(":2", "--format markdown");
    assert_eq!(markdown.lines_with("the 10 points after").len(), 1);
    assert!(!markdown.stdout.contains("days.csv"), "no path is written");
}

#[test]
fn what_is_no_series_is_refused_in_one_line_at_once() {
    let directory = directory();
    let with = |content: &[u8], column: &str| {
        let path = directory.path().join("own.csv");
        fs::write(&path, content).unwrap();
        let series = format!("{}{column}", path.display());
        let refused = line("profile --device cpu --series")
            .arg(series)
            .run()
            .refusal();
        refused.replace(directory.path().to_str().unwrap(), "[dir]")
    };
    assert_snapshot!(with(b"a,b\n1,2\n", ""), @"error: cannot read the series [dir]/own.csv: several of its columns hold numbers; name one, as in FILE.csv:1; they are: 1 (a), 2 (b)");
    assert_snapshot!(with(b"a,b\n1,2\n1,x\n", ":b"), @r#"error: cannot read the series [dir]/own.csv: line 3, column 2 (b): "x" is not a number; remove the line, or name another column"#);
    assert_snapshot!(with(b"a,b\n1,2\n1,\n", ":2"), @"error: cannot read the series [dir]/own.csv: line 3, column 2 (b): the value is missing; fill it in, or remove the line");
    assert_snapshot!(with(b"1\ninf\n", ""), @"error: cannot read the series [dir]/own.csv: line 2, column 1: inf is not a finite 32-bit number; remove the line");
    assert_snapshot!(with(b"1\n\xff\n", ""), @"error: cannot read the series [dir]/own.csv: line 2 is not UTF-8; save the file as UTF-8");
    assert_snapshot!(with(b"day,v (km/h)\nMonday,\"2,5\"\n", ":v (km/h)"), @r#"error: cannot read the series [dir]/own.csv: line 2, column 2 (v (km/h)): "2,5" is not a number; write a decimal point, not a comma"#);
    assert_snapshot!(with(b"1\n\n2\n", ""), @"error: cannot read the series [dir]/own.csv: line 2: the value is missing; fill it in, or remove the line");
    assert_snapshot!(with(b"1\n2\n3\n", ""), @"error: ar_forecast: 3 points do not determine 5 lags and an intercept; give 11 points or more, or fewer lags");
    assert_snapshot!(with("7\n".repeat(40).as_bytes(), ""), @"error: ar_forecast: series 0 of the batch has no unique fit with 5 lags: it is constant, or its lags depend linearly on each other; give fewer lags or another series");
    let missing = directory.path().join("missing.csv");
    let refused = line("profile --series").arg(&missing).run().refusal();
    let refused = refused.replace(directory.path().to_str().unwrap(), "[dir]");
    assert_snapshot!(refused, @"error: cannot read the series [dir]/missing.csv: No such file or directory (os error 2)");
}

#[test]
fn a_series_for_kernels_that_take_none() {
    let directory = directory();
    let path = directory.path().join("own.csv");
    let values: Vec<String> = swinging(50).iter().map(ToString::to_string).collect();
    fs::write(&path, values.join("\n")).unwrap();
    let refused = line("profile --device cpu --kernel conv2d --series")
        .arg(&path)
        .run();
    assert_snapshot!(refused.refusal(), @"error: --series is for ar_forecast, which is not asked for");
}
