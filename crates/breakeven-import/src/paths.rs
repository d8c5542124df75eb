//! Call paths as a tree.

use std::collections::HashMap;
use std::iter;

use breakeven_profile::profile::Stack;

use crate::note::Notes;

/// Bytes of all call paths as the profile has them: each with the names on it.
const BYTES: usize = 32 << 20;

/// Bytes of a frame beside its name.
const FRAME_BYTES: usize = 24;

/// A frame inside of those around it.
pub(crate) struct Path {
    pub(crate) parent: Option<u32>,
    pub(crate) frame: u32,
    /// Calls, or samples that have it.
    pub(crate) calls: u64,
    pub(crate) total_ns: f64,
    pub(crate) self_ns: f64,
}

/// All paths by number. Each comes behind the one that it goes on from.
#[derive(Default)]
pub(crate) struct Paths {
    pub(crate) all: Vec<Path>,
    by_step: HashMap<(Option<u32>, u32), u32>,
}

impl Paths {
    /// The path that goes on from another with a frame.
    pub(crate) fn step(&mut self, parent: Option<u32>, frame: u32) -> u32 {
        *self.by_step.entry((parent, frame)).or_insert_with(|| {
            self.all.push(Path {
                parent,
                frame,
                calls: 0,
                total_ns: 0.0,
                self_ns: 0.0,
            });
            self.all.len() as u32 - 1
        })
    }

    pub(crate) fn get_mut(&mut self, path: u32) -> &mut Path {
        &mut self.all[path as usize]
    }

    /// A path and those around it, the innermost first.
    pub(crate) fn outwards<'p>(&'p self, path: &'p Path) -> impl Iterator<Item = &'p Path> {
        let around = |path: &&'p Path| Some(&self.all[path.parent? as usize]);
        iter::successors(Some(path), around)
    }

    /// Those with calls, by the names of their frames.
    pub(crate) fn stacks<'n>(
        &self,
        name: impl Fn(u32) -> &'n str,
        notes: &mut Notes,
    ) -> Vec<Stack> {
        let (mut stacks, mut room, mut without) = (Vec::new(), BYTES, 0);
        for path in self.all.iter().filter(|path| path.calls > 0) {
            let (mut frames, mut bytes) = (Vec::new(), 0);
            for each in self.outwards(path) {
                bytes += name(each.frame).len() + FRAME_BYTES;
                if bytes > room {
                    break;
                }
                frames.push(each.frame);
            }
            if bytes > room {
                without += 1;
                continue;
            }
            room -= bytes;
            let frames = frames.iter().rev().map(|frame| name(*frame).to_owned());
            stacks.push(Stack {
                frames: frames.collect(),
                calls: path.calls,
                total_ns: whole(path.total_ns),
                self_ns: whole(path.self_ns),
            });
        }
        notes.left_out(
            without,
            "call path(s)",
            "they are limited to 32 MiB; the operations have all of the time",
        );
        stacks
    }
}

#[expect(clippy::cast_sign_loss, reason = "no time is negative")]
fn whole(ns: f64) -> u64 {
    ns.round() as u64
}
