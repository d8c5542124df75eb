//! Folds a profile into stacks: call paths with their own time.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use breakeven_profile::profile::{Operation, Profile, Timeline};
use breakeven_profile::unit;
use inferno::flamegraph::{Options, from_lines};

use super::label::Labels;
use super::tracks::{Step, by_thread, end_ns, steps};
use super::{ExportError, sum, whole};
use crate::page::is_obeyed;

/// Most frames of a path from a timeline; deeper calls count for the last frame. Paths repeat their
/// prefixes, so their total length grows with the square of the depth; Linux's `perf` stops at 127.
const MOST_FRAMES: usize = 128;

/// Longest frame name, characters; paths repeat names.
const MOST_CHARACTERS: usize = 200;

/// Separator between the frames of a path. It sorts below every character of a frame, so that paths
/// sort by their frames, and the frames inside an operation directly follow it.
const SEPARATOR: char = '\n';

/// Own time in ns by path, in the order of the frames; paths without time are omitted.
type Paths = BTreeMap<String, u64>;

/// A profile's paths.
pub(super) struct Folded {
    paths: Paths,
    /// Sum of the times, more than zero.
    pub(super) total_ns: u64,
    /// The source of the paths, in words.
    pub(super) source: String,
}

impl Folded {
    /// `outer;inner weight`, in the order of the frames.
    pub(super) fn lines(&self) -> impl DoubleEndedIterator<Item = String> {
        let line = |(path, ns): (&String, &u64)| format!("{} {ns}", path.replace(SEPARATOR, ";"));
        self.paths.iter().map(line)
    }

    /// The frames of each path and its own time in ns, in the order of the frames.
    pub(super) fn paths(&self) -> impl Iterator<Item = (impl Iterator<Item = &str>, u64)> {
        let paths = self.paths.iter();
        paths.map(|(path, ns)| (path.split(SEPARATOR), *ns))
    }
}

/// Folds the stacks, else the timeline, else the operations.
///
/// # Errors
///
/// [`ExportError::Empty`] if no path has a time, [`ExportError::TooLong`].
pub(super) fn fold(profile: &Profile) -> Result<Folded, ExportError> {
    let timeline = profile.timeline.as_ref();
    let timeline = timeline.filter(|timeline| !timeline.events.is_empty());
    let (paths, source) = match timeline {
        _ if !profile.stacks.is_empty() => {
            (of_stacks(profile)?, "own time of each call path".to_owned())
        }
        Some(timeline) => {
            let source = match timeline.dropped {
                0 => "own time of the calls on the timeline".to_owned(),
                dropped => format!(
                    "own time of the latest calls; the timeline had no room for {dropped} before \
                     them"
                ),
            };
            (of_timeline(profile, timeline)?, source)
        }
        None => (
            of_operations(profile)?,
            "time of each operation by device".to_owned(),
        ),
    };
    let total_ns = sum(paths.values().copied())?;
    if total_ns == 0 {
        return Err(ExportError::Empty);
    }
    Ok(Folded {
        paths,
        total_ns,
        source,
    })
}

fn add(paths: &mut Paths, path: String, ns: u64) -> Result<(), ExportError> {
    if ns > 0 {
        let own = paths.entry(path).or_default();
        *own = sum([*own, ns])?;
    }
    Ok(())
}

fn of_stacks(profile: &Profile) -> Result<Paths, ExportError> {
    let mut paths = Paths::default();
    for stack in &profile.stacks {
        let mut frames: Vec<String> = stack.frames.iter().map(|name| frame(name)).collect();
        if frames.is_empty() {
            frames.push(frame(""));
        }
        add(
            &mut paths,
            frames.join(&SEPARATOR.to_string()),
            stack.self_ns,
        )?;
    }
    Ok(paths)
}

