//! Unsafe code: only where it is listed. Clippy asks for the argument above it.

use super::code::{code, words};
use super::tree::Tree;

/// Where unsafe code may be, and why there.
const ALLOWED: [(&str, &str); 37] = [
    (
        "crates/breakeven-cli/src/main.rs",
        "an environment variable that drivers read, before there is a second thread",
    ),
    (
        "crates/breakeven-cli/src/run/process.rs",
        "what a process used, which only `wait4` says",
    ),
    (
        "crates/breakeven-profile/src/recorder/memory.rs",
        "an allocator that passes everything on",
    ),
    (
        "crates/breakeven-profile/tests/recording_allocator.rs",
        "an allocator that records, for the test of it",
    ),
    (
        "crates/breakeven-profile/src/exit.rs",
        "what is saved, written or removed when the process ends, which only `atexit` reports",
    ),
    (
        "crates/breakeven/src/execute/slots.rs",
        "outputs written through unique spans",
    ),
    (
        "crates/breakeven/src/execute/threads.rs",
        "jobs that borrow, on threads that stay",
    ),
    (
        "crates/breakeven-kernels/src/matrix_multiply/avx2.rs",
        "the inner loop of a product, in AVX2's instructions",
    ),
    (
        "crates/breakeven-kernels/src/matrix_multiply/page.rs",
        "a large page of memory for a product",
    ),
    (
        "crates/breakeven-kernels/src/team.rs",
        "calls that borrow, on threads of the pool that come in time",
    ),
    (
        "crates/breakeven-gpu/src/large_pages.rs",
        "a hint that memory is to come in large pages",
    ),
    (
        "crates/breakeven/benches/execute/allocator.rs",
        "an allocator that counts, for the bench of memory",
    ),
    (
        "crates/breakeven-gpu/src/gpu/adopt.rs",
        "a tensor of what is at a program's device pointer",
    ),
    (
        "crates/breakeven-gpu/src/gpu/buffer.rs",
        "a buffer as a kernel's argument",
    ),
    (
        "crates/breakeven-gpu/src/gpu/cuda.rs",
        "CUDA's copies, into and out of buffers, and page-locked memory",
    ),
    (
        "crates/breakeven-gpu/src/gpu/transfer.rs",
        "CUDA's copies are asked for, with what they vouch for",
    ),
    (
        "crates/breakeven-gpu/src/gpu/ring.rs",
        "copies by several threads, at places that the caller vouches for",
    ),
    (
        "crates/breakeven-gpu/src/gpu/wgsl.rs",
        "a user's shader, which nobody checks for bounds",
    ),
    (
        "crates/breakeven/tests/own_code.rs",
        "operators of shaders, for the test of them",
    ),
    (
        "crates/breakeven/tests/fork.rs",
        "a fork, for the test of what its child can do",
    ),
    ("examples/11a_wgsl.rs", "an operator of a shader"),
    (
        "crates/breakeven-machine/src/cuda.rs",
        "calls into the CUDA driver and NVRTC",
    ),
    (
        "crates/breakeven-machine/src/probe.rs",
        "loads driver libraries",
    ),
    (
        "crates/breakeven-machine/src/adapters.rs",
        "reads the driver's memory properties",
    ),
    (
        "bench/products/src/main.rs",
        "calls into packages that are compared",
    ),
    (
        "crates/breakeven-kernels/src/matrix_multiply/strip.rs",
        "a loop without checks, and memory fetched ahead, which only a hint can ask for",
    ),
    (
        "crates/breakeven-kernels/src/ar_forecast/ar_kernels.rs",
        "kernel launch",
    ),
    (
        "crates/breakeven-kernels/src/matrix_multiply/product_kernels.rs",
        "kernel launch",
    ),
    (
        "crates/breakeven-kernels/src/matrix_multiply/tensor_core.rs",
        "kernel launch",
    ),
    (
        "crates/breakeven-kernels/src/conv2d/conv2d_kernels.rs",
        "kernel launch",
    ),
    (
        "crates/breakeven-kernels/src/dendritic_integration/dendrite_kernels.rs",
        "kernel launch",
    ),
    (
        "crates/breakeven-kernels/src/lstm_cell/lstm_kernels.rs",
        "kernel launch",
    ),
    (
        "crates/breakeven-kernels/src/dot_product/dot_kernels.rs",
        "kernel launch",
    ),
    (
        "crates/breakeven-kernels/src/image_segmentation/segmentation_kernels.rs",
        "kernel launch",
    ),
    (
        "crates/breakeven-kernels/src/pixel_entropy/entropy_kernels.rs",
        "kernel launch",
    ),
    (
        "crates/breakeven-kernels/src/vector_add.rs",
        "kernel launch",
    ),
    ("crates/breakeven-gpu/src/peak/gpu.rs", "kernel launches"),
];

pub(super) fn findings(tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.sources() {
        let lines = unsafe_lines(&file.text);
        let allowed = ALLOWED.iter().any(|(path, _)| *path == file.path);
        match (allowed, lines.first()) {
            (false, Some(line)) => findings.push(format!(
                "{}:{}: unsafe code; do without it, or list the file and the reason in \
                 tests/tidy/unsafe_code.rs",
                file.path,
                line + 1
            )),
            (true, None) => findings.push(format!(
                "{}: no unsafe code any more; take it out of tests/tidy/unsafe_code.rs",
                file.path
            )),
            _ => {}
        }
    }
    findings
}

/// The lines (from 0) that have an unsafe block, function or impl; a function's
/// type is none.
fn unsafe_lines(source: &str) -> Vec<usize> {
    let code = code(source);
    words(&code)
        .filter(|(at, word)| *word == "unsafe" && !is_type(&code[at + word.len()..]))
        .map(|(at, _)| code[..at].matches('\n').count())
        .collect()
}

/// True where `unsafe` begins a type: `unsafe fn(u8)`, `unsafe extern "C" fn(u8)`.
fn is_type(after: &str) -> bool {
    let after = after.trim_start();
    // The ABI's name is a literal, so it is blank here.
    let after = after.strip_prefix("extern").unwrap_or(after).trim_start();
    after
        .strip_prefix("fn")
        .is_some_and(|rest| rest.trim_start().starts_with('('))
}

#[cfg(test)]
fn findings_in(path: &str, text: &str) -> Vec<String> {
    findings(&Tree::of(&[(path, text)]))
}

#[test]
fn unsafe_code_elsewhere_is_found() {
    let text = "// SAFETY: none.\nunsafe { f() }";
    let found = findings_in("crates/a/src/lib.rs", text);
    assert!(matches!(&found[..], [one] if one.starts_with("crates/a/src/lib.rs:2: unsafe code")));
    assert!(findings_in(ALLOWED[0].0, text).is_empty());
    assert!(findings_in("a.rs", "// unsafe\ntype F = unsafe extern \"C\" fn(u8);").is_empty());
}

#[test]
fn a_listed_file_without_unsafe_code_is_found() {
    assert_eq!(findings_in(ALLOWED[0].0, "fn f() {}").len(), 1);
}
