//! The measuring loops: the same steps of a call on every device, from inputs in host memory to the
//! output in host memory.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(feature = "gpu")]
use breakeven::gpu::Gpu;
use breakeven::kernels::{MatrixMultiply, TensorCoreMatmul};
#[cfg(feature = "gpu")]
use breakeven::tune::Tunable;
use breakeven::tune::{TunedKernel, Tuner};
#[cfg(feature = "gpu")]
use breakeven::{DeviceError, Inputs};
use breakeven::{Error, Operator, Stages, Tensor, View, Work};
use breakeven_profile::profile::{Device, Operation, Run};
use breakeven_profile::recorder::Clock;
use bytemuck::Zeroable;

use super::energy::CallMeter;
use super::table::{Made, with_operator};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Iterations {
    /// Warm-up calls; the first of them is reported separately.
    pub(crate) warmup: u32,
    /// Measured calls.
    pub(crate) measured: u32,
    /// Time limit after which no further call begins; at least one is made.
    pub(crate) at_most: Option<Duration>,
}

/// Shortest sample: shorter calls are grouped until they take this long, so that reading the clock,
/// some 20 ns, is 1 % of it.
const SHORT_NS: f64 = 2_000.0;

/// Calls per sample, if one call takes `ns`.
#[expect(clippy::cast_sign_loss, reason = "neither is negative")]
fn lot(call_ns: f64) -> u32 {
    (SHORT_NS / call_ns.max(1.0)).ceil().max(1.0) as u32
}

/// The mean over this many calls, to a thousandth of a nanosecond.
fn per_call(ns: u64, calls: u32) -> f64 {
    (ns as f64 * 1e3 / f64::from(calls)).round() / 1e3
}

/// Receives the operation after each call, with all that was measured so far.
pub(crate) type Report<'r> = dyn FnMut(&Operation) + 'r;

/// Times of the phases of calls, ns, by the phase's name in a profile.
type Phases = BTreeMap<String, Vec<f64>>;

/// A kernel on its inputs.
pub(crate) struct Problem {
    operator: Made,
    inputs: Vec<Tensor<'static>>,
}

impl Problem {
    /// Fails if the operator does not accept the inputs.
    pub(super) fn new(operator: Made, inputs: Vec<Tensor<'static>>) -> Result<Self, Error> {
        let problem = Self { operator, inputs };
        with_operator!(&problem.operator, operator => operator.output_shape(&problem.shapes()))?;
        Ok(problem)
    }

    fn shapes(&self) -> Vec<&[usize]> {
        self.inputs.iter().map(Tensor::shape).collect()
    }

    /// The operator as a chain of one stage, with its inputs, whatever their types.
    pub(crate) fn stages(&self) -> (Stages, Vec<Tensor<'static, u32>>) {
        let stages = with_operator!(&self.operator, operator => Stages::one(Arc::clone(operator)));
        (stages, self.inputs.iter().map(Tensor::cast).collect())
    }

    /// The operator's name.
    pub(crate) fn name(&self) -> &str {
        with_operator!(&self.operator, operator => operator.name())
    }

    /// Tunes the CPU form; none if it has nothing to tune.
    pub(crate) fn tune_host(&self, tuner: &Tuner) -> Result<Option<TunedKernel>, Error> {
        with_operator!(&self.operator, operator => match operator.host_tunables().is_empty() {
            true => Ok(None),
            false => tuner.tune_host(&**operator, &self.inputs).map(Some),
        })
    }

    /// Tunes the GPU form; none if it has nothing to tune.
    #[cfg(feature = "gpu")]
    pub(crate) fn tune(
        &self,
        gpu: &Gpu,
        tuner: &Tuner,
    ) -> Result<Option<TunedKernel>, DeviceError> {
        with_operator!(&self.operator, operator => {
            let shapes = self.shapes();
            let space = operator.device().map(|form| form.space(gpu, &shapes));
            match space.is_none_or(|space| space.tunables.is_empty()) {
                true => Ok(None),
                false => tuner.tune(gpu, &**operator, &self.inputs).map(Some),
            }
        })
    }

    pub(crate) fn work(&self) -> Work {
        with_operator!(&self.operator, operator => operator.work(&self.shapes()))
    }

