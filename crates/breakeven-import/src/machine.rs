//! What files tell of the machine, in the words of profiles.

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

/// The operating system, as in `linux`.
pub(crate) fn os(name: &str) -> Option<String> {
    let name = name.trim().to_lowercase();
    let known = [
        ("darwin", "macos"),
        ("macos", "macos"),
        ("windows", "windows"),
        ("win32", "windows"),
    ];
    let known = known.into_iter().find(|(word, _)| name.starts_with(word));
    known_or(name, known)
}

/// The instruction set architecture, as in `x86_64`.
pub(crate) fn arch(name: &str) -> Option<String> {
    let name = name.trim().to_lowercase();
    let known = [
        ("amd64", "x86_64"),
        ("x64", "x86_64"),
        ("x86_64", "x86_64"),
        ("x86-64", "x86_64"),
        ("arm64", "aarch64"),
        ("aarch64", "aarch64"),
        ("386", "x86"),
        ("i686", "x86"),
    ];
    let known = known.into_iter().find(|(word, _)| name == *word);
    known_or(name, known)
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

/// A point in time as RFC 3339 in UTC.
pub(crate) fn utc(text: &str) -> Option<String> {
    let time: jiff::Timestamp = text.trim().parse().ok()?;
    Some(time.to_string())
}

/// A point in time from milliseconds since 1970.
pub(crate) fn utc_of_ms(ms: f64) -> Option<String> {
    // Beyond 2^53 there is no whole number to tell.
    let whole = (ms.abs() < 9e15).then_some(ms as i64)?;
    let time = jiff::Timestamp::from_millisecond(whole).ok()?;
    Some(time.to_string())
}

fn known_or(name: String, known: Option<(&str, &str)>) -> Option<String> {
    match known {
        Some((_, word)) => Some(word.to_owned()),
        None => (!name.is_empty()).then_some(name),
    }
}
