//! The name by which a device is requested, stored in files and compared.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The programming interface through which a GPU is driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// NVIDIA's driver API, with kernels compiled by NVRTC.
    Cuda,
    /// Vulkan, on Linux, Android and Windows.
    Vulkan,
    /// Metal, on macOS and iOS.
    Metal,
    /// Direct3D 12, on Windows.
    Dx12,
}

impl Backend {
    /// Every backend, the preferred one for a card first.
    pub const ALL: [Backend; 4] = [
        Backend::Cuda,
        Backend::Vulkan,
        Backend::Metal,
        Backend::Dx12,
    ];

    /// The prefix of a [`DeviceId`]: `cuda`, `vulkan`, `metal`, `dx12`.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Cuda => "cuda",
            Backend::Vulkan => "vulkan",
            Backend::Metal => "metal",
            Backend::Dx12 => "dx12",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A device's name: `cpu`, or `<backend>:<name>` for a GPU, as in
/// `vulkan:llvmpipe` and `cuda:nvidia-h200#2`.
///
/// The name of a GPU stays the same over restarts and does not depend on the
/// order in which a driver lists its devices: it is made of the device's own
/// name, and further devices of that name are numbered from 2 on in the order
/// of their PCI addresses. It does depend on which devices the process may see:
/// hiding the first of two equal cards makes the second one the unnumbered one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DeviceId(String);

/// A text that names no device. If one component is wrong, it is first and the complete text
/// second.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseDeviceIdError {
    /// Neither `cpu` nor `<backend>:<name>`.
    #[error("`{0}` is not a device: expected `cpu` or `<backend>:<name>`, as in `vulkan:llvmpipe`")]
    Shape(String),
    /// The prefix before the colon is no backend.
    #[error("`{0}` in `{1}` is not a backend: expected cuda, vulkan, metal or dx12")]
    Backend(String, String),
    /// The name after the colon is empty or has characters other than `a-z0-9-`.
    #[error("`{0}` in `{1}` is not a device name: expected lower-case letters, digits and hyphens")]
    Name(String, String),
    /// The suffix after `#` is no number from 2 on.
    #[error("`#{0}` in `{1}` is not a device number: expected `#2`, `#3`, …")]
    Number(String, String),
}

impl DeviceId {
    /// The CPU: `cpu`.
    pub fn cpu() -> Self {
        DeviceId("cpu".to_owned())
    }

