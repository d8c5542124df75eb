//! A GPU's peaks: bandwidth, arithmetic and shared memory by its own clock, launch latency and
//! transfer rates by the host's.

use breakeven_profile::profile::{Bandwidth, Peak};
use breakeven_profile::recorder::Clock;
use breakeven_profile::stats;
use cubecl::features::AtomicUsage;
use cubecl::prelude::*;

use super::{REPEATS, WORKING_SETS};
use crate::error::DeviceError;
use crate::gpu::{Buffer, Gpu, grid, with_client};

const UNITS: u32 = 256;

/// Multiply-adds of one unit in one launch.
const ROUNDS: u32 = 2_048;
const CHAINS: u32 = 8;

/// A copy that takes longer than this, in seconds, is the last one.
const SLOW_S: f64 = 0.03;

/// Accesses to shared memory of one unit in one launch.
const ACCESSES: u32 = 4_096;

/// Bytes of one measured transfer.
const TRANSFER: usize = 32 << 20;

/// Launches from which the latency's median is taken.
const LAUNCHES: usize = 50;

#[cube(launch_unchecked)]
fn copy<N: Size>(from: &Array<Vector<f32, N>>, to: &mut Array<Vector<f32, N>>) {
    if ABSOLUTE_POS < to.len() {
        to[ABSOLUTE_POS] = from[ABSOLUTE_POS];
    }
}

/// Written as a product and a sum, which compilers fuse if the device has a fused multiply-add; an
/// explicit one is emulated if it has not.
#[cube(launch_unchecked)]
fn multiply_adds(out: &mut Array<f32>, factor: f32, addend: f32, #[comptime] rounds: u32) {
    let start = f32::cast_from(UNIT_POS_X);
    let mut a = start;
    let mut b = start + 1.0f32;
    let mut c = start + 2.0f32;
    let mut d = start + 3.0f32;
    let mut e = start + 4.0f32;
    let mut f = start + 5.0f32;
    let mut g = start + 6.0f32;
    let mut h = start + 7.0f32;
    for _ in 0..rounds {
        a = a * factor + addend;
        b = b * factor + addend;
        c = c * factor + addend;
        d = d * factor + addend;
        e = e * factor + addend;
        f = f * factor + addend;
        g = g * factor + addend;
        h = h * factor + addend;
    }
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = a + b + c + d + e + f + g + h;
    }
}

/// Each unit follows a chain of words in shared memory, `rounds` times eight accesses that wait
/// for each other. Units that run in step are at words of different banks.
#[cube(launch_unchecked)]
fn chase(out: &mut Array<u32>, step: u32, #[comptime] rounds: u32, #[comptime] atomic: bool) {
    let mut at = UNIT_POS_X;
    let next = (UNIT_POS_X + step) % UNITS;
    if atomic {
        let words = SharedMemory::<Atomic<u32>>::new(comptime!(UNITS as usize));
        words[UNIT_POS_X as usize].store(next);
        sync_cube();
        for _ in 0..rounds {
            #[unroll]
            for _ in 0..8u32 {
                at = words[at as usize].fetch_add(0u32);
            }
        }
    } else {
        let mut words = SharedMemory::<u32>::new(comptime!(UNITS as usize));
        words[UNIT_POS_X as usize] = next;
        sync_cube();
        for _ in 0..rounds {
            #[unroll]
            for _ in 0..8u32 {
                at = words[at as usize];
            }
        }
    }
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = at;
    }
}

/// Measures everything on an open GPU; takes a second or two.
///
/// # Errors
///
/// Whatever the device reports.
pub fn measure_gpu(gpu: &Gpu) -> Result<Peak, DeviceError> {
    let clock = Clock::new();
    let largest = gpu.max_buffer_bytes();
    let mut memory = Vec::new();
    for set in WORKING_SETS {
        if set / 2 > largest {
            break;
        }
        let bytes_per_s = copy_rate(gpu, set)?;
        memory.push(Bandwidth {
            working_set_bytes: set,
            bytes_per_s,
        });
        // A device this slow shows nothing new in a larger set.
        if set as f64 / bytes_per_s > SLOW_S {
            break;
        }
    }
    let (upload, download) = transfer_rates(gpu, &clock)?;
    let peak = Peak {
        device: gpu.id().to_string(),
        memory_bytes_per_s: memory.last().map(|largest| largest.bytes_per_s),
        memory,
        flops_per_s: Some(arithmetic_rate(gpu)?),
        launch_ns: Some(launch_latency(gpu, &clock)?),
        upload_bytes_per_s: Some(upload),
        download_bytes_per_s: Some(download),
        shared_accesses_per_s: Some(access_rate(gpu, false)?),
        shared_atomics_per_s: match has_atomics(gpu) {
            true => Some(access_rate(gpu, true)?),
            false => None,
        },
        access_ns: Some(access_latency(gpu)?),
    };
    gpu.memory().trim();
    Ok(peak)
}

/// Bytes read and written per second by a copy within the device's memory.
fn copy_rate(gpu: &Gpu, working_set: u64) -> Result<f64, DeviceError> {
    let len = usize::try_from(working_set / 8).unwrap_or(usize::MAX) / 4 * 4;
    let from = filled(gpu, len)?;
    let to = filled(gpu, len)?;
    let launch = || {
        let count = grid(len / 4, UNITS);
        with_client!(gpu, client => {
            // SAFETY: both buffers hold `len` elements, a multiple of the four
            // lanes, and the kernel stops at the output's length.
            unsafe {
                copy::launch_unchecked(client, count, CubeDim::new_1d(UNITS), 4, from.array(), to.array());
            }
        });
        Ok(())
    };
    best(gpu, launch, 8.0 * len as f64)
}

