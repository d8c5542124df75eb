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

/// Most elements of [`ROOM`] that are kept: 2 MiB, the most that is packed at once without tuning.
const KEPT: usize = 512 * 1024 + LINE;

thread_local! {
    /// The packing buffer of the last product: clearing another takes some percent of a small
    /// product, and allocating one most of a tiny product.
    static ROOM: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
    /// The same for blocks of half a mebibyte and more.
    static PAGE: Cell<Option<Page>> = const { Cell::new(None) };
}

/// Returns room for that many values, aligned to a cache line, uninitialised.
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