fn of_timeline(profile: &Profile, timeline: &Timeline) -> Result<Paths, ExportError> {
    let labels = Labels::of(profile);
    let mut paths = Paths::default();
    for track in by_thread(timeline) {
        let mut path = String::new();
        // Per open call: the length of the path around it, and the time inside it.
        let mut open: Vec<(usize, u64)> = Vec::new();
        for step in steps(timeline, &track) {
            match step {
                Step::Open(event) => {
                    if let Some((_, inside)) = open.last_mut() {
                        *inside += end_ns(event) - event.start_ns;
                    }
                    open.push((path.len(), 0));
                    if open.len() <= MOST_FRAMES {
                        let name = labels.call(&event.name, event.device.as_deref());
                        if !path.is_empty() {
                            path.push(SEPARATOR);
                        }
                        path.push_str(&frame(&name));
                    }
                }
                Step::Close(event) => {
                    let (outside, inside) = open
                        .pop()
                        .expect("a walk closes what it opened, the last first");
                    // Calls inside another call do not overlap, so their sum cannot exceed it.
                    add(
                        &mut paths,
                        path.clone(),
                        end_ns(event) - event.start_ns - inside,
                    )?;
                    path.truncate(outside);
                }
            }
        }
    }
    Ok(paths)
}

fn of_operations(profile: &Profile) -> Result<Paths, ExportError> {
    let labels = Labels::of(profile);
    let mut paths = Paths::default();
    for operation in &profile.operations {
        let device = frame(&labels.device(&operation.device));
        let name = frame(&labels.operation(operation));
        let path = format!("{device}{SEPARATOR}{name}");
        add(&mut paths, path, own_ns(operation)?)?;
    }
    Ok(paths)
}

/// An operation's own time, ns.
pub(super) fn own_ns(operation: &Operation) -> Result<u64, ExportError> {
    let mut own = 0;
    for run in &operation.runs {
        own = sum([own, whole(run.own_ns())?])?;
    }
    Ok(own)
}

/// A name as a frame: `;` would begin another frame, a line break would end the line, and a number
/// after a final space would be read as a weight. Control characters, bidirectional marks, and
/// characters that XML cannot contain are replaced.
fn frame(name: &str) -> String {
    let cleared = |c: char| match c {
        ';' => ':',
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        c if is_obeyed(c) => '\u{fffd}',
        c => c,
    };
    let mut characters = name.trim().chars().map(cleared);
    let mut text: String = characters.by_ref().take(MOST_CHARACTERS).collect();
    if characters.next().is_some() {
        text.push('…');
    }
    if text.is_empty() {
        return "(unnamed)".to_owned();
    }
    // A line that begins with it would be a comment.
    if text.starts_with('#') {
        text.insert(0, '\u{200b}');
    }
    let number = |text: &str| text.is_empty() || text.parse::<f64>().is_ok();
    if let Some(space) = text.rfind(' ').filter(|at| number(&text[at + 1..])) {
        text.replace_range(space..=space, "\u{a0}");
    }
    text
}

/// Collapsed stacks: one line per call path, `outer;inner weight`; the weight is the path's own
/// time in ns. `flamegraph.pl`, `inferno`, speedscope and other tools read it.
///
/// Writes the stacks, else the calls of the timeline, else device and operation, in the order of
/// the paths. In a name `;` becomes `:` and control characters become U+FFFD; names are
/// cut at 200 characters.
///
/// # Errors
///
/// If the profile has no time, the sum exceeds 2^64 ns, or `out` cannot be written.
pub fn collapsed(profile: &Profile, out: impl Write) -> Result<(), ExportError> {
    let folded = fold(profile)?;
    let mut out = BufWriter::new(out);
    for line in folded.lines() {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

/// A flame graph: an SVG page that a browser zooms and searches.
///
/// Draws the paths that [`collapsed`] writes. The same profile always gives the
/// same picture: a frame's colour depends on its name.
///
/// # Errors
///
/// If the profile has no time, the sum exceeds 2^64 ns, or `out` cannot be written.
pub fn flamegraph(profile: &Profile, out: impl Write) -> Result<(), ExportError> {
    let folded = fold(profile)?;
    let mut options = Options::default();
    options.title = format!("breakeven: {}", unit::time(folded.total_ns as f64));
    options.subtitle = Some(folded.source.clone());
    options.count_name = "ns".to_owned();
    options.name_type = "Operation:".to_owned();
    options.deterministic = true;
    // `from_lines` would sort the lines as texts and separate an operation from the frames inside
    // it: `a b` sorts before `a;c`. In this mode it takes the lines as they are, the last first.
    options.flame_chart = true;
    let lines: Vec<String> = folded.lines().rev().collect();
    let mut out = BufWriter::new(out);
    from_lines(&mut options, lines.iter().map(String::as_str), &mut out)?;
    Ok(out.flush()?)
}

/// Call paths as a tree. All times are in ns.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Tree {
    /// The source of the paths, in words.
    pub source: String,
    /// Time of all paths.
    pub total_ns: u64,
    /// The nodes; every node comes after its parent, siblings in the order of their names.
    pub nodes: Vec<Node>,
}

/// A frame that was called along one path.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name, at most 200 characters.
    pub name: String,
    /// Index of the node that called it; none at the root.
    pub parent: Option<usize>,
    /// Number of frames around it.
    pub depth: usize,
    /// Its time, including the nodes inside it.
    pub total_ns: u64,
    /// Its time, without the nodes inside it.
    pub own_ns: u64,
}