    /// The backend of a GPU; none for the CPU.
    pub fn backend(&self) -> Option<Backend> {
        let (backend, _) = self.0.split_once(':')?;
        Backend::ALL.into_iter().find(|b| b.name() == backend)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of the `nth` (from 1) device of this backend whose name has this slug.
    #[cfg(any(feature = "gpu", test))]
    pub(crate) fn gpu(backend: Backend, slug: &str, nth: usize) -> Self {
        DeviceId(match nth {
            0 | 1 => format!("{backend}:{slug}"),
            nth => format!("{backend}:{slug}#{nth}"),
        })
    }
}

/// Converts a driver's device name to the name in an id: parenthesised text (versions, trade marks)
/// is dropped, letters are lowered, everything else becomes one hyphen. An empty result becomes
/// `unnamed`.
#[cfg(any(feature = "gpu", test))]
pub(crate) fn slug(name: &str) -> String {
    let mut depth = 0_usize;
    let mut slug = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            _ if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    if slug.is_empty() {
        slug.push_str("unnamed");
    }
    slug
}

impl FromStr for DeviceId {
    type Err = ParseDeviceIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "cpu" {
            return Ok(DeviceId::cpu());
        }
        let whole = || text.to_owned();
        let Some((backend, rest)) = text.split_once(':') else {
            return Err(ParseDeviceIdError::Shape(whole()));
        };
        if !Backend::ALL.iter().any(|b| b.name() == backend) {
            return Err(ParseDeviceIdError::Backend(backend.to_owned(), whole()));
        }
        let (name, number) = rest.split_once('#').unwrap_or((rest, "2"));
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if name.is_empty() || !name.bytes().all(allowed) {
            return Err(ParseDeviceIdError::Name(name.to_owned(), whole()));
        }
        // `#02` and `#+2` would be second names of `#2`.
        let is_canonical = |n: usize| n >= 2 && n.to_string() == number;
        if !number.parse().is_ok_and(is_canonical) {
            return Err(ParseDeviceIdError::Number(number.to_owned(), whole()));
        }
        Ok(DeviceId(whole()))
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for DeviceId {
    type Error = ParseDeviceIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<DeviceId> for String {
    fn from(id: DeviceId) -> String {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Backend, DeviceId, ParseDeviceIdError, slug};

    #[test]
    fn slugs_of_names_that_drivers_give() {
        for (name, expected) in [
            ("llvmpipe (LLVM 15.0.6, 256 bits)", "llvmpipe"),
            ("NVIDIA H200", "nvidia-h200"),
            ("NVIDIA GeForce RTX 4090", "nvidia-geforce-rtx-4090"),
            ("AMD Radeon RX 7900 (RADV NAVI31)", "amd-radeon-rx-7900"),
            ("Intel(R) UHD Graphics (KBL GT2)", "intel-uhd-graphics"),
            ("Intel(R) Iris(R) Xe", "intel-iris-xe"),
            ("Apple M2 Max", "apple-m2-max"),
            ("A (b (c) d) e", "a-e"),
            ("open (never closed", "open"),
            ("x) y", "x-y"),
            ("Größe-1", "gr-e-1"),
            ("(only this)", "unnamed"),
            ("", "unnamed"),
        ] {
            assert_eq!(slug(name), expected, "{name}");
        }
    }

    #[test]
    fn every_made_id_parses_back() {
        for backend in Backend::ALL {
            for nth in [1, 2, 11] {
                let id = DeviceId::gpu(backend, &slug("Some (x) Card 7"), nth);
                assert_eq!(id.to_string().parse(), Ok(id.clone()));
                assert_eq!(id.backend(), Some(backend));
            }
        }
        assert_eq!("cpu".parse(), Ok(DeviceId::cpu()));
        assert_eq!(DeviceId::cpu().backend(), None);
        let second = DeviceId::gpu(Backend::Cuda, "nvidia-h200", 2);
        assert_eq!(second.as_str(), "cuda:nvidia-h200#2");
    }

    #[test]
    fn wrong_texts_say_which_part_is_wrong() {
        let error = |text: &str| text.parse::<DeviceId>().expect_err("not a device");
        for text in ["", "gpu"] {
            assert_eq!(error(text), ParseDeviceIdError::Shape(text.to_owned()));
        }
        assert!(matches!(error("gl:x"), ParseDeviceIdError::Backend(..)));
        for text in ["cuda:", "cuda:NVIDIA"] {
            assert!(matches!(error(text), ParseDeviceIdError::Name(..)));
        }
        for number in ["", "0", "1", "02", "+2", "x"] {
            let error = error(&format!("cuda:a#{number}"));
            assert!(matches!(error, ParseDeviceIdError::Number(..)), "{number}");
        }
        let said = "`gl` in `gl:x` is not a backend: expected cuda, vulkan, metal or dx12";
        assert_eq!(error("gl:x").to_string(), said);
    }

    #[test]
    fn json_is_the_text_and_is_checked() {
        let json = serde_json::to_string(&DeviceId::cpu()).expect("a string is JSON");
        assert_eq!(json, "\"cpu\"");
        let back: DeviceId = serde_json::from_str("\"vulkan:llvmpipe\"").expect("an id");
        assert_eq!(back.as_str(), "vulkan:llvmpipe");
        assert!(serde_json::from_str::<DeviceId>("\"abacus\"").is_err());
    }
}
