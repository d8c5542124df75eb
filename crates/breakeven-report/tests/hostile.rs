//! Texts that want to be more than texts, in every place of a profile that has one.

use breakeven_profile::profile::{
    BreakEven, Clock, Cpu, Environment, Failure, Gpu, Operation, Peak, Profile, Stack, Timeline,
    TimelineEvent,
};
use breakeven_report::{HistoryChange, HistoryPoint, HistorySeries};
use proptest::prelude::*;
use serde_json::json;

use crate::browser::Browser;
use crate::made::{attributes, changed, load, page, runs};

/// Each would set `window.pwned`, end what it stands in, or turn what follows around.
const TEXTS: [&str; 12] = [
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 1</script>",
    "\"><img src=x onerror=window.pwned=1>",
    "' onmouseover='window.pwned=1' x='",
    "</title></style></textarea><svg onload=window.pwned=1>",
    "<!--<script>",
    "{{scripts}}{{policy}}${window.pwned=1}",
    "javascript:window.pwned=1",
    "\u{202e}txt.exe\u{2066}\u{200f}\u{61c}",
    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\r\n\0",
    "\u{2028}window.pwned=1\u{2029}&lt;script&gt;&#60;",
    "]]><x:script xmlns:x=\"http://www.w3.org/1999/xhtml\">window.pwned=1</x:script>",
];

/// A profile with this text wherever it has a text.
fn of(text: &str) -> Profile {
    let owned = || text.to_owned();
    let mut profile = Profile {
        created: Some(owned()),
        generator: Some(owned()),
        environment: Environment {
            os: Some(owned()),
            arch: Some(owned()),
            cpu: Some(Cpu {
                model: Some(owned()),
                simd: vec![owned()],
                ..Cpu::default()
            }),
            gpus: vec![Gpu {
                id: owned(),
                name: Some(owned()),
                kind: Some(owned()),
                backend: Some(owned()),
                driver: Some(owned()),
                pci: Some(owned()),
                kernel_clock: Some(owned()),
                memory_bytes: None,
            }],
            clock: Some(Clock {
                source: owned(),
                read_ns: 1.0,
                resolution_ns: 1.0,
            }),
            revision: Some(owned()),
            build_profile: Some(owned()),
            host: Some(owned()),
            ..Environment::default()
        },
        ..Profile::default()
    };
    for device in ["cpu", text] {
        for size in [100_u64, 1_000, 10_000] {
            let mut operation = Operation::new(text, device);
            operation.size = Some(size);
            operation.workload = Some(owned());
            (operation.bytes, operation.flops) = (Some(4_000), Some(90_000));
            operation.attributes = attributes(text);
            operation.runs = runs(1e3 * size as f64, 5, 10, 1);
            for run in &mut operation.runs {
                run.phases_ns.insert(owned(), vec![10.0]);
                run.phases_ns.insert("kernel".to_owned(), vec![10.0]);
            }
            profile.operations.push(operation);
        }
        profile.evidence.peaks.push(Peak {
            device: device.to_owned(),
            memory_bytes_per_s: Some(1e10),
            flops_per_s: Some(1e11),
            ..Peak::default()
        });
    }
    let mut failed = Operation::new(format!("{text}!"), text);
    failed.failure = Some(Failure {
        kind: owned(),
        message: owned(),
    });
    profile.operations.push(failed);
    profile.evidence.break_even.push(BreakEven {
        operation: owned(),
        device: owned(),
        over: owned(),
        size: Some(500.0),
        ..BreakEven::default()
    });
    profile.stacks.push(Stack {
        frames: vec![owned(), owned()],
        calls: 1,
        total_ns: 9,
        self_ns: 9,
    });
    profile.timeline = Some(Timeline {
        threads: vec![owned()],
        events: vec![TimelineEvent {
            name: owned(),
            device: Some(owned()),
            duration_ns: 10,
            attributes: attributes(text),
            ..TimelineEvent::default()
        }],
        ..Timeline::default()
    });
    let mut load = load(text);
    load.began = Some(owned());
    load.devices[0].name = Some(owned());
    for sample in &mut load.devices[0].samples {
        sample.limits.insert(owned(), 1);
    }
    profile.load.push(load);
    profile
}

fn history(text: &str) -> Vec<HistorySeries> {
    let point = HistoryPoint {
        commit: text.to_owned(),
        time: text.to_owned(),
        value_ns: 1.0,
        low_ns: f64::NAN,
        high_ns: f64::INFINITY,
    };
    vec![HistorySeries {
        label: text.to_owned(),
        points: vec![point.clone(), point],
        changes: vec![
            HistoryChange {
                index: 1,
                state: text.to_owned(),
                ..HistoryChange::default()
            },
            HistoryChange {
                index: 99,
                ..HistoryChange::default()
            },
        ],
    }]
}

