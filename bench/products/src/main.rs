//! `products THREADS [ORDER,…]`: how long other packages' products take over ours. `8x256` is
//! eight products of order 256 in one call of ours, and in eight of theirs.

use std::error::Error;
use std::ffi::{CStr, c_char};
use std::num::ParseIntError;
use std::ptr::null;
use std::time::{Duration, Instant};

use breakeven::kernels::MatrixMultiply;
use breakeven::{Operator, View};
use private_gemm_x86::{Accum, DType, DstKind, IType, InstrSet};

const ORDERS: [usize; 13] = [
    64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
];
const NAMES: [&str; 4] = ["ours", "gemm", "faer", "openblas"];

/// `cblas_sgemm`.
#[rustfmt::skip]
type Sgemm = unsafe extern "C" fn(
    i32, i32, i32, i32, i32, i32, f32, *const f32, i32, *const f32, i32, f32, *mut f32, i32,
);

struct Packages {
    threads: usize,
    avx2: bool,
    sgemm: Sgemm,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let threads: usize = arguments
        .next()
        .ok_or("products THREADS [ORDER,…]")?
        .parse()?;
    let problems = match arguments.next() {
        Some(problems) => problems.split(',').map(problem).collect::<Result<_, _>>()?,
        None => ORDERS.map(|order| (1, order)).to_vec(),
    };
    clear();
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    let name = std::env::var("OPENBLAS").unwrap_or("libopenblas.so.0".to_owned());
    // SAFETY: loading OpenBLAS runs nothing but its own set-up, and the functions have these
    // types in its header; the name that it gives is a constant.
    let sgemm = unsafe {
        let library: &_ = Box::leak(Box::new(libloading::Library::new(name)?));
        let set_threads = library.get::<unsafe extern "C" fn(i32)>(b"openblas_set_num_threads")?;
        set_threads(i32::try_from(threads)?);
        let core = library.get::<unsafe extern "C" fn() -> *const c_char>(b"openblas_get_corename")?;
        let count = library.get::<unsafe extern "C" fn() -> i32>(b"openblas_get_num_threads")?;
        let core = CStr::from_ptr(core()).to_string_lossy();
        println!("openblas: {core}, {} threads", count());
        *library.get::<Sgemm>(b"cblas_sgemm")?
    };
    let packages = Packages {
        threads,
        avx2: std::env::var_os("BENCH_AVX2").is_some(),
        sgemm,
    };
    for (batch, order) in problems {
        packages.compare(batch, order)?;
    }
    Ok(())
}

/// Takes away what holds a package back and was not asked for.
fn clear() {
    let kept = std::env::var("BENCH_KEEP").unwrap_or_default();
    let holds = |name: &str| {
        ["OPENBLAS_", "GOTO_", "OMP_", "GOMP_", "RAYON_"].iter().any(|each| name.starts_with(each))
            && !kept.split_whitespace().any(|kept| kept == name)
    };
    for (name, value) in std::env::vars().filter(|(name, _)| holds(name)) {
        println!("cleared {name}={value}: BENCH_KEEP={name} keeps it");
        // SAFETY: no other thread runs yet.
        unsafe { std::env::remove_var(name) };
    }
}

/// How many products, and of which order: `256` or `8x256`.
fn problem(text: &str) -> Result<(usize, usize), ParseIntError> {
    let (batch, order) = text.split_once('x').unwrap_or(("1", text));
    Ok((batch.parse()?, order.parse()?))
}

