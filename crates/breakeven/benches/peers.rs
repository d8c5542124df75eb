//! The kernels' CPU forms at the command of `bench/peers/run`, which times other
//! packages at the same work in between.
//!
//! A line of JSON on stdin is a command, a line on stdout its answer. `make`
//! reads a problem's inputs from files of f32, solves it once and writes the
//! output to a file, for the two sides to be compared; `time` says how long each
//! of several lots of calls took. Without `--serve` nothing is timed.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a bench prints its figures"
)]

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Instant;

use breakeven::Error;
use breakeven::kernels::{
    ArForecast, Connectivity, Conv2d, DendriticIntegration, DotProduct, ImageSegmentation, Kernel,
    LstmCell, LstmWeights, MatrixMultiply, Nonlinearity, PixelEntropy, VectorAdd,
};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Command {
    /// Reads a problem; its output goes to a file.
    Make {
        #[serde(flatten)]
        problem: Problem,
        inputs: Vec<PathBuf>,
        output: PathBuf,
    },
    /// Times `lots` lots of `calls` calls each of the last problem.
    Time { lots: usize, calls: usize },
}

/// A kernel and its sizes, as its constructor takes them.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", tag = "kernel")]
enum Problem {
    VectorAdd {
        batch: usize,
    },
    DotProduct {
        batch: usize,
    },
    MatrixMultiply {
        dims: [usize; 4],
    },
    Conv2d {
        dims: [usize; 3],
        filter_dims: [usize; 2],
        padding: usize,
    },
    PixelEntropy {
        dims: [usize; 3],
        window: usize,
    },
    ImageSegmentation {
        dims: [usize; 3],
        threshold: f32,
    },
    ArForecast {
        dims: [usize; 2],
        lags: usize,
        steps: usize,
    },
    LstmCellForward {
        dims: [usize; 3],
    },
    DendriticIntegration {
        dims: [usize; 4],
        mg: f32,
        v_rest: f32,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// The problem is made; so many workers are there for it.
    Made { workers: usize },
    /// What each lot took, ns.
    Times(Vec<u64>),
    /// The command was not understood or could not be done.
    Failed(String),
}

/// A kernel and room for its output, whatever that is made of.
struct Solver<K: Kernel> {
    kernel: K,
    output: Vec<K::Element>,
}

trait Solve {
    /// Solves the problem once and gives its output.
    fn solve(&mut self) -> &[u8];
}

impl<K: Kernel> Solve for Solver<K> {
    fn solve(&mut self) -> &[u8] {
        self.kernel.cpu_into(std::hint::black_box(&mut self.output));
        bytemuck::cast_slice(&self.output)
    }
}

fn main() {
    if !std::env::args().any(|argument| argument == "--serve") {
        println!("peers: bench/peers/run starts this bench and speaks with it");
        return;
    }
    let mut problem = None;
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("stdin is a pipe of text");
        let answer = match serde_json::from_str(&line) {
            Ok(command) => obey(command, &mut problem),
            Err(error) => Answer::Failed(error.to_string()),
        };
        let answer = serde_json::to_string(&answer).expect("plain data");
        println!("{answer}");
        std::io::stdout().flush().expect("stdout is a pipe");
    }
}

fn obey(command: Command, current: &mut Option<Box<dyn Solve>>) -> Answer {
    match command {
        Command::Make {
            problem,
            inputs,
            output,
        } => {
            let inputs = inputs.iter().map(floats).collect();
            let mut made = match make(problem, inputs) {
                Ok(made) => made,
                Err(error) => return Answer::Failed(error.to_string()),
            };
            std::fs::write(&output, made.solve()).expect("the output can be written");
            *current = Some(made);
            Answer::Made {
                workers: rayon::current_num_threads(),
            }
        }
        Command::Time { lots, calls } => match current {
            None => Answer::Failed("no problem was made".to_owned()),
            Some(problem) => Answer::Times(
                (0..lots)
                    .map(|_| {
                        let start = Instant::now();
                        for _ in 0..calls {
                            std::hint::black_box(problem.solve());
                        }
                        u64::try_from(start.elapsed().as_nanos()).expect("shorter than centuries")
                    })
                    .collect(),
            ),
        },
    }
}

fn floats(path: &PathBuf) -> Vec<f32> {
    let bytes = std::fs::read(path).expect("an input that run.py wrote");
    bytemuck::pod_collect_to_vec(&bytes)
}

fn solver<K: Kernel + 'static>(kernel: K) -> Box<dyn Solve> {
    let output = kernel.cpu();
    Box::new(Solver { kernel, output })
}

fn make(problem: Problem, inputs: Vec<Vec<f32>>) -> Result<Box<dyn Solve>, Error> {
    let mut inputs = inputs.into_iter();
    let mut next = || inputs.next().unwrap_or_default();
    Ok(match problem {
        Problem::VectorAdd { batch } => solver(VectorAdd::new(next(), next(), batch)?),
        Problem::DotProduct { batch } => solver(DotProduct::new(next(), next(), batch)?),
        Problem::MatrixMultiply { dims } => solver(MatrixMultiply::new(next(), next(), dims)?),
        Problem::Conv2d {
            dims,
            filter_dims,
            padding,
        } => solver(Conv2d::new(next(), dims, next(), filter_dims, 1, padding)?),
        Problem::PixelEntropy { dims, window } => solver(PixelEntropy::new(next(), dims, window)?),
        Problem::ImageSegmentation { dims, threshold } => {
            let four = Connectivity::Four;
            solver(ImageSegmentation::new(next(), dims, threshold, four)?)
        }
        Problem::ArForecast { dims, lags, steps } => {
            solver(ArForecast::new(next(), dims, lags, steps)?)
        }
        Problem::LstmCellForward {
            dims: [batch, inputs, hidden],
        } => {
            let (input, state, cell) = (next(), next(), next());
            let weights = LstmWeights::new(&next(), &next(), &next(), &next(), [inputs, hidden])?;
            solver(LstmCell::new(input, state, cell, batch, weights)?)
        }
        Problem::DendriticIntegration { dims, mg, v_rest } => {
            let rule = Nonlinearity::Nmda { mg, v_rest };
            solver(DendriticIntegration::new(
                next(),
                next(),
                next(),
                dims,
                rule,
            )?)
        }
    })
}
