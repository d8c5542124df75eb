//! What the document holds, without a browser.

use breakeven_report::{HistoryChange, HistoryPoint, HistorySeries};

use crate::made::{changed, data, many, page, runs, whole};
use breakeven_profile::profile::{Operation, Profile, Stack, Timeline, TimelineEvent};

/// A series that became slower.
pub(crate) fn history() -> Vec<HistorySeries> {
    let point = |index: usize| {
        let value_ns = if index < 12 { 1e6 } else { 1.2e6 } + 1e3 * index as f64;
        HistoryPoint {
            commit: format!("{index:07x}"),
            time: format!("2026-01-{:02}T00:00:00Z", index + 1),
            value_ns,
            low_ns: 0.98 * value_ns,
            high_ns: 1.02 * value_ns,
        }
    };
    let series = HistorySeries {
        label: "blur on cpu, size 1024".to_owned(),
        points: (0..20).map(point).collect(),
        changes: vec![HistoryChange {
            index: 12,
            before_ns: 1e6,
            after_ns: 1.2e6,
            low: 0.18,
            high: 0.22,
            state: "regression, open".to_owned(),
        }],
    };
    let empty = HistorySeries {
        label: "nothing yet".to_owned(),
        ..HistorySeries::default()
    };
    vec![series, empty]
}

