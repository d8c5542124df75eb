//! What files say of the machine, in the words of profiles.

use breakeven_profile::profile::Cpu;
use serde_json::Value;

/// A text of the metadata, by its JSON pointer; none where the metadata has another shape.
/// .NET writes lazy values as `{"IsValueCreated": true, "Value": …}`.
pub(crate) fn text(metadata: &Value, pointer: &str) -> Option<String> {
    let found = metadata.pointer(pointer)?;
    found
        .get("Value")
        .unwrap_or(found)
        .as_str()
        .map(str::to_owned)
}

/// A count of the metadata, likewise.
pub(crate) fn count(metadata: &Value, pointer: &str) -> Option<u64> {
    metadata.pointer(pointer)?.as_u64()
}

/// The operating system, as in `linux`, of a name or version such as
/// `Ubuntu 22.04.3 LTS (Jammy Jellyfish)`.
pub(crate) fn os(name: impl AsRef<str>) -> Option<String> {
    const SYSTEMS: [(&[&str], &str); 3] = [
        (&["darwin", "macos"], "macos"),
        (&["windows", "win32"], "windows"),
        (
            &[
                "linux", "ubuntu", "debian", "fedora", "alpine", "centos", "suse",
            ],
            "linux",
        ),
    ];
    known(name.as_ref(), SYSTEMS, |name, word| name.contains(word))
}

/// The instruction set architecture, as in `x86_64`.
pub(crate) fn arch(name: impl AsRef<str>) -> Option<String> {
    const ARCHITECTURES: [(&[&str], &str); 3] = [
        (&["amd64", "x64", "x86_64", "x86-64"], "x86_64"),
        (&["arm64", "aarch64"], "aarch64"),
        (&["386", "i686"], "x86"),
    ];
    known(name.as_ref(), ARCHITECTURES, |name, word| name == word)
}

/// The processor, if anything is known of it.
pub(crate) fn cpu(
    model: Option<String>,
    logical: Option<u64>,
    physical: Option<u64>,
) -> Option<Cpu> {
    let model = model.filter(|model| !model.trim().is_empty());
    let cpu = Cpu {
        model,
        logical_cores: logical,
        physical_cores: physical,
        ..Cpu::default()
    };
    (cpu != Cpu::default()).then_some(cpu)
}

/// A point in time as RFC 3339 in UTC; without a zone it counts as UTC, which is right for
/// the order of files of one machine.
pub(crate) fn utc(text: &str) -> Option<String> {
    let here = || text.trim().parse::<jiff::civil::DateTime>().ok();
    let utc = || here()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    let time = text.trim().parse::<jiff::Timestamp>().ok();
    let time = time.or_else(|| Some(utc()?.timestamp()))?;
    Some(time.to_string())
}

/// A point in time from milliseconds since 1970.
pub(crate) fn utc_of_ms(ms: f64) -> Option<String> {
    // Beyond 2^53 whole numbers are not exact.
    let whole = (ms.abs() < 9e15).then_some(ms as i64)?;
    let time = jiff::Timestamp::from_millisecond(whole).ok()?;
    Some(time.to_string())
}

/// The word for what one of several is in the name; without one the name.
fn known(name: &str, words: [(&[&str], &str); 3], is: fn(&str, &str) -> bool) -> Option<String> {
    let name = name.trim().to_lowercase();
    let is_one = |all: &[&str]| all.iter().any(|word| is(&name, word));
    match words.into_iter().find(|(all, _)| is_one(all)) {
        Some((_, word)) => Some(word.to_owned()),
        None => (!name.is_empty()).then_some(name),
    }
}
