//! Copies by CUDA's driver: page-locked memory at once, much other memory through a [`Ring`].

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{NonNull, from_mut};
use std::sync::Mutex;

use cubecl::client::ComputeClient;
use cubecl::cuda::CudaRuntime;
use cudarc::driver::DriverError;
use cudarc::driver::result::{ctx, device, free_host, init, malloc_host, primary_ctx, stream};
use cudarc::driver::result::{memcpy_dtod_async, memcpy_dtoh_async, memcpy_htod_async};
use cudarc::driver::sys::{
    CU_MEMHOSTALLOC_PORTABLE, CUcontext, CUdeviceptr, CUmemorytype, CUpointer_attribute, CUstream,
    cuPointerGetAttribute,
};

use super::Buffer;
use super::faults::{Failure, OnDevice as _, of_text};
use super::ring::{Bus, RING_FROM, Ring};
use crate::error::DeviceError;
use crate::large_pages::with_room;
use crate::locked;
use crate::tensor::Element;

/// Copies that CUDA's driver makes, each on a stream of ours that is waited for.
pub(super) struct CudaCopies {
    pub(super) client: ComputeClient<CudaRuntime>,
    ring: Ring<Driver>,
}

impl CudaCopies {
    pub(super) fn open(
        client: ComputeClient<CudaRuntime>,
        ordinal: usize,
    ) -> Result<Self, DeviceError> {
        init().on_device()?;
        let device = device::get(i32::try_from(ordinal).unwrap_or(i32::MAX)).on_device()?;
        // SAFETY: the device was just found.
        let context = unsafe { primary_ctx::retain(device) }.on_device()?;
        let ring = Ring::new(Driver {
            context: Context(context),
            idle: Mutex::default(),
        });
        Ok(Self { client, ring })
    }

    /// Where a buffer is, for as long as it lives.
    pub(super) fn place(&self, buffer: &Buffer) -> Result<CUdeviceptr, DeviceError> {
        let place = self.client.get_resource(buffer.handle()).on_device()?;
        Ok(place.resource().ptr)
    }

    /// # Safety
    ///
    /// At that place there is room for the bytes, which nothing else uses meanwhile.
    pub(super) unsafe fn to_device(
        &self,
        place: CUdeviceptr,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        let (driver, bytes) = (&self.ring.bus, as_uninit(bytes));
        if bytes.len() >= RING_FROM && !driver.is_page_locked(bytes) {
            // SAFETY: the caller vouches for the place …
            let copied = unsafe { self.ring.to_device(bytes, place) };
            if copied.is_ok() {
                return copied;
            }
            // There may be no page-locked memory; the driver does without.
        }
        // SAFETY: … and here.
        unsafe { driver.up(bytes, place) }
    }

    /// # Safety
    ///
    /// At that place there are as many bytes, which nothing writes meanwhile.
    pub(super) unsafe fn to_host<E: Element>(
        &self,
        place: CUdeviceptr,
        bytes: usize,
    ) -> Result<Vec<E>, DeviceError> {
        let len = bytes / size_of::<E>();
        let mut found = with_room(len);
        let room = &mut found.spare_capacity_mut()[..len];
        // SAFETY: the same memory as bytes, which have no alignment.
        let room =
            unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), size_of_val(room)) };
        // SAFETY: the caller vouches for the place …
        let by_ring = bytes >= RING_FROM && unsafe { self.ring.to_host(place, room) }.is_ok();
        if !by_ring {
            // SAFETY: … and here.
            unsafe { self.ring.bus.down(place, room) }?;
        }
        // SAFETY: as many were copied, and any bits are an element.
        unsafe { found.set_len(len) };
        Ok(found)
    }

    /// # Safety
    ///
    /// There are as many bytes at `from`, and room for them at `to`; nothing else uses either
    /// meanwhile, but to read `from`.
    pub(super) unsafe fn on_device(
        &self,
        to: CUdeviceptr,
        from: CUdeviceptr,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        self.ring.bus.copy(|stream| {
            // SAFETY: the caller vouches for both places.
            unsafe { memcpy_dtod_async(to, from, bytes, stream) }
        })
    }

    /// Page-locked memory, all zero.
    pub(super) fn page_locked(&self, bytes: usize) -> Result<PageLockedWords, DeviceError> {
        let mut memory = self.ring.bus.block(bytes)?;
        memory.as_mut().fill(MaybeUninit::new(0));
        Ok(PageLockedWords(memory))
    }

    /// Returns true if that is the context that the copies are made in.
    pub(super) fn is_in(&self, context: CUcontext) -> bool {
        self.ring.bus.context.0 == context
    }

    /// Gives the blocks back that no transfer uses.
    pub(super) fn trim(&self) {
        self.ring.trim();
    }
}

