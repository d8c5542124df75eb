//! A large page of memory, if the system provides one.
//!
//! With small pages, chance decides which lines of the second cache the rows of a block share: from
//! one process to the next a product of order 1024 took up to a tenth longer.

/// Elements in it.
pub(super) const VALUES: usize = BYTES / size_of::<f32>();

const BYTES: usize = 2 << 20;

/// Memory of its own, in which a large page has room wherever it begins.
pub(super) struct Page {
    #[cfg(target_os = "linux")]
    mapped: std::ptr::NonNull<f32>,
}

#[cfg(target_os = "linux")]
impl Page {
    /// Allocates a zeroed page; none if the system has no more memory.
    pub(super) fn map() -> Option<Self> {
        use breakeven_gpu::large_pages;
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        use std::ptr::{NonNull, null_mut};
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory, wherever the system puts it, which nothing else is in.
        let mapped = unsafe { mmap_anonymous(null_mut(), 2 * BYTES, access, MapFlags::PRIVATE) };
        let mut page = Self {
            mapped: NonNull::new(mapped.ok()?.cast())?,
        };
        large_pages::ask_for(page.values());
        Some(page)
    }

    pub(super) fn values(&mut self) -> &mut [f32] {
        // SAFETY: it was mapped, as zeros, and is unmapped when this value is dropped; no other
        // reference leads there.
        let all = unsafe { std::slice::from_raw_parts_mut(self.mapped.as_ptr(), 2 * VALUES) };
        let skip = all.as_ptr().align_offset(BYTES).min(VALUES);
        &mut all[skip..][..VALUES]
    }
}

#[cfg(target_os = "linux")]
impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: mapped with that length, and nobody has it any more.
        let _ = unsafe { rustix::mm::munmap(self.mapped.as_ptr().cast(), 2 * BYTES) };
    }
}

#[cfg(not(target_os = "linux"))]
impl Page {
    pub(super) fn map() -> Option<Self> {
        None
    }

    pub(super) fn values(&mut self) -> &mut [f32] {
        &mut []
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn it_begins_where_a_large_page_does_and_holds_what_is_put_in() {
        let mut page = Page::map().expect("two mebibytes");
        let values = page.values();
        assert_eq!(values.len(), VALUES);
        assert_eq!(values.as_ptr().addr() % BYTES, 0);
        assert!(values.iter().all(|value| *value == 0.0));
        values.fill(7.0);
        assert!(page.values().iter().all(|value| *value == 7.0));
    }
}