fn arithmetic_rate(gpu: &Gpu) -> Result<f64, DeviceError> {
    let flops = 2.0 * f64::from(CHAINS) * f64::from(ROUNDS);
    full_rate(gpu, flops, |out, len| {
        let count = grid(len, UNITS);
        with_client!(gpu, client => {
            // SAFETY: the buffer holds `len` elements and the kernel stops at its length.
            unsafe {
                multiply_adds::launch_unchecked(
                    client, count, CubeDim::new_1d(UNITS), out.array(), 0.999_9, 1e-4, ROUNDS,
                );
            }
        });
        Ok(())
    })
}

/// The rate of launches whose units do `each` work, with enough units to fill a large device:
/// grown until a launch takes a millisecond.
fn full_rate(
    gpu: &Gpu,
    each: f64,
    launch: impl Fn(&Buffer, usize) -> Result<(), DeviceError> + Sync,
) -> Result<f64, DeviceError> {
    let mut len = 1 << 10;
    loop {
        let out = filled(gpu, len)?;
        let launch = || launch(&out, len);
        gpu.timed(launch)?;
        let time = gpu.timed(launch)?;
        if time.as_secs_f64() > 1e-3 || len >= 1 << 24 {
            return best(gpu, launch, each * len as f64);
        }
        len *= 4;
    }
}

fn has_atomics(gpu: &Gpu) -> bool {
    let element = u32::as_type_native_unchecked().elem_type();
    let atomic = Type::new(StorageType::Atomic(element));
    let usage = with_client!(gpu, client => client.properties().atomic_type_usage(atomic));
    usage.contains(AtomicUsage::Add)
}

/// Launches `len` units that each make [`ACCESSES`].
fn access(gpu: &Gpu, out: &Buffer, len: usize, atomic: bool) -> Result<(), DeviceError> {
    let count = grid(len, UNITS);
    with_client!(gpu, client => {
        // SAFETY: the buffer holds `len` elements and the kernel stops at its length; all words
        // of shared memory hold positions in it.
        unsafe {
            chase::launch_unchecked(
                client, count, CubeDim::new_1d(UNITS), out.array(), 1, ACCESSES / 8, atomic,
            );
        }
    });
    Ok(())
}

/// Accesses to shared memory per second, of a full device.
fn access_rate(gpu: &Gpu, atomic: bool) -> Result<f64, DeviceError> {
    full_rate(gpu, f64::from(ACCESSES), |out, len| {
        access(gpu, out, len, atomic)
    })
}

/// Time of an access that waits for the one before it, ns, in a cube that has the device alone.
fn access_latency(gpu: &Gpu) -> Result<f64, DeviceError> {
    let len = UNITS as usize;
    let out = filled(gpu, len)?;
    let per_s = best(gpu, || access(gpu, &out, len, false), f64::from(ACCESSES))?;
    Ok(1e9 / per_s)
}

/// `work` over the least device time of a few launches, after one that does not count.
fn best(
    gpu: &Gpu,
    launch: impl Fn() -> Result<(), DeviceError> + Sync,
    work: f64,
) -> Result<f64, DeviceError> {
    gpu.timed(&launch)?;
    let mut rate = 0.0_f64;
    for _ in 0..REPEATS {
        let seconds = gpu.time_of(&launch)?.as_secs_f64();
        if seconds > 0.0 {
            rate = rate.max(work / seconds);
        }
    }
    Ok(rate)
}

/// A buffer of `len` elements that are not zero.
fn filled(gpu: &Gpu, len: usize) -> Result<Buffer, DeviceError> {
    gpu.upload(bytemuck::cast_slice(&vec![1.5_f32; len]))
}

fn launch_latency(gpu: &Gpu, clock: &Clock) -> Result<f64, DeviceError> {
    let scratch = filled(gpu, 1)?;
    for _ in 0..5 {
        gpu.empty_launch(&scratch)?;
    }
    let launch = |_| {
        let start = clock.now();
        gpu.empty_launch(&scratch)?;
        Ok(clock.ns_since(start) as f64)
    };
    let times = (0..LAUNCHES).map(launch);
    let times = times.collect::<Result<Vec<f64>, DeviceError>>()?;
    Ok(stats::median(&times).unwrap_or(f64::NAN))
}

/// Bytes per second to the device and back, the library's own copies included: every batch has them
/// too.
fn transfer_rates(gpu: &Gpu, clock: &Clock) -> Result<(f64, f64), DeviceError> {
    let limit = usize::try_from(gpu.max_buffer_bytes()).unwrap_or(usize::MAX);
    let bytes = TRANSFER.min(limit);
    let host: Vec<f32> = (0..bytes / 4).map(|i| i as f32).collect();
    let (mut up, mut down) = (0.0_f64, 0.0_f64);
    for _ in 0..=REPEATS {
        let start = clock.now();
        let buffer = gpu.upload(bytemuck::cast_slice(&host))?;
        up = up.max(bytes as f64 / clock.ns_since(start).max(1) as f64 * 1e9);
        let start = clock.now();
        std::hint::black_box(gpu.download::<f32>(&buffer)?);
        down = down.max(bytes as f64 / clock.ns_since(start).max(1) as f64 * 1e9);
    }
    Ok((up, down))
}