    /// Memory of a call, bytes: inputs, parameters, output and scratch.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let shapes = self.shapes();
        let scratch = with_operator!(&self.operator, operator => operator.scratch_bytes(&shapes));
        self.work().bytes.saturating_add(scratch)
    }

    /// Adds a run of the CPU form, on the current rayon pool, to the operation. The text, if any,
    /// says why a counter that worked before reported no energy.
    pub(crate) fn measure_cpu(
        &self,
        (iterations, energy): (Iterations, Option<&CallMeter>),
        clock: &Clock,
        filled: &mut Operation,
        report: &mut Report<'_>,
    ) -> Result<Option<String>, Error> {
        with_operator!(&self.operator, operator => {
            let elements = usize::try_from(self.work().elements).unwrap_or(usize::MAX);
            let mut out = vec![Zeroable::zeroed(); elements];
            let mut views = Vec::new();
            for input in &self.inputs {
                views.push(View { shape: input.shape(), values: input.host()? });
            }
            let mut call = |calls: u32| {
                let start = clock.now();
                for _ in 0..calls {
                    operator.cpu(&views, black_box(&mut out))?;
                    black_box(&out);
                }
                Ok::<_, Error>(per_call(clock.ns_since(start), calls))
            };
            let energy = energy.map(|meter| (meter, Device::CPU));
            let unknown = measured(iterations, energy, filled, report, &mut call, &mut |_| Ok(()))?;
            self.add_error(iterations, filled, || Some(bytemuck::cast_slice(&out).to_vec()));
            Ok(unknown)
        })
    }

    /// Adds the largest error of an output, as a fraction of the largest exact value, if the
    /// operator rounds its inputs. Nothing more is computed where the time is limited, as in a
    /// sweep; the times stay valid if this fails.
    fn add_error(
        &self,
        iterations: Iterations,
        filled: &mut Operation,
        output: impl FnOnce() -> Option<Vec<f32>>,
    ) {
        if self.name() != TensorCoreMatmul.name() || iterations.at_most.is_some() {
            return;
        }
        let exact = MatrixMultiply.on_cpu(&self.inputs).ok();
        let exact = exact.and_then(|exact| exact.into_vec().ok());
        let Some((found, exact)) = output().zip(exact) else {
            return;
        };
        let differences = found.iter().zip(&exact).map(|(found, exact)| found - exact);
        // Not a number is the largest.
        let error = differences.map(f32::abs).max_by(f32::total_cmp);
        let largest = exact.iter().copied().map(f32::abs).max_by(f32::total_cmp);
        if let (Some(error), Some(largest)) = (error, largest) {
            let error = f64::from(error) / f64::from(largest);
            let key = "largest_error".to_owned();
            filled.attributes.insert(key, error.into());
        }
    }

    /// Adds a run of the GPU form, as [`measure_cpu`](Self::measure_cpu) does: complete calls
    /// (upload, kernel, download), and after each one its phases, with a wait after every phase. If
    /// the device fails, the operation has the earlier measurements.
    #[cfg(feature = "gpu")]
    pub(crate) fn measure_gpu(
        &self,
        gpu: &Gpu,
        (iterations, energy): (Iterations, Option<&CallMeter>),
        clock: &Clock,
        filled: &mut Operation,
        report: &mut Report<'_>,
    ) -> Result<Option<String>, DeviceError> {
        with_operator!(&self.operator, operator => {
            let mut call = |calls: u32| {
                let mut output = None;
                let start = clock.now();
                for _ in 0..calls {
                    output = Some(gpu.run(&**operator, black_box(&self.inputs))?);
                }
                let ns = clock.ns_since(start);
                // Its memory is freed outside the timed section.
                black_box(&output);
                Ok(per_call(ns, calls))
            };
            // The state after the first calls, which allocate.
            let mut first = None;
            let energy = energy.map(|meter| (meter, gpu.id().as_str()));
            let mut each = |phases: &mut Phases| {
                first.get_or_insert_with(|| gpu.memory().get_stats());
                self::phases(gpu, &**operator, &self.inputs, clock, phases)
            };
            let unknown = measured(iterations, energy, filled, report, &mut call, &mut each)?;
            self.add_error(iterations, filled, || {
                let found = gpu.run(&**operator, &self.inputs).ok()?.into_vec().ok()?;
                Some(bytemuck::cast_slice(&found).to_vec())
            });
            let attributes = &mut filled.attributes;
            if let Some(first) = first {
                let now = gpu.memory().get_stats().since(&first);
                let memory = serde_json::json!({
                    "calls": now.calls,
                    "hits": now.hits,
                    "reserved_bytes": now.bytes_reserved,
                });
                attributes.insert("device_memory".to_owned(), memory);
            }
            // The times stay valid even if one more call fails.
            if let (Ok(call), Some(form)) = (gpu.prepare(&**operator, &self.inputs), operator.device())
            {
                let (used, space) = (call.configuration(), form.space(gpu, &self.shapes()));
                if let Some(counts) = form.counts(&gpu.properties(), &self.shapes(), used) {
                    counts.write(attributes);
                }
                let is_tuned = |tunable: &Tunable| used.get(tunable.name) != Some(tunable.default);
                if !used.is_empty() {
                    let is_tuned = space.tunables.iter().any(is_tuned);
                    attributes.insert("configuration".to_owned(), used.to_string().into());
                    attributes.insert("tuned".to_owned(), is_tuned.into());
                }
            }
            Ok(unknown)
        })
    }
}

