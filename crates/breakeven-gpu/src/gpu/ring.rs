//! Copies of many bytes by several threads, each through a page-locked block of its own.
//!
//! A device copies page-locked memory at the speed of its bus. Other memory its driver first copies
//! into a page-locked block, on one thread, which is slower than the bus. Here the other threads
//! fill (or empty) their blocks while one block is on the bus.

use std::mem::MaybeUninit;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::error::DeviceError;
use crate::locked;

/// Bytes of a block …
pub(super) const BLOCK: usize = 4 << 20;

/// … and how many of them there are, each with a thread. A core copies about 10 GB/s: four of them
/// and a bus of 50 GB/s give about 30.
const BLOCKS: usize = 4;

/// From so many bytes on there are two blocks to fill, which is worth a thread.
pub(super) const RING_FROM: usize = 2 * BLOCK;

/// A way to the memory of a device, whose addresses are numbers.
pub(super) trait Bus: Sync {
    /// Page-locked memory.
    type Block: AsMut<[MaybeUninit<u8>]> + Send;

    fn block(&self, bytes: usize) -> Result<Self::Block, DeviceError>;

    /// Copies the bytes, which are initialized, and returns once that is done.
    ///
    /// # Safety
    ///
    /// At that place there is room for the bytes, which nothing else uses meanwhile.
    unsafe fn up(&self, bytes: &[MaybeUninit<u8>], place: u64) -> Result<(), DeviceError>;

    /// Initializes all of the room, and returns once that is done.
    ///
    /// # Safety
    ///
    /// At that place there are as many bytes, which nothing writes meanwhile.
    unsafe fn down(&self, place: u64, room: &mut [MaybeUninit<u8>]) -> Result<(), DeviceError>;
}

/// A bus, and the blocks that no transfer uses now.
pub(super) struct Ring<B: Bus> {
    pub(super) bus: B,
    idle: Mutex<Vec<B::Block>>,
}

impl<B: Bus> Ring<B> {
    pub(super) fn new(bus: B) -> Self {
        let idle = Mutex::default();
        Self { bus, idle }
    }

    /// Copies the bytes, which are initialized, to the device.
    ///
    /// # Safety
    ///
    /// As [`Bus::up`].
    pub(super) unsafe fn to_device(
        &self,
        bytes: &[MaybeUninit<u8>],
        place: u64,
    ) -> Result<(), DeviceError> {
        let pieces = bytes.chunks(BLOCK).zip((place..).step_by(BLOCK));
        self.each(pieces, |block, (piece, place)| {
            let filled = &mut block.as_mut()[..piece.len()];
            filled.copy_from_slice(piece);
            // SAFETY: the caller vouches for the place, and the pieces do not overlap.
            unsafe { self.bus.up(filled, place) }
        })
    }

    /// Initializes all of the room with what is on the device.
    ///
    /// # Safety
    ///
    /// As [`Bus::down`].
    pub(super) unsafe fn to_host(
        &self,
        place: u64,
        room: &mut [MaybeUninit<u8>],
    ) -> Result<(), DeviceError> {
        let pieces = room.chunks_mut(BLOCK).zip((place..).step_by(BLOCK));
        self.each(pieces, |block, (piece, place)| {
            let filled = &mut block.as_mut()[..piece.len()];
            // SAFETY: the caller vouches for the place.
            unsafe { self.bus.down(place, filled) }?;
            piece.copy_from_slice(filled);
            Ok(())
        })
    }

    /// Gives the blocks back that no transfer uses.
    pub(super) fn trim(&self) {
        locked(&self.idle).clear();
    }

