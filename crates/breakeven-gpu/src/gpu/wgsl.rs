//! A user's own shader as an operator.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use cubecl::ir::StorageType;
use cubecl::prelude::*;
use cubecl::server::{ExecutionMode, KernelArguments};
use cubecl::wgpu::AutoCompiler;
use cubecl::{CompilationError, CubeTask};
use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};
use wgpu::naga::{self, AddressSpace};

use super::Client;
use super::form::{DeviceForm, Launch};
use crate::error::{DeviceError, DeviceErrorKind, Error};
use crate::operator::{Operator, Parameter, View};
use crate::tensor::{Element, Tensor, shape};

type Cpu<In, Out> = dyn Fn(&[View<'_, In>], &mut [Out]) -> Result<(), Error> + Send + Sync;
type ShapeRule = dyn Fn(&[&[usize]]) -> Result<Vec<usize>, Error> + Send + Sync;
type FlopsRule = dyn Fn(&[&[usize]]) -> u64 + Send + Sync;
type GridRule = dyn Fn(&[usize]) -> [u32; 3] + Send + Sync;

/// A compute shader in WGSL with its CPU form, for devices by way of Vulkan, Metal or
/// DX12.
///
/// The shader's buffers are storage of group 0: bindings 0 and up are the inputs,
/// then the parameters, and the last one is the output, arrays of elements of 32 bits
/// whose `arrayLength` is the tensor's. Without another rule the output has the shape
/// of the first input, and there is an invocation for each of its elements.
///
/// ```
/// use breakeven_gpu::gpu::WgslOperator;
/// use breakeven_gpu::{Operator, Tensor};
///
/// let source = "
///     @group(0) @binding(0) var<storage, read> x: array<f32>;
///     @group(0) @binding(1) var<storage, read_write> out: array<f32>;
///     @compute @workgroup_size(64)
///     fn square(@builtin(global_invocation_id) id: vec3<u32>) {
///         if id.x < arrayLength(&out) { out[id.x] = x[id.x] * x[id.x]; }
///     }";
/// // SAFETY: the shader looks at no place past the arrays' length.
/// let square = unsafe {
///     WgslOperator::<f32, f32>::new("square", source, |inputs, out| {
///         for (out, x) in out.iter_mut().zip(inputs[0].values) {
///             *out = x * x;
///         }
///         Ok(())
///     })?
/// };
/// let x = Tensor::new(vec![3.0, 4.0], &[2, 1])?;
/// assert_eq!(square.on_cpu(&x)?.host()?, [9.0, 16.0]);
/// # Ok::<(), breakeven_types::Error>(())
/// ```
pub struct WgslOperator<In: Element, Out: Element> {
    name: String,
    shader: Arc<Shader>,
    parameters: Vec<Box<dyn Parameter>>,
    cpu: Box<Cpu<In, Out>>,
    output: Box<ShapeRule>,
    flops: Box<FlopsRule>,
    grid: Option<Box<GridRule>>,
    elements: PhantomData<fn(In) -> Out>,
}

/// A shader that was read and found to be valid.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Shader {
    source: String,
    entry_point: String,
    workgroup: [u32; 3],
    buffers: usize,
}

impl<In: Element, Out: Element> fmt::Debug for WgslOperator<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WgslOperator")
            .field("name", &self.name)
            .field("shader", &self.shader)
            .finish_non_exhaustive()
    }
}