/// Adds a run to the operation: calls, and after each one the times of its phases, the first of
/// which are discarded. Then measures the energy of further calls on that device.
fn measured<E>(
    iterations: Iterations,
    energy: Option<(&CallMeter, &str)>,
    filled: &mut Operation,
    report: &mut Report<'_>,
    call: &mut dyn FnMut(u32) -> Result<f64, E>,
    phases: &mut dyn FnMut(&mut Phases) -> Result<(), E>,
) -> Result<Option<String>, E> {
    filled.runs = vec![Run::default()];
    let mut fastest_ns = f64::INFINITY;
    for index in 0..iterations.warmup {
        let ns = call(1)?;
        fastest_ns = fastest_ns.min(ns);
        let run = &mut filled.runs[0];
        match index {
            0 => run.first_call_ns = Some(ns),
            _ => run.warmup_ns.push(ns),
        }
        report(filled);
    }
    if iterations.warmup > 0 {
        phases(&mut Phases::new())?;
    }
    let calls = lot(fastest_ns);
    if calls > 1 {
        let attributes = &mut filled.attributes;
        attributes.insert("calls_per_sample".to_owned(), calls.into());
    }
    let began = Instant::now();
    for done in 0..iterations.measured {
        let is_late = |limit| began.elapsed() > limit;
        if done > 0 && iterations.at_most.is_some_and(is_late) {
            break;
        }
        filled.runs[0].samples_ns.push(call(calls)?);
        report(filled);
        phases(&mut filled.runs[0].phases_ns)?;
        report(filled);
    }
    let Some((meter, device)) = energy else {
        return Ok(None);
    };
    match meter.of(device, calls, call)? {
        Some(Ok(energy)) => filled.runs[0].energy = Some(energy),
        Some(Err(why)) => return Ok(Some(why)),
        None => {}
    }
    Ok(None)
}

/// Runs one call in its phases and adds the time of each as soon as it is done.
#[cfg(feature = "gpu")]
fn phases<O: Operator + ?Sized>(
    gpu: &Gpu,
    operator: &O,
    inputs: &dyn Inputs<O::In>,
    clock: &Clock,
    phases: &mut Phases,
) -> Result<(), DeviceError> {
    let mut add = |phase: &str, ns| phases.entry(phase.to_owned()).or_default().push(ns as f64);
    let scratch = gpu.upload(&[0; 4])?;
    // Host to device, with a wait.
    let start = clock.now();
    let call = gpu.prepare(operator, black_box(inputs))?;
    gpu.synchronize()?;
    add("upload", clock.ns_since(start));
    // An empty kernel, from its launch until the host knows that it is done.
    let start = clock.now();
    gpu.empty_launch(&scratch)?;
    add("launch", clock.ns_since(start));
    // The kernel by the device's clock.
    let kernel = call.kernel_time()?.as_nanos();
    add("kernel", u64::try_from(kernel).unwrap_or(u64::MAX));
    // Device to host.
    let start = clock.now();
    black_box(call.download()?);
    add("download", clock.ns_since(start));
    Ok(())
}
