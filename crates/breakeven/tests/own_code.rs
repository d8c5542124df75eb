//! A user's own shaders and kernels, made with the public interface alone.

use breakeven::gpu::cubecl::{self, prelude::*};
use breakeven::gpu::{DeviceForm, Launch, Output, WgslOperator, grid};
use breakeven::{DeviceError, DeviceErrorKind, Error, ErrorKind, Operator, View, with_client};

use crate::device::{first_for_shaders, first_gpu};
use crate::kernels::refused;

type Floats = breakeven::Tensor<'static>;

fn floats(values: Vec<f32>, shape: &[usize]) -> Floats {
    breakeven::Tensor::new(values, shape).unwrap()
}

/// y = a·x + b, for each item with a row of a table.
const SHADER: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var < storage > table: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
var<workgroup> unused: array<f32, 4>;

@compute @workgroup_size(32)
fn lines(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) {
        let line = table[id.x % arrayLength(&table)];
        y[id.x] = line.x * x[id.x] + line.y;
    }
}";

const TABLE: [f32; 6] = [1.0, 0.0, 2.0, 1.0, -1.0, 0.5];

fn wgsl(source: &str) -> Result<WgslOperator<f32, f32>, Error> {
    let cpu = |inputs: &[View<'_, f32>], out: &mut [f32]| {
        let lines = TABLE.as_chunks::<2>().0.iter().cycle();
        for ((y, x), [a, b]) in out.iter_mut().zip(inputs[0].values).zip(lines) {
            *y = a * x + b;
        }
        Ok(())
    };
    // SAFETY: the shaders of these tests compare their place with the arrays' length.
    let operator = unsafe { WgslOperator::new("lines", source, cpu)? };
    Ok(operator.with_parameter(floats(TABLE.to_vec(), &[3, 2])))
}

#[test]
fn a_shader_of_ones_own_is_an_operator() {
    let lines = wgsl(SHADER).unwrap();
    let Some(gpu) = first_for_shaders() else {
        return;
    };
    // Lengths at and beside the ends of workgroups and of what memory is given out in.
    for len in [1, 3, 31, 32, 33, 1_000, 4_099] {
        let x = floats((0..len).map(|at| at as f32).collect(), &[1, len]);
        let on_cpu = lines.on_cpu(&x).unwrap();
        let on_gpu = gpu.run(&lines, &x).unwrap();
        assert_eq!(on_gpu.host().unwrap(), on_cpu.host().unwrap(), "{len}");
        // An input that is the output of another call, on the device.
        let resident = x.to(&gpu).unwrap();
        let again = gpu.run(&lines, &resident).unwrap();
        assert_eq!(again.host().unwrap(), on_cpu.host().unwrap(), "{len}");
    }
    let wide = wgsl(SHADER).unwrap().with_grid(|_| [1 << 20, 1, 1]);
    let error = gpu.run(&wide, &floats(vec![1.0], &[1])).unwrap_err();
    assert_eq!(error.kind, DeviceErrorKind::NeverFits, "{error}");
}

#[test]
fn a_shader_that_is_none_is_a_compile_error_with_its_place() {
    let said = |source: &str| {
        let error = wgsl(source).expect_err("no shader");
        assert_eq!(error.kind(), ErrorKind::Device(DeviceErrorKind::Compile));
        error.to_string()
    };
    for (source, expected) in [
        (
            "fn main() {\n    let x = ;\n}",
            "expected expression, found \";\" in line 2, column 13",
        ),
        (
            "@compute @workgroup_size(1) fn main() { let x: f32 = 1u; }",
            "the type of `x` is expected to be `f32`, but got `u32` in line 1, column 45",
        ),
        (
            &SHADER.replace("binding(2)", "binding(3)"),
            "binding 3 of group 0, where one of storage at 2 of group 0 is expected",
        ),
        (
            "fn helper() {}",
            "the shader has 0 entry points; give it one",
        ),
        (
            &SHADER.replace("line.x *", "line *"),
            "Entry point lines at Compute is invalid: The type of [22] doesn't match the type \
             stored in [14] in line 11, column 9",
        ),
    ] {
        let expected = format!("compile error: lines: {expected}");
        assert_eq!(said(source), expected);
    }
    let lines = wgsl(SHADER).unwrap();
    let one = floats(vec![1.0], &[1]);
    refused(
        lines.on_cpu(&[&one, &one]),
        ErrorKind::Shape,
        "lines: the shader has 3 bindings; 2 inputs, 1 parameters and the output are 4",
    );
    let none: [Floats; 0] = [];
    let shader = SHADER
        .replace("x[id.x]", "1.0")
        .replace("binding(0)", "binding(2)");
    let shader = shader.replacen(
        "@group(0) @binding(2) var<storage, read> x: array<f32>;",
        "",
        1,
    );
    let shader = shader
        .replace("binding(1)", "binding(0)")
        .replace("binding(2)", "binding(1)");
    refused(
        wgsl(&shader).unwrap().on_cpu(&none),
        ErrorKind::Shape,
        "lines: no inputs; give at least one",
    );
}

#[cube(launch)]
fn scale(x: &Array<f32>, out: &mut Array<f32>, factor: f32) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = factor * x[ABSOLUTE_POS];
    }
}

/// Every value times a factor, by cubes of so many units.
struct Scale {
    factor: f32,
    units: u32,
}

impl Operator for Scale {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "scale"
    }

    fn cpu(&self, inputs: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        let values = inputs[0].values.iter();
        out.iter_mut()
            .zip(values)
            .for_each(|(out, x)| *out = self.factor * x);
        Ok(())
    }

    fn device(&self) -> Option<&dyn DeviceForm> {
        Some(self)
    }
}

impl DeviceForm for Scale {
    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let (x, out) = (&launch.inputs[0], launch.output);
        let (count, units) = (grid(out.bytes() / 4, 64), CubeDim::new_1d(self.units));
        with_client!(launch.gpu, client => {
            scale::launch(client, count, units, x.array(), out.array(), self.factor);
        });
        Ok(())
    }
}

#[test]
fn a_kernel_of_ones_own_is_an_operator() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let (factor, units) = (3.0, 64);
    let scale = Scale { factor, units };
    for len in [1, 63, 65, 5_000] {
        let x = floats((0..len).map(|at| at as f32).collect(), &[len]);
        let on_gpu = gpu.run(&scale, &x).unwrap();
        let on_cpu = scale.on_cpu(&x).unwrap();
        assert_eq!(on_gpu.host().unwrap(), on_cpu.host().unwrap(), "{len}");
    }
}

/// A cube of more units than a device has is refused on CubeCL's thread, long after
/// the launch returned.
#[test]
fn a_launch_that_fails_later_fails_its_call_and_no_other() {
    let Some(gpu) = first_gpu() else {
        return;
    };
    let scale = |units| Scale { factor: 2.0, units };
    let (good, bad, x) = (scale(64), scale(1 << 20), floats(vec![1.0; 64], &[64]));
    let run = |scale: &Scale| gpu.run(scale, &x).and_then(Floats::into_vec);
    let fly = |scale: &Scale| {
        let flight = gpu.start(scale, &x, Output::OnHost)?;
        flight.wait()?.into_vec()
    };
    let doubled = Ok(vec![2.0; 64]);
    for call in [&run as &dyn Fn(&Scale) -> _, &fly] {
        assert_eq!(call(&good), doubled);
        // Refused at once or when it is looked at, but refused.
        let refused = call(&bad);
        assert!(refused.is_err(), "{refused:?}");
        assert_eq!(call(&good), doubled, "the fault was reported");
    }
}