#[test]
fn the_load_is_drawn_per_device_and_says_where_clocks_were_limited() {
    let mut profile = whole();
    let html = page(&profile, None, &[]);
    let drawn = &data(&html, "load")[0];
    let axes: Vec<_> = drawn["plots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|plot| &plot["axis"])
        .collect();
    assert_eq!(axes, ["in use, %", "°C", "GHz"]);
    assert_eq!(drawn["limited"].as_array().unwrap().len(), 20);
    assert_eq!(drawn["limited"][0], serde_json::json!([20, 21]));
    let last = &drawn["plots"][1]["lines"][0]["points"][59];
    assert_eq!(
        *last,
        serde_json::json!({"s": 59.5, "low": 79.5, "value": 79.5, "high": 79.5})
    );
    assert!(html.contains("cuda:0 over 60.0 s; clocks were throttled"));
    profile.load.clear();
    assert!(!page(&profile, None, &[]).contains("<section id=\"load\""));
}

#[test]
fn a_page_has_all_its_parts_and_loads_nothing() {
    let profile = whole();
    let html = page(&changed(&profile), Some(&profile), &history());
    let ids = [
        "overview",
        "verdicts",
        "judged",
        "operations",
        "roofline",
        "timeline",
        "load",
        "flame",
        "break-even",
        "history",
        "advice",
    ];
    for id in ids {
        assert!(html.contains(&format!("<section id=\"{id}\"")), "{id}");
        assert!(html.contains(&format!("<li><a href=\"#{id}\">")), "{id}");
    }
    let (head, _) = html.split_once("</head>").unwrap();
    assert!(head.contains("content=\"default-src 'none'; script-src 'sha256-"));
    assert!(!head.contains("unsafe"));
    // The libraries name addresses, in namespaces and comments; the rest has none.
    let (own, _) = html.split_once("Libraries in this page").unwrap();
    for word in ["http:", "https:", "src=", "<link", "<img", "<iframe", " on"] {
        let found = own.match_indices(word).any(|(at, _)| {
            // A handler is an attribute: `<p onclick=`.
            word != " on"
                || own[at..].find('=').is_some_and(|equals| {
                    own[at + 1..at + equals]
                        .chars()
                        .all(|c| c.is_ascii_lowercase())
                })
        });
        assert!(!found, "{word}");
    }
}

#[test]
fn what_a_profile_lacks_has_no_section() {
    let sections = |html: &str| -> Vec<String> {
        let ids = html.split("<section id=\"").skip(1);
        ids.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
            .collect()
    };
    let mut decode = Operation::new("decode", "cpu");
    decode.runs = runs(1e6, 1, 5, 1);
    let profile = Profile {
        operations: vec![decode],
        ..Profile::default()
    };
    let html = page(&profile, None, &[]);
    assert_eq!(sections(&html), ["overview", "operations", "flame"]);
    assert_eq!(
        sections(&page(&Profile::default(), None, &[])),
        ["overview"]
    );
}

#[test]
fn a_history_has_its_levels_and_changes() {
    let html = page(&whole(), None, &history());
    let data = data(&html, "history");
    assert_eq!(
        data[0]["levels"][0],
        serde_json::json!({"from": 0, "to": 11, "value": 1_000_000})
    );
    assert_eq!(
        data[0]["levels"][1],
        serde_json::json!({"from": 12, "to": 19, "value": 1_200_000})
    );
    let text = "at 000000c from 1.00 ms to 1.20 ms (+18.0 % to +22.0 %): regression, open";
    assert_eq!(data[0]["changes"][0]["text"], text);
    assert_eq!(data[0]["changes"][0]["worse"], true);
    assert_eq!(data[0]["points"][0]["tick"], "0000000\n2026-01-01");
    assert!(!html.contains("nothing yet"));
}

#[test]
fn a_break_even_is_that_of_the_evidence() {
    let mut profile = whole();
    let html = page(&profile, None, &[]);
    let said = "cuda:0 pays from size 1 500 on over cpu (95 % interval: 1 300 to 1 800)";
    assert!(html.contains(said));
    assert_eq!(data(&html, "break-even")[0]["marks"][0]["text"], said);
    profile.evidence.break_even.clear();
    let html = page(&profile, None, &[]);
    assert_eq!(data(&html, "break-even")[0]["marks"], serde_json::json!([]));
}

#[test]
fn large_profiles_are_cut_and_say_so() {
    let profile = many(5_010, 1, 2);
    let html = page(&profile, None, &[]);
    assert!(html.contains("The 5000 operations that take most of the time; 10 are left out here"));
    assert_eq!(
        data(&html, "operations")["values"]
            .as_array()
            .unwrap()
            .len(),
        5_000
    );

    let mut timeline = Timeline::default();
    timeline
        .events
        .extend((0..30_000).map(|index| TimelineEvent {
            name: "f".to_owned(),
            start_ns: 100 * index,
            duration_ns: 10 + index % 50,
            ..TimelineEvent::default()
        }));
    let frames = |index: usize| vec!["main".to_owned(), format!("f{index}")];
    let stacks = (1..=9_000_u64).map(|index| Stack {
        frames: frames(usize::try_from(index).unwrap()),
        calls: 1,
        total_ns: index,
        self_ns: index,
    });
    let deep = Stack {
        frames: vec!["deep".to_owned(); 3_000],
        calls: 1,
        total_ns: 1,
        self_ns: 1,
    };
    let profile = Profile {
        timeline: Some(timeline),
        stacks: stacks.chain([deep]).collect(),
        ..Profile::default()
    };
    let html = page(&profile, None, &[]);
    assert!(html.contains("the 10 000 shortest or deepest are not drawn"));
    let calls = &data(&html, "timeline")["tracks"][0]["calls"];
    assert_eq!(calls.as_array().unwrap().len(), 20_000);
    let flame = data(&html, "flame");
    let nodes = flame["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 5_000);
    // Every one behind its parent, and the root has the time of all.
    for (index, node) in nodes.iter().enumerate() {
        assert!(node[1].as_i64().unwrap() < i64::try_from(index).unwrap());
    }
    let root = nodes
        .iter()
        .find(|node| flame["names"][node[0].as_u64().unwrap() as usize] == "main");
    assert_eq!(root.unwrap()[2], 9_000 * 9_001 / 2);
}

#[test]
fn a_thousand_operations_stay_below_three_megabytes() {
    let profile = many(1_000, 10, 100);
    let html = page(&changed(&profile), Some(&profile), &history());
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    // A small one is mostly libraries.
    let small = page(&whole(), None, &[]);
    assert!(small.len() < 700_000, "{} bytes", small.len());
}