impl Packages {
    fn compare(&self, batch: usize, n: usize) -> Result<(), Box<dyn Error>> {
        let numbers = |seed: u32| {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 24) as f32 - 0.5
            };
            (0..batch * n * n).map(|_| next()).collect::<Vec<f32>>()
        };
        let (a, b) = (numbers(1), numbers(2));
        let mut outs = NAMES.map(|_| vec![0.0; batch * n * n]);
        let work = batch * n * n * n;
        let calls = (1_000_000_000 / work).max(1);
        let rounds = (16_000_000_000 / (calls * work)).clamp(7, 15);
        let mut times = NAMES.map(|_| Vec::new());
        // The first round is to warm up.
        for round in 0..=rounds {
            for place in 0..NAMES.len() {
                // Nobody always follows the same one.
                let which = (round + place * if round % 2 == 0 { 1 } else { 3 }) % NAMES.len();
                let mut multiply = || self.multiply(which, [batch, n], &a, &b, &mut outs[which]);
                if self.threads > 1 {
                    // A system may leave threads that just woke on one core for a while.
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_millis(100) {
                        multiply()?;
                    }
                }
                let start = Instant::now();
                for _ in 0..calls {
                    multiply()?;
                }
                if round > 0 {
                    times[which].push(start.elapsed().as_secs_f64() / calls as f64);
                }
                if self.threads > 1 {
                    // OpenBLAS's threads wait busily for a tenth of a second, and would take
                    // the next one's cores.
                    std::thread::sleep(Duration::from_millis(250));
                }
            }
        }
        let [ours, others @ ..] = &outs;
        for (name, theirs) in NAMES[1..].iter().zip(others) {
            let off = ours.iter().zip(theirs).map(|(x, y)| (x - y).abs());
            let off = off.fold(0.0, f32::max);
            assert!(off < 1e-5 * n as f32, "{name}: off by {off}");
        }
        let problem = if batch == 1 {
            n.to_string()
        } else {
            format!("{batch}x{n}")
        };
        for (name, theirs) in NAMES[1..].iter().zip(&times[1..]) {
            let mut ratios: Vec<f64> = theirs.iter().zip(&times[0]).map(|(x, y)| x / y).collect();
            ratios.sort_by(f64::total_cmp);
            let at = |part: usize| ratios[ratios.len() * part / 4];
            let threads = self.threads;
            println!(
                "METRIC product_{threads}_threads/{problem}/{name} {:.2} x\n  {:.2} to {:.2}",
                at(2),
                at(1),
                at(3)
            );
        }
        Ok(())
    }

    fn multiply(
        &self,
        which: usize,
        [batch, n]: [usize; 2],
        a: &[f32],
        b: &[f32],
        out: &mut [f32],
    ) -> Result<(), Box<dyn Error>> {
        if which == 0 {
            let shape = &[batch, n, n][..];
            let views = [a, b].map(|values| View { shape, values });
            return Ok(MatrixMultiply.cpu(&views, out)?);
        }
        let matrices = a.chunks(n * n).zip(b.chunks(n * n));
        for ((a, b), out) in matrices.zip(out.chunks_mut(n * n)) {
            self.multiply_one(which, n, a, b, out)?;
        }
        Ok(())
    }

    fn multiply_one(
        &self,
        which: usize,
        n: usize,
        a: &[f32],
        b: &[f32],
        out: &mut [f32],
    ) -> Result<(), Box<dyn Error>> {
        let (row, int) = (n.cast_signed(), i32::try_from(n)?);
        let (a_at, b_at, out_at) = (a.as_ptr(), b.as_ptr(), out.as_mut_ptr());
        // SAFETY: three square matrices of that order, row by row.
        unsafe {
            match which {
                1 => {
                    let parallel = match self.threads {
                        1 => gemm::Parallelism::None,
                        threads => gemm::Parallelism::Rayon(threads),
                    };
                    #[rustfmt::skip]
                    gemm::gemm(
                        n, n, n, out_at, 1, row, false, a_at, 1, row, b_at, 1, row, 0.0, 1.0,
                        false, false, false, parallel,
                    );
                }
                2 => {
                    let set = if is_x86_feature_detected!("avx512f") && !self.avx2 {
                        InstrSet::Avx512
                    } else {
                        InstrSet::Avx256
                    };
                    #[rustfmt::skip]
                    private_gemm_x86::gemm(
                        DType::F32, IType::U64, set, n, n, n, out_at.cast(), row, 1, null(),
                        null(), DstKind::Full, Accum::Replace, a_at.cast(), row, 1, false, null(),
                        0, b_at.cast(), row, 1, false, (&raw const ONE).cast(), self.threads,
                    );
                }
                _ => {
                    #[rustfmt::skip]
                    (self.sgemm)(
                        ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, int, int, int, 1.0, a_at, int,
                        b_at, int, 0.0, out_at, int,
                    );
                }
            }
        }
        Ok(())
    }
}

static ONE: f32 = 1.0;

/// Of `cblas.h`.
const ROW_MAJOR: i32 = 101;
const NOT_TRANSPOSED: i32 = 111;
