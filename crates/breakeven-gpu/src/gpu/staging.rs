//! Copies through wgpu: mapped blocks that stay, and a copy on the queue from or to each.
//!
//! CubeCL copies an upload twice, each time into memory that is new to the process, and a download
//! is complete in one such memory before the host takes it. Here the host fills or empties a block
//! while the device copies another.
//!
//! The queue works in the order of submissions. CubeCL submits late; asking it for a buffer's place
//! makes it submit first what was started before.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cubecl::client::ComputeClient;
use cubecl::wgpu::WgpuRuntime;
use wgpu::{BufferUsages, MapMode, PollError, PollType, SubmissionIndex};

use super::Buffer;
use super::faults::{OnDevice as _, of_text};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::large_pages::with_room;
use crate::locked;
use crate::tensor::Element;

/// Bytes of a block …
const BLOCK: usize = 4 << 20;

/// … and how many of them a transfer has in use, and each direction keeps.
const BLOCKS: usize = 3;

/// How long wgpu may wait at once: nothing can be submitted meanwhile.
const TURN: Duration = Duration::from_millis(1);

/// How long a device may take for a block before it counts as busy: 4 MiB take it 8 ms at 0.5 GB/s.
pub(super) const BUSY: Duration = Duration::from_millis(20);

/// How often a wait that comes to nothing is given up.
type Patience<'p> = dyn FnMut() -> Result<Duration, DeviceError> + 'p;

/// A device's queue, and the blocks that no transfer uses now.
pub(super) struct Staging {
    client: ComputeClient<WgpuRuntime>,
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// Mapped, to be written.
    up: Arc<Blocks>,
    down: Arc<Blocks>,
}

#[derive(Default)]
struct Blocks(Mutex<Vec<wgpu::Buffer>>);

impl Blocks {
    fn keep(&self, block: wgpu::Buffer) {
        let mut idle = locked(&self.0);
        if idle.len() < BLOCKS {
            idle.push(block);
        }
    }
}

impl Drop for Staging {
    /// On a thread of its own: wgpu frees a buffer by way of thread-locals, and the last clone of a
    /// `Gpu` may be in one, whose thread has none any more.
    fn drop(&mut self) {
        let idle = [&self.up, &self.down].map(|blocks| std::mem::take(&mut *locked(&blocks.0)));
        // Left to the process if there is no thread.
        let idle = ManuallyDrop::new(idle);
        let freed = std::thread::Builder::new().spawn(|| drop(ManuallyDrop::into_inner(idle)));
        if let Ok(freed) = freed {
            let _ = freed.join();
        }
    }
}

impl Staging {
    pub(super) fn new(
        client: ComputeClient<WgpuRuntime>,
        device: wgpu::Device,
        queue: wgpu::Queue,
    ) -> Self {
        Self {
            client,
            device,
            queue,
            up: Arc::default(),
            down: Arc::default(),
        }
    }

    /// Where a buffer is, for as long as it lives: its first byte in a buffer of wgpu's. What
    /// CubeCL's current stream and the buffer's had for the device is submitted then.
    pub(super) fn place(&self, buffer: &Buffer) -> Result<(wgpu::Buffer, u64), DeviceError> {
        let place = self.client.get_resource(buffer.handle()).on_device()?;
        let place = place.resource();
        Ok((place.buffer.clone(), place.offset))
    }

    /// Copies bytes, a multiple of four, and returns once the host's part is done. If the device
    /// copies no block for as long as `busy`, it works for somebody else, who is not waited for.
    /// (Mesa's software driver makes each submission wait for the one before.)
    pub(super) fn to_device(
        &self,
        buffer: &Buffer,
        bytes: &[u8],
        busy: Duration,
    ) -> Result<(), DeviceError> {
        let (to, first) = self.place(buffer)?;
        let mut submitted = VecDeque::new();
        let mut left = bytes;
        while !left.is_empty() {
            let at = first + (bytes.len() - left.len()) as u64;
            let Some(block) = self.writable(&mut submitted, busy) else {
                // Into memory that wgpu allocates for this.
                self.queue.write_buffer(&to, at, left);
                break;
            };
            let (piece, rest) = left.split_at(left.len().min(BLOCK));
            let len = piece.len() as u64;
            block.get_mapped_range_mut(..len).copy_from_slice(piece);
            block.unmap();
            submitted.push_back(self.copy((&block, 0), (&to, at), len));
            let (idle, kept) = (Arc::clone(&self.up), block.clone());
            block.map_async(MapMode::Write, .., move |mapped| {
                if mapped.is_ok() {
                    idle.keep(kept);
                }
            });
            left = rest;
        }
        Ok(())
    }

