//! Whether there is a software GPU here, and the layer in front of it that lets
//! calls go wrong.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::command::{Breakeven, directory, line, skipped};

/// The id of this machine's software GPU; says so where there is none.
pub(crate) fn software_gpu() -> Option<&'static str> {
    static ID: OnceLock<Option<String>> = OnceLock::new();
    let id = ID.get_or_init(|| {
        let devices = line("devices --format json").run().quietly(0).json();
        let gpus = devices["gpus"].as_array().expect("a list of GPUs").clone();
        let software = gpus.iter().find(|gpu| gpu["kind"] == "software")?;
        Some(software["id"].as_str().expect("an id").to_owned())
    });
    if id.is_none() {
        skipped("Vulkan has no software GPU here (Debian: mesa-vulkan-drivers)");
    }
    id.as_deref()
}

/// Two software GPUs in place of one: the driver's manifest and a copy of it, which the
/// loader takes for two drivers.
pub(crate) struct Two {
    directory: TempDir,
    manifest: PathBuf,
}

/// The ids of the two.
pub(crate) const BOTH: [&str; 2] = ["vulkan:llvmpipe", "vulkan:llvmpipe#2"];

impl Two {
    /// None, and a line that says so, where the software GPU is not Mesa's or does not count
    /// twice.
    pub(crate) fn new() -> Option<Self> {
        software_gpu()?;
        let folders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
        let files = folders.into_iter().flat_map(fs::read_dir).flatten();
        let mut manifests = files.flatten().map(|file| file.path());
        let is_mesas = |path: &PathBuf| path.to_string_lossy().contains("lvp_icd");
        let Some(manifest) = manifests.find(is_mesas) else {
            skipped("Mesa's software driver has no manifest in the usual folders");
            return None;
        };
        let directory = directory();
        fs::copy(&manifest, directory.path().join("copy.json")).expect("a copy");
        let two = Self {
            directory,
            manifest,
        };
        let listed = two.before(line("devices --format json")).run().quietly(0);
        let gpus = listed.json()["gpus"].as_array().expect("a list").clone();
        if gpus.iter().map(|gpu| &gpu["id"]).eq(BOTH) {
            return Some(two);
        }
        skipped(&format!("Vulkan's loader lists {gpus:?} for two manifests"));
        None
    }

    /// Has it find the two.
    pub(crate) fn before(&self, breakeven: Breakeven) -> Breakeven {
        let copy = self.directory.path().join("copy.json");
        let both = format!("{}:{}", self.manifest.display(), copy.display());
        breakeven
            .env("VK_DRIVER_FILES", &both)
            .env("VK_ICD_FILENAMES", &both)
    }
}

/// The layer of `faulty_layer.c`, compiled.
pub(crate) struct Layer {
    directory: TempDir,
}

const MANIFEST: &str = r#"{
  "file_format_version": "1.0.0",
  "layer": {
    "name": "VK_LAYER_BREAKEVEN_faulty",
    "type": "GLOBAL",
    "library_path": "./libfaulty.so",
    "api_version": "1.3.0",
    "implementation_version": "1",
    "description": "lets calls go wrong"
  }
}"#;

impl Layer {
    /// Compiles it; none, and a line that says so, without a C compiler or
    /// without a software GPU to put it in front of.
    pub(crate) fn new() -> Option<Self> {
        software_gpu()?;
        let directory = directory();
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(directory.path().join("libfaulty.so"))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faulty_layer.c"))
            .output();
        match compiled {
            Ok(output) => {
                let log = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "cc: {log}");
            }
            Err(error) => {
                skipped(&format!("the faulty layer needs a C compiler: cc: {error}"));
                return None;
            }
        }
        fs::write(directory.path().join("faulty.json"), MANIFEST).expect("a manifest");
        Some(Self { directory })
    }

    /// Puts it in front of the driver, with faults as `faulty_layer.c` reads them.
    pub(crate) fn before(&self, breakeven: Breakeven, faults: &str) -> Breakeven {
        breakeven
            .env("VK_LAYER_PATH", self.directory.path())
            .env("VK_INSTANCE_LAYERS", "VK_LAYER_BREAKEVEN_faulty")
            .env("FAULTY", faults)
    }

    /// A file for a fault that happens once; it is not there yet.
    pub(crate) fn once(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }
}