fn as_uninit(bytes: &[u8]) -> &[MaybeUninit<u8>] {
    // SAFETY: a byte is one that may be uninitialized, and nobody writes to them.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// The context that CubeCL has too; it lasts as long as the process.
#[derive(Clone, Copy)]
struct Context(CUcontext);

struct Stream(CUstream);

// SAFETY: CUDA's contexts may be used from any thread …
unsafe impl Send for Context {}
// SAFETY: … by several at a time.
unsafe impl Sync for Context {}
// SAFETY: CUDA's streams may be used from any thread; one is a single call's at a time.
unsafe impl Send for Stream {}

/// CUDA's driver, as a way to a device's memory.
struct Driver {
    context: Context,
    idle: Mutex<Vec<Stream>>,
}

impl Driver {
    /// Starts a copy on a stream and waits for it.
    fn copy(
        &self,
        start: impl FnOnce(CUstream) -> Result<(), DriverError>,
    ) -> Result<(), DeviceError> {
        // SAFETY: the context is never given back.
        unsafe { ctx::set_current(self.context.0) }.on_device()?;
        let idle = locked(&self.idle).pop();
        let on = match idle {
            Some(stream) => stream,
            None => Stream(stream::create(stream::StreamKind::NonBlocking).on_device()?),
        };
        let started = start(on.0);
        // SAFETY: a stream of ours, which is never destroyed.
        let ended = unsafe { stream::synchronize(on.0) };
        locked(&self.idle).push(on);
        started.and(ended).on_device()
    }

    /// Returns true if the bus can read all of it: the program's own page-locked memory too.
    fn is_page_locked(&self, bytes: &[MaybeUninit<u8>]) -> bool {
        let ends = bytes.as_ptr_range();
        let known = |address: *const MaybeUninit<u8>| {
            let mut kind: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_DEVICE;
            let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
            // SAFETY: there is room for the answer; of other memory the driver knows nothing.
            let found = unsafe {
                let found: *mut c_void = from_mut(&mut kind).cast();
                cuPointerGetAttribute(found, attribute, address.addr() as u64)
            };
            found.result().is_ok() && kind == CUmemorytype::CU_MEMORYTYPE_HOST
        };
        // SAFETY: the context is never given back.
        let is_set = unsafe { ctx::set_current(self.context.0) }.is_ok();
        is_set && !bytes.is_empty() && known(ends.start) && known(ends.end.wrapping_sub(1))
    }
}

impl Bus for Driver {
    type Block = PageLocked;

    fn block(&self, bytes: usize) -> Result<PageLocked, DeviceError> {
        // SAFETY: the context is never given back.
        unsafe { ctx::set_current(self.context.0) }.on_device()?;
        // SAFETY: the memory is given back by `PageLocked`.
        let first = unsafe { malloc_host(bytes, CU_MEMHOSTALLOC_PORTABLE) }.on_device()?;
        let context = self.context;
        match NonNull::new(first.cast()) {
            Some(first) => Ok(PageLocked {
                context,
                first,
                bytes,
            }),
            None => Err(of_text("out of memory: no page-locked memory")),
        }
    }

    unsafe fn up(&self, bytes: &[MaybeUninit<u8>], place: u64) -> Result<(), DeviceError> {
        self.copy(|stream| {
            // SAFETY: the caller vouches for the place; the bytes are borrowed until the
            // stream was waited for.
            unsafe { memcpy_htod_async(place, bytes, stream) }
        })
    }

    unsafe fn down(&self, place: u64, room: &mut [MaybeUninit<u8>]) -> Result<(), DeviceError> {
        self.copy(|stream| {
            // SAFETY: the caller vouches for the place; the room is borrowed until the
            // stream was waited for.
            unsafe { memcpy_dtoh_async(room, place, stream) }
        })
    }
}

/// Page-locked memory of the host's, with anything in it.
struct PageLocked {
    context: Context,
    first: NonNull<MaybeUninit<u8>>,
    bytes: usize,
}

// SAFETY: memory that it alone has.
unsafe impl Send for PageLocked {}
// SAFETY: as above.
unsafe impl Sync for PageLocked {}

impl AsMut<[MaybeUninit<u8>]> for PageLocked {
    fn as_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: that is the memory, and it is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.bytes) }
    }
}

impl Drop for PageLocked {
    fn drop(&mut self) {
        // SAFETY: the context is never given back, and the memory is of `malloc_host`.
        unsafe {
            if ctx::set_current(self.context.0).is_ok() {
                // Without its context the process is ending.
                let _ = free_host(self.first.as_ptr().cast());
            }
        }
    }
}

/// Page-locked memory that was written, in words.
pub(crate) struct PageLockedWords(PageLocked);

impl AsRef<[u32]> for PageLockedWords {
    fn as_ref(&self) -> &[u32] {
        // SAFETY: the memory was written, and begins with a page.
        unsafe { std::slice::from_raw_parts(self.0.first.as_ptr().cast(), self.0.bytes / 4) }
    }
}

impl AsMut<[u32]> for PageLockedWords {
    fn as_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above, and it is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.0.first.as_ptr().cast(), self.0.bytes / 4) }
    }
}

impl Failure for DriverError {
    fn of_device(self) -> DeviceError {
        of_text(&format!("{self:?}"))
    }
}