/// Builds the tree of the paths that [`collapsed`](super::collapsed) writes.
///
/// # Errors
///
/// If the profile has no time, or the sum exceeds 2^64 ns.
pub fn tree(profile: &Profile) -> Result<Tree, ExportError> {
    let folded = fold(profile)?;
    let mut nodes: Vec<Node> = Vec::new();
    // The nodes of the previous path, the outermost first: paths come in the order of their frames.
    let mut open: Vec<usize> = Vec::new();
    for (frames, ns) in folded.paths() {
        let mut depth = 0;
        for name in frames {
            let is_open = open.get(depth).is_some_and(|at| nodes[*at].name == name);
            if !is_open {
                open.truncate(depth);
                let parent = open.last().copied();
                open.push(nodes.len());
                nodes.push(Node {
                    name: name.to_owned(),
                    parent,
                    depth,
                    total_ns: 0,
                    own_ns: 0,
                });
            }
            depth += 1;
        }
        open.truncate(depth);
        if let Some(last) = open.last() {
            nodes[*last].own_ns += ns;
        }
        // The total was checked, so partial sums cannot overflow.
        for at in &open {
            nodes[*at].total_ns += ns;
        }
    }
    Ok(Tree {
        source: folded.source.clone(),
        total_ns: folded.total_ns,
        nodes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_stays_one_frame() {
        for (name, text) in [
            ("decode", "decode"),
            ("a;b\nc\u{1b}", "a:b\u{fffd}c\u{fffd}"),
            ("pass 12", "pass\u{a0}12"),
            ("pass 1.5", "pass\u{a0}1.5"),
            ("! -0", "!\u{a0}-0"),
            ("to inf", "to\u{a0}inf"),
            ("conv (size 12)", "conv (size 12)"),
            ("12", "12"),
            ("  ", "(unnamed)"),
            ("", "(unnamed)"),
            (" <b> & \"q\" ", "<b> & \"q\""),
            ("\u{ffff}", "\u{fffd}"),
            ("a\u{202e}b", "a\u{fffd}b"),
        ] {
            assert_eq!(frame(name), text, "{name:?}");
        }
        assert_eq!(frame(&"µ".repeat(201)), "µ".repeat(200) + "…");
        assert_eq!(frame(&"µ".repeat(200)), "µ".repeat(200));
    }
}

#[cfg(test)]
mod flame_tests {
    use breakeven_profile::profile::Stack;

    use super::*;

    #[test]
    fn paths_that_begin_alike_share_nodes() {
        let stack = |frames: &[&str], self_ns: u64| Stack {
            frames: frames.iter().map(|&name| name.to_owned()).collect(),
            calls: 1,
            total_ns: self_ns,
            self_ns,
        };
        let profile = Profile {
            stacks: vec![
                stack(&["a", "c"], 5),
                stack(&["a"], 3),
                stack(&["a b"], 1),
                stack(&["a", "c", "d"], 2),
                // The same frame again, below another.
                stack(&["e", "c"], 4),
            ],
            ..Profile::default()
        };
        let tree = tree(&profile).expect("there are times");
        let reported: Vec<_> = tree
            .nodes
            .iter()
            .map(|node| {
                let Node {
                    name,
                    parent,
                    depth,
                    total_ns,
                    own_ns,
                } = node;
                (name.as_str(), *parent, *depth, *total_ns, *own_ns)
            })
            .collect();
        assert_eq!(
            reported,
            [
                ("a", None, 0, 10, 3),
                ("c", Some(0), 1, 7, 5),
                ("d", Some(1), 2, 2, 2),
                ("a b", None, 0, 1, 1),
                ("e", None, 0, 4, 0),
                ("c", Some(4), 1, 4, 4),
            ]
        );
        assert_eq!(tree.total_ns, 15);
    }
}
