//! Room for many values, in large pages if the system provides them.
//!
//! Memory that is new to a process comes to it page by page as it is written, and each page
//! costs a fault: with small ones that is what a large download mostly takes.

/// The size of a large page, bytes.
#[cfg(target_os = "linux")]
const PAGE: usize = 2 << 20;

/// Creates an empty list with that capacity.
#[cfg(any(feature = "gpu", test))]
pub(crate) fn with_room<T>(len: usize) -> Vec<T> {
    let mut list = Vec::with_capacity(len);
    #[cfg(target_os = "linux")]
    ask_for(list.spare_capacity_mut());
    list
}

/// Requests large pages for those that lie completely in that memory.
#[cfg(target_os = "linux")]
pub fn ask_for<T>(memory: &mut [T]) {
    use rustix::mm::{Advice, madvise};

    let begin = memory.as_mut_ptr().cast::<u8>();
    let skipped = begin.align_offset(PAGE);
    let pages = size_of_val(memory).saturating_sub(skipped) / PAGE;
    if pages > 0 {
        let first = begin.wrapping_add(skipped).cast();
        // SAFETY: a hint about memory that the caller has alone. Without large pages small
        // ones do.
        let _ = unsafe { madvise(first, pages * PAGE, Advice::LinuxHugepage) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_few_and_for_many() {
        for len in [0, 1, 3_000_000] {
            let mut list: Vec<u32> = with_room(len);
            assert!(list.is_empty() && list.capacity() >= len);
            list.extend(0..u32::try_from(len).expect("few"));
            assert!(list.iter().zip(0..).all(|(found, at)| *found == at));
        }
    }
}
