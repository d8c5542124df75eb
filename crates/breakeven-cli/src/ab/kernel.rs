//! `breakeven ab --kernel` and `--chain`: one kernel's calls, in two configurations.

use std::time::Instant;

use anyhow::{Context, Result, bail};
#[cfg(feature = "gpu")]
use breakeven::tune::Configuration;
use breakeven::{Operator, Stages, Tensor};

use super::Time;
use crate::ab::args::AbArgs;
use crate::engine::suite::{Chained, Over, Workload, with_operator};

/// How a kernel runs, as it was typed.
#[derive(Debug, Default)]
struct Way {
    device: Option<String>,
    keeps_memory: bool,
    is_default: bool,
    is_fused: bool,
    size: Option<usize>,
    window: Option<usize>,
    values: Vec<(String, u32)>,
}

impl Way {
    fn of(text: &str) -> Result<Self> {
        let mut way = Self {
            keeps_memory: true,
            ..Self::default()
        };
        for part in text.split(',').map(str::trim) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let number = || {
                let number = value.parse::<u32>().ok().filter(|number| *number > 0);
                number.with_context(|| format!("{part:?}: give {name} a whole number above 0"))
            };
            match (name, value) {
                ("tuned" | "separate", "") => {}
                ("default", "") => way.is_default = true,
                ("fused", "") => way.is_fused = true,
                ("pool", "on") => way.keeps_memory = true,
                ("pool", "off") => way.keeps_memory = false,
                ("device", device) if !device.is_empty() => way.device = Some(device.to_owned()),
                ("size", _) => way.size = Some(number()? as usize),
                ("window", _) => way.window = Some(number()? as usize),
                (name, value) if !value.is_empty() => way.values.push((name.to_owned(), number()?)),
                _ => bail!(
                    "{part:?}: give a list of device=cpu|gpu|ID, pool=on|off, default, tuned, \
                     size=N, window=N, separate, fused, and NAME=VALUE of what is tunable"
                ),
            }
        }
        Ok(way)
    }

    /// True if an option was given that only a GPU has.
    fn is_for_gpu(&self, on_device: bool) -> bool {
        on_device || self.is_default || !self.keeps_memory || !self.values.is_empty()
    }
}

/// A side: an operator on its inputs, its device and its configuration.
struct Side {
    operator: Stages,
    inputs: Vec<Tensor<'static, u32>>,
    on_device: bool,
    #[cfg(feature = "gpu")]
    gpu: Option<(breakeven::gpu::Gpu, Way)>,
}

/// Calls `body` with the operator's name and with a function that times a call.
pub(super) fn timed<R>(
    args: &AbArgs,
    body: impl FnOnce(String, Time<'_>) -> Result<R>,
) -> Result<R> {
    let side = |text: &str| Side::of(args, Way::of(text)?).with_context(|| format!("{text:?}"));
    let (a, b) = (side(&args.a.text)?, side(&args.b.text)?);
    let name = a.operator.name();
    let name = format!("{name}, {} against {}", args.b.text, args.a.text);
    body(name, &mut |is_b| {
        if is_b { b.time() } else { a.time() }.map(Some)
    })
}

impl Side {
    fn of(args: &AbArgs, way: Way) -> Result<Self> {
        let (stages, inputs) = match args.kernel {
            Some(kernel) => {
                let workload = match (way.size, way.window) {
                    (Some(_), Some(_)) => bail!("give a size or a window, not both"),
                    (Some(size), None) => Workload::at(kernel, Over::Size, size)?,
                    (None, Some(window)) => Workload::at(kernel, Over::Window, window)?,
                    (None, None) => Workload::new(kernel, 1)?,
                };
                workload.build()?.stages()
            }
            None => {
                if way.window.is_some() {
                    bail!("a window is for --kernel; a chain's kernels have their own");
                }
                let kernels: Vec<String> = args.chain.iter().map(ToString::to_string).collect();
                let Chained { made, inputs, .. } = Chained::new(&kernels, way.size, 1)?;
                let stages = with_operator!(made, chain => Stages::one(chain));
                (stages, inputs.iter().map(Tensor::cast).collect())
            }
        };
        let operator = match way.is_fused {
            true => {
                let fused = stages.fused().cloned();
                fused.with_context(|| format!("{} has no fused form", stages.name()))?
            }
            false => stages,
        };
        let on_device = args.on_device;
        #[cfg(not(feature = "gpu"))]
        Self::opened(way, on_device)?;
        Ok(Self {
            operator,
            inputs,
            on_device,
            #[cfg(feature = "gpu")]
            gpu: Self::opened(way, on_device)?,
        })
    }

    #[cfg(not(feature = "gpu"))]
    fn opened(way: Way, on_device: bool) -> Result<()> {
        if way.device.as_deref().is_some_and(|device| device != "cpu") || way.is_for_gpu(on_device)
        {
            bail!("this build has no GPU code: the CPU runs the kernel, and has no such options");
        }
        Ok(())
    }

    /// The device to run on, unless that is the CPU.
    #[cfg(feature = "gpu")]
    fn opened(way: Way, on_device: bool) -> Result<Option<(breakeven::gpu::Gpu, Way)>> {
        use crate::plan::{TIMEOUT_S, open, this_machine};

        let gpu = match way.device.as_deref() {
            Some("cpu") => None,
            device => {
                let found = crate::engine::session::detect(TIMEOUT_S, "interrupted")?;
                this_machine(&found, device)?.gpus.into_iter().next()
            }
        };
        match gpu {
            Some(gpu) => Ok(Some((open(&gpu)?, way))),
            None if way.is_for_gpu(on_device) => bail!(
                "the CPU runs it, and these options are for a GPU; `device=gpu` also selects a \
                 software GPU"
            ),
            None => Ok(None),
        }
    }

    /// Time of a call, ns.
    fn time(&self) -> Result<f64> {
        #[cfg(feature = "gpu")]
        if let Some((gpu, way)) = &self.gpu {
            return self.time_on(gpu, way);
        }
        debug_assert!(!self.on_device, "only a GPU has a device time");
        let start = Instant::now();
        std::hint::black_box(self.operator.on_cpu(&self.inputs)?);
        Ok(start.elapsed().as_secs_f64() * 1e9)
    }

    #[cfg(feature = "gpu")]
    fn time_on(&self, gpu: &breakeven::gpu::Gpu, way: &Way) -> Result<f64> {
        let set = Configuration::of(
            way.values
                .iter()
                .map(|(name, value)| (name.as_str(), *value)),
        );
        if way.is_default || !way.values.is_empty() {
            for stage in self.operator.iter() {
                gpu.set_kernel_config(stage.name(), Some(set.clone()));
            }
        }
        if !way.keeps_memory {
            gpu.memory().trim();
        }
        if self.on_device {
            let call = gpu.prepare(&self.operator, &self.inputs)?;
            return Ok(call.kernel_time()?.as_secs_f64() * 1e9);
        }
        let start = Instant::now();
        std::hint::black_box(gpu.run(&self.operator, &self.inputs)?);
        Ok(start.elapsed().as_secs_f64() * 1e9)
    }
}