    /// Calls `copy` with each piece, on this thread and up to three more, until one fails.
    fn each<P>(
        &self,
        pieces: impl Iterator<Item = P> + Send,
        copy: impl Fn(&mut B::Block, P) -> Result<(), DeviceError> + Sync,
    ) -> Result<(), DeviceError> {
        let pieces = Mutex::new(pieces);
        let has_failed = AtomicBool::new(false);
        let work = |mut block: B::Block| {
            let next = || match has_failed.load(Ordering::Relaxed) {
                true => None,
                false => locked(&pieces).next(),
            };
            let mut outcome = Ok(());
            while outcome.is_ok()
                && let Some(piece) = next()
            {
                outcome = copy(&mut block, piece);
            }
            if outcome.is_err() {
                has_failed.store(true, Ordering::Relaxed);
            }
            let mut idle = locked(&self.idle);
            if idle.len() < BLOCKS {
                idle.push(block);
            }
            outcome
        };
        let own = self.take()?;
        let others = thread::available_parallelism().map_or(1, usize::from) - 1;
        thread::scope(|scope| {
            let others: Vec<_> = (0..others.min(BLOCKS - 1))
                // Fewer do if there is no block or no thread.
                .map_while(|_| self.take().ok())
                .map_while(|block| {
                    let work = &work;
                    let thread = thread::Builder::new().name("breakeven-copy".to_owned());
                    thread.spawn_scoped(scope, move || work(block)).ok()
                })
                .collect();
            let others = others.into_iter().map(|other| {
                let ended = other.join();
                ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            // All of them, so that none of their panics is lost.
            let own = work(own);
            others.fold(own, Result::and)
        })
    }

    fn take(&self) -> Result<B::Block, DeviceError> {
        let idle = locked(&self.idle).pop();
        idle.map_or_else(|| self.bus.block(BLOCK), Ok)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use super::*;
    use crate::error::DeviceErrorKind;

    /// Memory of the host's in place of a device's: a place is an offset in it.
    struct Fake {
        memory: Mutex<Vec<MaybeUninit<u8>>>,
        blocks: AtomicUsize,
        most_blocks: usize,
        copies: AtomicUsize,
        fails_at: usize,
    }

    struct Block(Vec<MaybeUninit<u8>>);

    impl AsMut<[MaybeUninit<u8>]> for Block {
        fn as_mut(&mut self) -> &mut [MaybeUninit<u8>] {
            &mut self.0
        }
    }

    impl Fake {
        fn ring(bytes: usize) -> Ring<Self> {
            Ring::new(Self {
                memory: Mutex::new(vec![MaybeUninit::new(0); bytes]),
                blocks: AtomicUsize::new(0),
                most_blocks: usize::MAX,
                copies: AtomicUsize::new(0),
                fails_at: usize::MAX,
            })
        }

        fn copy(&self) -> Result<(), DeviceError> {
            match self.copies.fetch_add(1, Ordering::Relaxed) {
                at if at >= self.fails_at => {
                    let message = format!("copy {at} failed");
                    Err(DeviceError::new(DeviceErrorKind::DeviceLost, message))
                }
                _ => Ok(()),
            }
        }
    }

    impl Bus for Fake {
        type Block = Block;

        fn block(&self, bytes: usize) -> Result<Block, DeviceError> {
            if self.blocks.fetch_add(1, Ordering::Relaxed) >= self.most_blocks {
                let message = "no page-locked memory".to_owned();
                return Err(DeviceError::new(DeviceErrorKind::OutOfMemory, message));
            }
            Ok(Block(vec![MaybeUninit::uninit(); bytes]))
        }

        unsafe fn up(&self, bytes: &[MaybeUninit<u8>], place: u64) -> Result<(), DeviceError> {
            self.copy()?;
            // Another thread's turn, even on one core.
            thread::sleep(Duration::from_millis(1));
            let first = usize::try_from(place).expect("a place in memory");
            locked(&self.memory)[first..][..bytes.len()].copy_from_slice(bytes);
            Ok(())
        }

        unsafe fn down(&self, place: u64, room: &mut [MaybeUninit<u8>]) -> Result<(), DeviceError> {
            self.copy()?;
            let first = usize::try_from(place).expect("a place in memory");
            room.copy_from_slice(&locked(&self.memory)[first..][..room.len()]);
            Ok(())
        }
    }

    fn bytes(len: usize) -> Vec<MaybeUninit<u8>> {
        let byte = |at: usize| MaybeUninit::new((at % 251) as u8);
        (0..len).map(byte).collect()
    }

    fn same(one: &[MaybeUninit<u8>], other: &[MaybeUninit<u8>]) -> bool {
        // SAFETY: both were written by the test or copied from what it wrote.
        let read = |byte: &MaybeUninit<u8>| unsafe { byte.assume_init() };
        one.iter().map(read).eq(other.iter().map(read))
    }

    #[test]
    fn all_bytes_arrive_and_come_back_by_few_blocks() {
        for len in [1, BLOCK - 1, RING_FROM, 11 * BLOCK + 5] {
            let ring = Fake::ring(len + 3);
            let sent = bytes(len);
            let mut back = vec![MaybeUninit::new(0); len];
            // SAFETY: the memory has room behind the third byte.
            unsafe { ring.to_device(&sent, 3) }.expect("the copies work");
            // SAFETY: as above.
            unsafe { ring.to_host(3, &mut back) }.expect("the copies work");
            assert!(same(&sent, &back), "{len} bytes");
            assert!(ring.bus.blocks.load(Ordering::Relaxed) <= BLOCKS);
            assert!(!locked(&ring.idle).is_empty());
            ring.trim();
            assert!(locked(&ring.idle).is_empty());
        }
    }

    #[test]
    fn one_block_is_enough() {
        let mut ring = Fake::ring(RING_FROM);
        ring.bus.most_blocks = 1;
        let sent = bytes(RING_FROM);
        // SAFETY: the memory has as many bytes.
        unsafe { ring.to_device(&sent, 0) }.expect("the copies work");
        assert!(same(&sent, &locked(&ring.bus.memory)));
    }

    #[test]
    fn a_copy_that_fails_ends_the_transfer_and_keeps_the_blocks() {
        let mut ring = Fake::ring(100 * BLOCK);
        ring.bus.fails_at = 2;
        // SAFETY: the memory has as many bytes.
        let error = unsafe { ring.to_device(&bytes(100 * BLOCK), 0) }.expect_err("a copy fails");
        assert_eq!(error.kind, DeviceErrorKind::DeviceLost);
        assert!(ring.bus.copies.load(Ordering::Relaxed) <= 2 + BLOCKS);
        assert!(!locked(&ring.idle).is_empty());
    }

    #[test]
    fn no_block_is_an_error() {
        let mut ring = Fake::ring(BLOCK);
        ring.bus.most_blocks = 0;
        // SAFETY: the memory has as many bytes.
        let error = unsafe { ring.to_device(&bytes(BLOCK), 0) }.expect_err("no block");
        assert_eq!(error.kind, DeviceErrorKind::OutOfMemory);
    }
}
