//! A tensor's copies on devices. A copy is of some of the storage's elements, and is
//! used for every view that lies inside of it.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::shape::product;
use super::{Element, Host, Tensor, check_has_batch};
use crate::error::DeviceError;
use crate::gpu::{Buffer, Gpu, as_u32};
use crate::hardware::DeviceId;
use crate::large_pages::with_room;

/// What of a storage is on which device.
#[derive(Default)]
pub(super) struct Replicas(Mutex<Vec<Replica>>);

struct Replica {
    gpu: Gpu,
    /// Its elements' places in the storage.
    place: Range<usize>,
    buffer: Buffer,
}

impl Replicas {
    fn lock(&self) -> MutexGuard<'_, Vec<Replica>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the values to the host, unless they are there by now. If the host has none, the first
    /// replica covers the complete storage.
    pub(super) fn download<'s>(
        &self,
        values: &'s OnceLock<Vec<u32>>,
    ) -> Result<&'s [u32], DeviceError> {
        let replicas = self.lock();
        if values.get().is_none()
            && let Some(whole) = replicas.first()
        {
            let _ = values.set(whole.gpu.download(&whole.buffer)?);
        }
        Ok(values.get().map_or(&[], |values| values))
    }
}

impl<E: Element> Tensor<'_, E> {
    /// Adds a copy of the tensor on that device, which every clone and view shares. Does nothing if
    /// there is one.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::NeverFits`](breakeven_types::DeviceErrorKind::NeverFits) before anything
    /// is allocated; whatever the device reports.
    pub fn to(&self, gpu: &Gpu) -> Result<Self, DeviceError> {
        if self.find(&self.replicas(), gpu).is_none() {
            let values = self.host()?;
            let mut replicas = self.replicas();
            // Another thread may have been faster.
            if self.find(&replicas, gpu).is_none() {
                replicas.push(Replica {
                    buffer: gpu.upload(bytemuck::cast_slice(values))?,
                    gpu: gpu.clone(),
                    place: self.place(),
                });
            }
        }
        Ok(self.clone())
    }

    /// The devices that have a copy of all of it.
    pub fn devices(&self) -> Vec<DeviceId> {
        let replicas = self.replicas();
        let whole = replicas.iter().filter(|replica| self.is_inside(replica));
        whole.map(|replica| replica.gpu.id().clone()).collect()
    }

    /// Returns true if the device has a copy of all of it.
    pub(crate) fn is_on(&self, gpu: &Gpu) -> bool {
        self.find(&self.replicas(), gpu).is_some()
    }

    /// It on the device: from its copy there, else sent for this once.
    pub(crate) fn buffer(&self, gpu: &Gpu) -> Result<Buffer, DeviceError> {
        let found = self.find(&self.replicas(), gpu);
        let Some((buffer, first)) = found else {
            return gpu.send(bytemuck::cast_slice(self.host()?));
        };
        match buffer.part(4 * first, 4 * self.len(), gpu.alignment()) {
            Some(part) => Ok(part),
            // A device binds memory only at some places.
            None => Ok(gpu.copy(&buffer, as_u32("the view", first)?, self.len())),
        }
    }

    /// Returns the copy on that device that contains this tensor, and where in it the tensor
    /// begins.
    fn find(&self, replicas: &[Replica], gpu: &Gpu) -> Option<(Buffer, usize)> {
        let mut there = replicas.iter().filter(|replica| replica.gpu.is(gpu));
        let replica = there.find(|replica| self.is_inside(replica))?;
        Some((replica.buffer.clone(), self.first - replica.place.start))
    }

    fn is_inside(&self, replica: &Replica) -> bool {
        let place = self.place();
        replica.place.start <= place.start && place.end <= replica.place.end
    }

    fn replicas(&self) -> MutexGuard<'_, Vec<Replica>> {
        self.storage.replicas.lock()
    }
}

impl<E: Element> Tensor<'static, E> {
    /// A tensor of the values that `fill` writes, which are zero before, in memory that the device
    /// reads at the speed of its bus: page-locked on CUDA, ordinary elsewhere. Page-locked memory
    /// takes long to allocate and cannot be swapped out: for what is sent often.
    ///
    /// # Errors
    ///
    /// As [`Tensor::new`] for the shape;
    /// [`DeviceErrorKind::NeverFits`](breakeven_types::DeviceErrorKind::NeverFits) for more than
    /// the device takes; [`OutOfMemory`](breakeven_types::DeviceErrorKind::OutOfMemory) if the
    /// system locks no more pages; whatever the device reports.
    pub fn pinned(
        gpu: &Gpu,
        shape: &[usize],
        fill: impl FnOnce(&mut [E]),
    ) -> Result<Self, DeviceError> {
        check_has_batch(shape)?;
        let len = product("the tensor", shape)?;
        match gpu.page_locked(len)? {
            Some(mut words) => {
                fill(bytemuck::cast_slice_mut(words.as_mut()));
                Ok(Self::of(Host::PageLocked(words), shape))
            }
            None => {
                let mut values = with_room(len);
                values.resize(len, E::zeroed());
                fill(&mut values);
                Ok(Self::new(values, shape)?)
            }
        }
    }

    pub(crate) fn on_device(gpu: &Gpu, buffer: Buffer, shape: &[usize]) -> Self {
        let tensor = Self::of(Host::Owned(OnceLock::new()), shape);
        let place = tensor.place();
        tensor.replicas().push(Replica {
            gpu: gpu.clone(),
            place,
            buffer,
        });
        tensor
    }
}
