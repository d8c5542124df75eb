//! A product, and the room that its CPU forms pack into.

use std::cell::Cell;

use super::page::{self, Page};
use crate::parallel;

/// Elements in a line of the caches.
const LINE: usize = parallel::LINE / size_of::<f32>();

/// One row-major product: A is m × k, B is k × n.
#[derive(Clone, Copy)]
pub(super) struct Product<'p> {
    pub(super) a: &'p [f32],
    pub(super) b: &'p [f32],
    pub(super) k: usize,
    pub(super) n: usize,
}

/// Elements of [`ROOM`] that are kept, at most: 2 MiB, the most that is packed at once where
/// nothing was tuned.
const KEPT: usize = 512 * 1024 + LINE;

thread_local! {
    /// Where the last product packed: to clear as much again takes some percent of a
    /// small product, and to allocate it most of a tiny one.
    static ROOM: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
    /// The same for blocks of half a mebibyte and more.
    static PAGE: Cell<Option<Page>> = const { Cell::new(None) };
}

/// Room for so many values, from a line of the caches on. What is in it is from before.
pub(super) fn with_room(len: usize, work: impl FnOnce(&mut [f32])) {
    // What is much smaller lies well in small pages, too.
    if (page::VALUES / 4..=page::VALUES).contains(&len)
        && let Some(mut page) = PAGE.take().or_else(Page::map)
    {
        work(&mut page.values()[..len]);
        return PAGE.set(Some(page));
    }
    let mut room = ROOM.take();
    if room.len() < len + LINE {
        room.resize(len + LINE, 0.0);
    }
    let skip = room.as_ptr().align_offset(parallel::LINE).min(LINE);
    work(&mut room[skip..][..len]);
    if room.len() <= KEPT {
        ROOM.set(room);
    }
}
