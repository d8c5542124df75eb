//! Driver libraries written in C for the tests: they list cards that do not exist.

use std::path::Path;

use super::compile;

/// The names cudarc may open for CUDA's driver, as far as they can exist.
const CUDA: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

pub(super) const LIBRARIES: [&str; 4] = [CUDA[0], CUDA[1], "libvulkan.so.1", "libnvidia-ml.so.1"];

/// A CUDA driver: `code`, and for every symbol it does not define a function that fails.
pub(super) fn cuda_driver(directory: &Path, code: &str) -> Option<()> {
    let code = with_failing(crate::cuda::SYMBOLS, code);
    compile(directory, &CUDA, &code)
}

fn with_failing(symbols: &str, code: &str) -> String {
    let symbols = symbols.split_whitespace();
    let lacking = symbols.filter(|s| !code.contains(&format!("{s}(")));
    lacking.fold(code.to_owned(), |code, s| {
        code + &format!("int {s}() {{ return 1; }}\n")
    })
}

pub(super) fn nvrtc(directory: &Path, major: u32, minor: u32) -> Option<()> {
    let code =
        format!("int nvrtcVersion(int *a, int *b) {{ *a = {major}; *b = {minor}; return 0; }}\n");
    let code = with_failing(crate::cuda::NVRTC_SYMBOLS, &code);
    compile(directory, &cudarc::get_lib_name_candidates("nvrtc"), &code)
}

/// Two equal cards, listed against the order of their addresses.
pub(super) const TWO_CARDS: &str = r#"
#include <stdio.h>
#include <string.h>
int cuInit(unsigned f) { return f; }
int cuDriverGetVersion(int *v) { *v = 12080; return 0; }
int cuDeviceGetCount(int *n) { *n = 2; return 0; }
int cuDeviceGet(int *d, int i) { *d = i + 10; return 0; }
int cuDeviceGetName(char *s, int n, int d) { strncpy(s, "Made-up C1 (rev A)", n); return 0; }
int cuDeviceGetPCIBusId(char *s, int n, int d) { snprintf(s, n, "0000:%02X:00.0", d == 10 ? 0xAB : 2); return 0; }
int cuDeviceTotalMem_v2(unsigned long *b, int d) { *b = 3UL << 30; return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { *v = a == 18 ? 0 : a == 75 ? 9 : a == 76 ? 0 : -1; return 0; }
"#;

/// NVML that sees the first of these cards.
pub(super) const NVML: &str = r#"
#include <string.h>
struct memory { unsigned version; unsigned long long total, reserved, free, used; };
struct use { unsigned gpu, memory; };
struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)8; return 0; }
int nvmlDeviceGetName(void *d, char *s, unsigned n) { strcpy(s, "Made-up C1"); return 0; }
int nvmlDeviceGetMemoryInfo_v2(void *d, struct memory *m) { m->total = 4096; m->used = 1024; return 0; }
int nvmlDeviceGetUtilizationRates(void *d, struct use *u) { u->gpu = 25; return 0; }
int nvmlDeviceGetPciInfo_v3(void *d, struct pci *p) { memset(p, 0, sizeof *p); p->bus = 0xAB; strcpy(p->bus_id, "00000000:AB:00.0"); return 0; }
int nvmlSystemGetDriverVersion(char *s, unsigned n) { strcpy(s, "570.1"); return 0; }
"#;
