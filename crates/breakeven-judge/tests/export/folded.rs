//! Collapsed stacks and the flame graph that is drawn from them.

use breakeven_judge::export::{collapsed, flamegraph};
use breakeven_profile::profile::{Operation, Profile, Timeline};
use insta::assert_snapshot;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

use super::{event, named, odd_names, operations, run, text, with_stacks, with_timeline};

#[track_caller]
fn lines(profile: &Profile) -> String {
    text(|profile, out| collapsed(profile, out), profile)
}

#[track_caller]
fn picture(profile: &Profile) -> String {
    text(|profile, out| flamegraph(profile, out), profile)
}

/// The frames and the weight of each line.
#[track_caller]
pub(super) fn checked(text: &str) -> Vec<(Vec<String>, u64)> {
    let line = |line: &str| {
        let (path, weight) = line.rsplit_once(' ').unwrap();
        let frames: Vec<String> = path.split(';').map(str::to_owned).collect();
        assert!(frames.iter().all(|frame| !frame.is_empty()), "{line:?}");
        // A second number would be a difference to the tools that read this.
        let last = path.rsplit_once(' ').map_or("", |(_, last)| last);
        assert!(last.is_empty() || last.parse::<f64>().is_err(), "{line:?}");
        (frames, weight.parse().unwrap())
    };
    text.lines().map(line).collect()
}

/// The texts of a picture's elements of this name. Fails on what is no XML 1.0.
#[track_caller]
pub(super) fn elements(svg: &str, name: &str) -> Vec<String> {
    let allowed = |c: char| !c.is_control() && c != '\u{fffe}' && c != '\u{ffff}' || c == '\n';
    assert_eq!(svg.chars().find(|c| !allowed(*c) && *c != '\t'), None);
    let mut reader = Reader::from_str(svg);
    reader.config_mut().enable_all_checks(true);
    let (mut texts, mut inside) = (Vec::new(), false);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) if tag.name().as_ref() == name.as_bytes() => {
                inside = true;
                texts.push(String::new());
            }
            Event::End(_) => inside = false,
            Event::Text(text) if inside => {
                texts.last_mut().unwrap().push_str(&text.decode().unwrap());
            }
            Event::GeneralRef(entity) if inside => {
                let known = entity.resolve_char_ref().unwrap().map(String::from);
                let name = entity.decode().unwrap();
                let known = known.or(resolve_predefined_entity(&name).map(str::to_owned));
                texts.last_mut().unwrap().push_str(&known.unwrap());
            }
            Event::Eof => return texts,
            _ => {}
        }
    }
}

#[test]
fn of_stacks() {
    assert_snapshot!(lines(&with_stacks()), @"
    frame 3000
    frame;decode 7000
    frame (size 2) 500
    ");
}

#[test]
fn of_a_timeline() {
    assert_snapshot!(lines(&with_timeline()), @"
    fetch a 5000
    fetch b 5000
    frame 6500
    frame;decode 2000
    frame;upload on vulkan:soft (software) 1500
    ");
}

#[test]
fn of_operations() {
    assert_snapshot!(lines(&operations()), @"
    cpu;conv2d (size 256) 9000
    cpu;conv2d (size 64) 3751
    vulkan:soft (software);conv2d 6400
    ");
}

#[test]
fn own_time_goes_before_that_of_all_calls() {
    let mut operation = Operation::new("f", "cpu");
    operation.runs = vec![run(&[100.0, 100.0]), run(&[50.0])];
    operation.runs[0].self_ns = Some(20.0);
    let profile = Profile {
        operations: vec![operation],
        ..Profile::default()
    };
    assert_eq!(lines(&profile), "cpu;f 70\n");
}

#[test]
fn recursion_past_what_a_path_holds_keeps_its_time() {
    let depth = 1_000;
    let events = (0..depth).map(|n| event("f", 0, n, 2 * (depth - n)));
    let profile = Profile {
        timeline: Some(Timeline {
            events: events.collect(),
            ..Timeline::default()
        }),
        ..Profile::default()
    };
    let lines = checked(&lines(&profile));
    assert_eq!(lines.len(), 128);
    assert_eq!(lines.iter().map(|(_, ns)| ns).sum::<u64>(), 2 * depth);
}

#[test]
fn the_picture_says_what_it_shows() {
    let svg = picture(&with_stacks());
    assert_snapshot!(elements(&svg, "title").join("\n"), @"
    frame (10,000 ns, 95.24%)
    decode (7,000 ns, 66.67%)
    all (10,500 ns, 100%)
    frame (size 2) (500 ns, 4.76%)
    ");
    let texts = elements(&svg, "text").join("\n");
    assert!(texts.contains("breakeven: 10.5 µs"), "{texts}");
    assert!(texts.contains("own time of each call path"), "{texts}");
    let dropped = elements(&picture(&with_timeline()), "text").join("\n");
    assert!(dropped.contains("no room for 3 before them"), "{dropped}");
    assert_eq!(svg, picture(&with_stacks()), "always the same");
}

#[test]
fn names_of_every_kind() {
    for name in odd_names() {
        let [operations, timeline, stacks] = named(&name);
        for (profile, depth) in [(operations, 2), (timeline, 2), (stacks, 2)] {
            let lines = checked(&lines(&profile));
            let deepest = lines.iter().map(|(frames, _)| frames.len()).max();
            assert_eq!(deepest, Some(depth), "{name:?}");
            let total: u64 = lines.iter().map(|(_, ns)| ns).sum();
            let titles = elements(&picture(&profile), "title");
            let all = format!("all ({total} ns, 100%)");
            assert!(titles.contains(&all), "{name:?}: {titles:?}");
        }
    }
    let odd = |name: &str| {
        let [_, _, stacks] = named(name);
        let (frames, _) = checked(&lines(&stacks)).pop().unwrap();
        frames[0].clone()
    };
    assert_eq!(odd("outer;inner"), "outer:inner");
    assert_eq!(odd("a\nb"), "a\u{fffd}b");
    assert_eq!(odd("<b> & \"q\""), "<b> & \"q\"");
    assert_eq!(odd(""), "(unnamed)");
    let titles = elements(&picture(&named("<b> & \"q\"")[2]), "title");
    let is_named = |title: &String| title.starts_with("<b> & \"q\" (");
    assert!(titles.iter().any(is_named), "{titles:?}");
}