impl<In: Element, Out: Element> WgslOperator<In, Out> {
    /// A shader with one entry point, and the same in Rust for the CPU.
    ///
    /// # Errors
    ///
    /// [`DeviceErrorKind::Compile`] for a shader that is not valid, that has no entry
    /// point or several, or whose bindings are not counted from 0.
    ///
    /// # Safety
    ///
    /// The shader must not look past the ends of its buffers: it runs without bounds
    /// checks, as CubeCL's own kernels do.
    pub unsafe fn new(
        name: impl Into<String>,
        source: impl Into<String>,
        cpu: impl Fn(&[View<'_, In>], &mut [Out]) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let (name, source) = (name.into(), source.into());
        let shader = Shader::new(source)
            .map_err(|why| DeviceError::new(DeviceErrorKind::Compile, format!("{name}: {why}")))?;
        Ok(Self {
            name,
            shader: Arc::new(shader),
            parameters: Vec::new(),
            cpu: Box::new(cpu),
            output: Box::new(|inputs| Ok(inputs[0].to_vec())),
            flops: Box::new(|_| 0),
            grid: None,
            elements: PhantomData,
        })
    }

    /// A further parameter, which every call gets after the inputs.
    #[must_use]
    pub fn with_parameter<E: Element>(mut self, parameter: Tensor<'static, E>) -> Self {
        self.parameters.push(Box::new(parameter));
        self
    }

    /// The output's shape for inputs of some shapes; it may refuse them.
    #[must_use]
    pub fn with_output(
        mut self,
        output: impl Fn(&[&[usize]]) -> Result<Vec<usize>, Error> + Send + Sync + 'static,
    ) -> Self {
        self.output = Box::new(output);
        self
    }

    /// How many workgroups an output of some shape takes.
    #[must_use]
    pub fn with_grid(
        mut self,
        grid: impl Fn(&[usize]) -> [u32; 3] + Send + Sync + 'static,
    ) -> Self {
        self.grid = Some(Box::new(grid));
        self
    }

    /// How many floating-point operations a call on inputs of some shapes is.
    #[must_use]
    pub fn with_flops(
        mut self,
        flops: impl Fn(&[&[usize]]) -> u64 + Send + Sync + 'static,
    ) -> Self {
        self.flops = Box::new(flops);
        self
    }
}

impl<In: Element, Out: Element> Operator for WgslOperator<In, Out> {
    type In = In;
    type Out = Out;

    fn name(&self) -> &str {
        &self.name
    }

    fn output_shape(&self, inputs: &[&[usize]]) -> Result<Vec<usize>, Error> {
        let buffers = inputs.len() + self.parameters.len() + 1;
        if inputs.is_empty() || buffers != self.shader.buffers {
            return Err(Error::shape(format!(
                "{}: the shader has {} bindings; {} inputs, {} parameters and the output are \
                 {buffers}",
                self.name,
                self.shader.buffers,
                inputs.len(),
                self.parameters.len()
            )));
        }
        (self.output)(inputs)
    }

    fn flops(&self, inputs: &[&[usize]]) -> u64 {
        (self.flops)(inputs)
    }

    fn parameters(&self) -> Vec<&dyn Parameter> {
        self.parameters.iter().map(|each| &**each).collect()
    }

    fn cpu(&self, inputs: &[View<'_, In>], out: &mut [Out]) -> Result<(), Error> {
        (self.cpu)(inputs, out)
    }

    fn device(&self) -> Option<&dyn DeviceForm> {
        Some(self)
    }
}

impl<In: Element, Out: Element> DeviceForm for WgslOperator<In, Out> {
    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let Client::Wgpu(client) = launch.gpu.client() else {
            let message = format!(
                "{}: a WGSL shader does not run on {}; open the same GPU by way of Vulkan, or \
                 write the kernel in CubeCL",
                self.name,
                launch.gpu.id()
            );
            return Err(DeviceError::new(DeviceErrorKind::Unsupported, message));
        };
        let units: u64 = self.shader.workgroup.map(u64::from).iter().product();
        let count = match &self.grid {
            Some(grid) => grid(launch.output_shape).into(),
            None => {
                let groups = shape::elements(launch.output_shape).div_ceil(units);
                (u32::try_from(groups).unwrap_or(u32::MAX), 1, 1)
            }
        };
        launch.gpu.check_grid(&self.name, count)?;
        let buffers = launch.inputs.iter().chain(launch.parameters);
        let bindings = buffers
            .chain([launch.output])
            .map(|buffer| buffer.handle().binding());
        let arguments = KernelArguments::new().with_buffers(bindings.collect());
        let kernel = Box::new(Kernel(Arc::clone(&self.shader)));
        let count = CubeCount::Static(count.0, count.1, count.2);
        client.launch(kernel, count, arguments);
        Ok(())
    }
}

/// The shader as what CubeCL compiles and keeps.
struct Kernel(Arc<Shader>);

impl KernelMetadata for Kernel {
    fn id(&self) -> KernelId {
        let [x, y, z] = self.0.workgroup;
        KernelId::new::<Self>()
            .info(Arc::clone(&self.0))
            .cube_dim(CubeDim { x, y, z })
    }

    fn address_type(&self) -> StorageType {
        u32::as_type_native_unchecked().storage_type()
    }
}

impl CubeTask<AutoCompiler> for Kernel {
    fn compile(
        &self,
        _: &mut AutoCompiler,
        _: &<AutoCompiler as cubecl::Compiler>::CompilationOptions,
        _: ExecutionMode,
        _: StorageType,
    ) -> Result<CompiledKernel<AutoCompiler>, CompilationError> {
        let [x, y, z] = self.0.workgroup;
        Ok(CompiledKernel {
            entrypoint_name: self.0.entry_point.clone(),
            debug_name: None,
            source: self.0.source.clone(),
            repr: None,
            cube_dim: CubeDim { x, y, z },
            debug_info: None,
        })
    }
}

impl Shader {
    /// Reads the shader, or says in one line what is wrong with it and where.
    fn new(source: String) -> Result<Self, String> {
        let at = |place: Option<naga::SourceLocation>| {
            let place = place.map(|place| (place.line_number, place.line_position));
            let text = |(line, column)| format!(" in line {line}, column {column}");
            place.map(text).unwrap_or_default()
        };
        let module = naga::front::wgsl::parse_str(&source)
            .map_err(|error| format!("{}{}", error.message(), at(error.location(&source))))?;
        Validator::new(ValidationFlags::all(), Capabilities::all())
            .validate(&module)
            .map_err(|error| {
                let mut why = error.to_string();
                let mut cause = std::error::Error::source(error.as_inner());
                while let Some(error) = cause {
                    why = format!("{why}: {error}");
                    cause = error.source();
                }
                why + &at(error.location(&source))
            })?;
        let [entry_point] = &module.entry_points[..] else {
            let count = module.entry_points.len();
            return Err(format!("the shader has {count} entry points; give it one"));
        };
        let variables = module.global_variables.iter();
        let bindings: BTreeMap<(u32, u32), AddressSpace> = variables
            .filter_map(|(_, variable)| {
                let binding = variable.binding.as_ref()?;
                Some(((binding.group, binding.binding), variable.space))
            })
            .collect();
        for (expected, ((group, binding), space)) in (0..).zip(&bindings) {
            let is_storage = matches!(space, AddressSpace::Storage { .. });
            if (*group, *binding) != (0, expected) || !is_storage {
                return Err(format!(
                    "binding {binding} of group {group}, where one of storage at {expected} of \
                     group 0 is expected"
                ));
            }
        }
        Ok(Self {
            entry_point: entry_point.name.clone(),
            workgroup: entry_point.workgroup_size,
            buffers: bindings.len(),
            source: writable(&source),
        })
    }
}

/// The source with all storage declared as writable: CubeCL's buffers may lie in one
/// memory, of which a launch can only see all as writable or none.
fn writable(source: &str) -> String {
    let mut parts = source.split("var");
    let mut found = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        found.push_str("var");
        let space = part.trim_start().strip_prefix('<');
        match space.and_then(|rest| rest.split_once('>')) {
            Some((space, rest)) if space.split(',').next().map(str::trim) == Some("storage") => {
                found.extend(["<storage, read_write>", rest]);
            }
            _ => found.push_str(part),
        }
    }
    found
}