    /// A block to write to; none if all are in use for as long as `busy`.
    fn writable(
        &self,
        submitted: &mut VecDeque<SubmissionIndex>,
        busy: Duration,
    ) -> Option<wgpu::Buffer> {
        loop {
            let idle = locked(&self.up.0).pop();
            if idle.is_some() {
                return idle;
            }
            if submitted.len() < BLOCKS {
                return Some(self.block(BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC));
            }
            // Its block is mapped by then, and was given back.
            let first = submitted.pop_front()?;
            let since = Instant::now();
            let copied = self.wait(&first, &mut || match since.elapsed() {
                waited if waited < busy => Ok(TURN),
                _ => Err(of_text("busy")),
            });
            copied.ok()?;
        }
    }

    /// Copies buffers of elements to the host.
    pub(super) fn to_host<E: Element>(
        &self,
        buffers: &[&Buffer],
        patience: &mut Patience<'_>,
    ) -> Result<Vec<Vec<E>>, DeviceError> {
        let places = buffers.iter().map(|buffer| self.place(buffer));
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let rooms = buffers.iter().map(|buffer| buffer.bytes() / size_of::<E>());
        let mut found: Vec<Vec<E>> = rooms.map(with_room).collect();
        let pieces = buffers.iter().zip(&places).enumerate();
        let mut pieces = pieces.flat_map(|(of, (buffer, place))| {
            let bytes = buffer.bytes();
            let starts = (0..bytes).step_by(BLOCK);
            starts.map(move |at| (of, place, at as u64, BLOCK.min(bytes - at) as u64))
        });
        let mut on_the_way = VecDeque::new();
        loop {
            while on_the_way.len() < BLOCKS
                && let Some((of, (from, first), at, len)) = pieces.next()
            {
                let idle = locked(&self.down.0).pop();
                let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
                let block = idle.unwrap_or_else(|| self.block(usage));
                let index = self.copy((from, first + at), (&block, 0), len);
                let (mapped, arrival) = channel();
                block.map_async(MapMode::Read, ..len, move |outcome| {
                    let _ = mapped.send(outcome);
                });
                on_the_way.push_back((of, block, len, index, arrival));
            }
            let Some((of, block, len, index, arrival)) = on_the_way.pop_front() else {
                return Ok(found);
            };
            self.wait(&index, patience)?;
            // By this wait, or another thread's is about to say so.
            let outcome = loop {
                match arrival.recv_timeout(TURN) {
                    Ok(outcome) => break outcome.map_err(|error| of_text(&error.to_string())),
                    Err(RecvTimeoutError::Timeout) => patience()?,
                    Err(RecvTimeoutError::Disconnected) => {
                        let lost = "a block of a download was given up";
                        return Err(DeviceError::new(DeviceErrorKind::Other, lost));
                    }
                };
            };
            outcome?;
            found[of].extend_from_slice(bytemuck::cast_slice(&block.get_mapped_range(..len)));
            block.unmap();
            self.down.keep(block);
        }
    }

    /// Gives the blocks back that no transfer uses.
    pub(super) fn trim(&self) {
        // Those of an upload come back by a look at the queue.
        let _ = self.device.poll(PollType::Poll);
        for blocks in [&self.up, &self.down] {
            locked(&blocks.0).clear();
        }
    }

    fn block(&self, usage: BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("breakeven"),
            size: BLOCK as u64,
            usage,
            mapped_at_creation: usage.contains(BufferUsages::MAP_WRITE),
        })
    }

    /// Submits a copy of so many bytes, a multiple of four, between two places.
    pub(super) fn copy(
        &self,
        from: (&wgpu::Buffer, u64),
        to: (&wgpu::Buffer, u64),
        bytes: u64,
    ) -> SubmissionIndex {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(from.0, from.1, to.0, to.1, bytes);
        self.queue.submit([encoder.finish()])
    }

    fn wait(
        &self,
        index: &SubmissionIndex,
        patience: &mut Patience<'_>,
    ) -> Result<(), DeviceError> {
        loop {
            let asked = PollType::Wait {
                submission_index: Some(index.clone()),
                timeout: Some(TURN),
            };
            match self.device.poll(asked) {
                Ok(_) => return Ok(()),
                Err(PollError::Timeout) => patience()?,
                Err(error) => return Err(of_text(&error.to_string())),
            };
        }
    }
}