/// A page of it, with verdicts; the title is the text too.
fn hostile(text: &str) -> String {
    let profile = of(text);
    let html = page(&changed(&profile), Some(&profile), &history(text));
    let title = breakeven_judge::page::html(text, 400);
    html.replace("A profile made for a test", &title)
}

/// True for what may not be in a document beside letters.
fn is_obeyed(c: char) -> bool {
    c != '\n' && breakeven_judge::page::is_obeyed(c)
}

#[test]
fn nothing_in_a_profile_runs() {
    let pages: Vec<String> = TEXTS.iter().map(|text| hostile(text)).collect();
    let plain = hostile("plain");
    let tags = |html: &str, name: &str| html.matches(name).count();
    for (text, html) in TEXTS.iter().zip(&pages) {
        // Not one element more than in the page of a harmless name.
        for name in [
            "<script", "</script", "<img", "<svg", "<style", "</style", "<title", "<!--",
            "<section",
        ] {
            assert_eq!(tags(html, name), tags(&plain, name), "{text:?}: {name}");
        }
        assert!(!html.contains(is_obeyed), "{text:?}");
    }
    let Some(mut browser) = Browser::start() else {
        return;
    };
    for (text, html) in TEXTS.iter().zip(&pages) {
        let file = browser.file(html);
        browser.open(&file, "#open=0,1,2,3,4,5,6&sort=name&order=up&filter=");
        browser.evaluate("dispatchEvent(new Event('beforeprint'))");
        browser.until("[...document.querySelectorAll('figure.chart')].every((figure) => figure.querySelector('svg'))");
        // Whoever points at things, as handlers would want.
        browser.evaluate(
            "for (const node of document.querySelectorAll('main *'))
                for (const kind of ['mouseover', 'pointerenter', 'focus', 'load', 'error'])
                    node.dispatchEvent(new PointerEvent(kind, {clientX: 5, clientY: 5}))",
        );
        assert_eq!(
            browser.evaluate("window.pwned === undefined"),
            json!(true),
            "{text:?}"
        );
        assert_eq!(browser.evaluate("document.querySelectorAll('main script:not([type=\"application/json\"]), main img, main iframe, main [onerror], main [onload], main [onmouseover]').length"), json!(0), "{text:?}");
        let shown = browser.text("document.body.innerText + [...document.querySelectorAll('main *')].map((node) => [...node.attributes ?? []].map((one) => one.value).join()).join()");
        // JavaScript's own breaks of lines and cells are all that is left of control.
        let found = shown
            .chars()
            .find(|c| is_obeyed(*c) && !"\t\u{b}".contains(*c));
        assert_eq!(found, None, "{text:?}");
        // Refusals of the policy would be here: nothing got so far.
        assert_eq!(browser.complaints, [""; 0], "{text:?}");
    }
}

#[test]
fn the_policy_stops_what_would_get_into_the_page() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    // As if all escaping had failed.
    let html = page(&of("plain"), None, &[]).replace(
        "<h2 id=\"overview-title\">",
        "<script>window.pwned = 1</script><img src=x onerror=window.pwned=1>\
         <a id=\"bait\" href=\"javascript:window.pwned=1\">x</a><h2 id=\"overview-title\">",
    );
    let file = browser.file(&html);
    browser.open(&file, "");
    browser.click("#bait");
    assert_eq!(browser.evaluate("window.pwned === undefined"), json!(true));
    assert!(browser.complaints.len() >= 2, "{:?}", browser.complaints);
    assert!(
        browser
            .complaints
            .iter()
            .all(|said| said.contains("Content Security Policy"))
    );
}

#[test]
fn a_name_of_a_megabyte_is_cut() {
    let long = "<b>\u{202e}名前".repeat(1 << 17);
    assert!(long.len() > 1 << 20);
    let html = hostile(&long);
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let file = browser.file(&html);
    browser.open(&file, "#open=0");
    browser.evaluate("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(
        browser.evaluate("document.documentElement.scrollWidth <= 1280"),
        json!(true)
    );
    assert_eq!(browser.complaints, [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever a text is, the document has the elements that it has without.
    #[test]
    fn any_text_stays_a_text(text in "[<>&\"'/=!\\-a-z{}\\\\\u{0}-\u{1f}\u{7f}-\u{9f}\u{200e}\u{202a}-\u{202e}\u{2028}]{1,60}|\\PC{1,40}") {
        let html = hostile(&text);
        prop_assert!(!html.contains(is_obeyed));
        // Behind our head, and before our scripts, all `<` are ours.
        let count = |html: &str| html.matches('<').count();
        let plain = hostile(if text.trim().is_empty() { " " } else { "plain" });
        prop_assert_eq!(count(&html), count(&plain));
        for part in ["overview", "verdicts", "operations", "roofline", "timeline", "load", "flame", "break-even", "history"] {
            crate::made::data(&html, part);
        }
    }
}
