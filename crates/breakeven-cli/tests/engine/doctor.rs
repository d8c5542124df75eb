//! `breakeven doctor`, on whatever machine this is.

use serde_json::Value;

use crate::command::line;

/// The least that it may take.
const SHORT: &str = "doctor --duration 3s --format json --threshold 50%";

#[test]
fn it_measures_noise_in_runs_and_says_how_many_are_needed() {
    // Nothing is bad enough for a change of a thousand percent, but for what was found.
    let ended = line("doctor --duration 3s --format json --threshold 1000% --runs 1000").run();
    let found = ended.json();
    let is_bad = |it: &&Value| it["standing"] == "bad";
    let bad = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_bad)
        .count();
    assert_eq!(found["fit"], bad == 0, "{found:#}");
    assert_eq!(ended.code, Some(if bad == 0 { 0 } else { 3 }), "{found:#}");
    let noise = found["noise"].as_array().unwrap();
    let works: Vec<&str> = noise.iter().filter_map(|it| it["work"].as_str()).collect();
    assert_eq!(works, ["compute", "memory", "all_cores"]);
    for measured in noise {
        let of = &measured["noise"];
        assert!(of["runs"].as_u64() >= Some(5), "{measured}");
        assert!(of["samples"].as_u64() >= Some(20), "{measured}");
        assert!(of["typical_ns"].as_f64() > Some(1e4), "{measured}");
        let [least, most] = [0, 1].map(|end| of["between_interval"][end].as_f64().unwrap());
        let between = of["between"].as_f64().unwrap();
        assert!(least <= between && between <= most, "{measured}");
        assert!(measured["needed"]["runs"].as_u64() >= Some(4), "{measured}");
    }
    assert!(found["facts"]["clock"]["read_ns"].as_f64() > Some(0.0));
}

#[test]
fn a_machine_that_needs_more_runs_than_are_allowed_is_not_fit() {
    // Four runs are the least with which anything is called.
    let ended = line(SHORT).args("--runs 3").run();
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    let found = ended.json();
    assert_eq!(found["fit"], false);
    let noisy = |it: &Value| {
        it.as_str()
            .is_some_and(|it| it.starts_with("one core: its times vary"))
    };
    assert!(
        found["unfit"].as_array().unwrap().iter().any(noisy),
        "{found:#}"
    );
}

#[test]
fn it_refuses_what_makes_no_sense() {
    for (args, said) in [
        ("doctor --duration 1s", "give 3 s to 10 min"),
        ("doctor --duration soon", "soon"),
        ("doctor --threshold 5", "did you mean 5%?"),
        ("doctor --runs 0", "give a whole number, 1 or more"),
    ] {
        let refusal = line(args).run().refusal();
        assert!(refusal.contains(said), "{args}: {refusal}");
    }
}
