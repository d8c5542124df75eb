//! Bytes on their way between the host's memory and a device's.
//!
//! CubeCL copies each upload twice, each time into memory that is new to the process, and each
//! download through pinned memory, which each stream first has to allocate by the 32 MiB. So large
//! copies go around it, by CUDA's driver ([`CudaCopies`]) or on wgpu's queue ([`Staging`]).

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::cuda::{CudaCopies, PageLockedWords};
use super::faults::OnDevice as _;
use super::staging::{BUSY, Staging};
use super::wait::until_ready;
use super::{Buffer, Gpu, with_client};
use crate::error::{DeviceError, DeviceErrorKind};
use crate::tensor::Element;

/// CUDA's driver takes so much from any memory without waiting for the device; with less,
/// CubeCL's two copies cost less than that wait.
const DIRECT_FROM: usize = 64 << 10;

/// From so many bytes on, a block and a submission of our own take less time than CubeCL's copies,
/// on Mesa's driver (bench `transfers`): half as long for a MiB, a third longer for a quarter.
const STAGED_FROM: usize = 512 << 10;

/// How a device copies what CubeCL does not.
pub(super) enum Copies {
    Cuda(CudaCopies),
    Wgpu(Staging),
}

/// Stands for an empty buffer: CubeCL's CUDA side cannot allocate one, and a shader must get as
/// much as it may read at once.
const FOR_NOTHING: usize = 16;

impl Gpu {
    /// Copies bytes into a new buffer, without checks. What the current stream starts from now
    /// on finds them there.
    pub(crate) fn send(&self, bytes: &[u8]) -> Result<Buffer, DeviceError> {
        self.shared
            .uploaded
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if bytes.is_empty() {
            return Ok(self.empty(0));
        }
        match &self.shared.copies {
            Copies::Cuda(copies) if bytes.len() >= DIRECT_FROM => {
                let buffer = self.empty(bytes.len());
                let place = copies.place(&buffer)?;
                // Whatever used this memory before has to be done.
                self.settle(self.patiently())?;
                // SAFETY: the buffer has as many bytes, and lives until they are copied.
                unsafe { copies.to_device(place, bytes) }?;
                Ok(buffer)
            }
            Copies::Wgpu(staging)
                if bytes.len() >= STAGED_FROM && bytes.len().is_multiple_of(4) =>
            {
                let buffer = self.empty(bytes.len());
                staging.to_device(&buffer, bytes, BUSY)?;
                Ok(buffer)
            }
            _ => {
                let handle = with_client!(self, client => client.create_from_slice(bytes));
                Ok(Buffer::new(handle, bytes.len(), self.ledger()))
            }
        }
    }

    /// Waits for everything on the current stream. `patience` is that of [`until_ready`]: CubeCL's
    /// thread waits, so that a driver whose wait never returns is given up.
    pub(super) fn settle(
        &self,
        patience: impl FnMut() -> Result<Duration, DeviceError>,
    ) -> Result<(), DeviceError> {
        with_client!(self, client => until_ready(client.sync(), patience))
    }

    /// A buffer with anything in it, without checks.
    pub(super) fn empty(&self, bytes: usize) -> Buffer {
        let allocated = if bytes == 0 { FOR_NOTHING } else { bytes };
        let handle = with_client!(self, client => client.empty(allocated));
        Buffer::new(handle, bytes, self.ledger())
    }

    /// Waits for everything on the current stream, and copies the buffers to the host. Returns when
    /// the device was done. `patience` is that of [`until_ready`].
    pub(super) fn bring<E: Element>(
        &self,
        buffers: &[&Buffer],
        mut patience: impl FnMut() -> Result<Duration, DeviceError>,
    ) -> Result<(Vec<Vec<E>>, Instant), DeviceError> {
        // A read alone says nothing of a launch that failed before it.
        with_client!(self, client => client.flush()).on_device()?;
        let filled: Vec<_> = buffers
            .iter()
            .copied()
            .filter(|buffer| buffer.bytes() > 0)
            .collect();
        let (filled, done) = match &self.shared.copies {
            Copies::Cuda(copies) => {
                let places = filled.iter().map(|buffer| copies.place(buffer));
                let places = places.collect::<Result<Vec<_>, _>>()?;
                self.settle(patience)?;
                let done = Instant::now();
                let copied = filled.iter().zip(places).map(|(buffer, place)| {
                    // SAFETY: the buffer has as many bytes, and lives until they are copied.
                    unsafe { copies.to_host(place, buffer.bytes()) }
                });
                (copied.collect::<Result<Vec<_>, _>>()?, done)
            }
            Copies::Wgpu(staging) => {
                self.settle(&mut patience)?;
                let done = Instant::now();
                (staging.to_host(&filled, &mut patience)?, done)
            }
        };
        let mut filled = filled.into_iter();
        let brought = buffers.iter().map(|buffer| match buffer.bytes() {
            0 => Ok(Vec::new()),
            _ => self.received(filled.next().unwrap_or_default(), buffer),
        });
        Ok((brought.collect::<Result<_, _>>()?, done))
    }

    /// Page-locked words, all zero; none if the backend knows no such memory. Fails if the device
    /// could never take as many.
    pub(crate) fn page_locked(&self, len: usize) -> Result<Option<PageLockedWords>, DeviceError> {
        self.check_fits(&[4 * len as u64])?;
        match &self.shared.copies {
            Copies::Cuda(copies) if len > 0 => {
                self.guarded(|| copies.page_locked(4 * len)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Gives back the blocks that large copies keep.
    pub(super) fn trim_blocks(&self) {
        match &self.shared.copies {
            Copies::Cuda(copies) => copies.trim(),
            Copies::Wgpu(staging) => staging.trim(),
        }
    }

    /// What the device returned of a buffer, if it is all of it.
    fn received<E: Element>(&self, found: Vec<E>, of: &Buffer) -> Result<Vec<E>, DeviceError> {
        let (bytes, all) = (size_of_val(&found[..]), of.bytes());
        if bytes != all {
            let message = format!("the device returned {bytes} bytes of {all}");
            return Err(DeviceError::new(DeviceErrorKind::Other, message));
        }
        let downloaded = &self.shared.downloaded;
        downloaded.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::HardwareCapabilities;

    #[test]
    fn what_finds_no_block_arrives_as_well() {
        for gpu in HardwareCapabilities::detect().gpus {
            let gpu = Gpu::open(&gpu.id).expect("it was found");
            let Copies::Wgpu(staging) = &gpu.shared.copies else {
                continue;
            };
            let numbers: Vec<u32> = (0..12 << 20).collect();
            for busy in [Duration::ZERO, BUSY] {
                let buffer = gpu.empty(4 * numbers.len());
                let sent = staging.to_device(&buffer, bytemuck::cast_slice(&numbers), busy);
                assert_eq!(sent, Ok(()));
                assert!(gpu.download(&buffer).as_ref() == Ok(&numbers), "{busy:?}");
                gpu.memory().trim();
            }
        }
    }
}
