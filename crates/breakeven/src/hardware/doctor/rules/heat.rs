//! The processor's temperature, and clocks that were lowered under load.

use crate::hardware::Fact;
use crate::hardware::doctor::facts::Facts;
use crate::hardware::doctor::finding::{Finding, Remedy, Standing, Subject};
use crate::hardware::sensors::ClockLimit;

/// Temperature from which processors of today are near to lowering their clocks, °C:
/// limits are 90 to 105 (`tempN_crit` of coretemp and k10temp).
const HOT: f64 = 90.0;

pub(super) fn look(facts: &Facts) -> Vec<Finding> {
    let celsius = facts.cpu.temperature_celsius;
    let is_hot = celsius.get().is_some_and(|celsius| celsius >= HOT);
    let seen = celsius.map(|celsius| format!("{celsius:.0} °C after the work"));
    let seen = seen.known().cloned();
    let limited = facts.cpu.limits.known();
    let thermal = limited.is_some_and(|limits| limits.contains(&ClockLimit::Thermal));
    let is_guest = facts.settings.virtualisation.hypervisor == Fact::Known(true);
    let finding = match (thermal, seen) {
        (true, seen) => {
            let at = seen.map_or_else(String::new, |seen| format!(" ({seen})"));
            Finding::new(
                Subject::Heat,
                Standing::Bad,
                format!("clocks were lowered for heat{at}"),
            )
            .from("/sys/devices/system/cpu/cpu*/thermal_throttle")
            .does("the longer it works, the slower it is: later runs look like a regression")
            .change(Remedy::act(
                "let it cool down between runs, clear the fans, or switch boost off; \
                     `breakeven monitor` shows it",
            ))
        }
        (false, Some(seen)) if is_hot => Finding::new(Subject::Heat, Standing::Doubtful, seen)
            .from("hwmon")
            .does("a little more heat lowers the clocks")
            .change(Remedy::act(
                "let it cool down between runs; `breakeven monitor` shows it",
            )),
        (false, Some(seen)) => Finding::good(Subject::Heat, seen).from("hwmon"),
        (false, None) if limited.is_some() => {
            Finding::good(Subject::Heat, "clocks were not lowered for heat")
                .from("/sys/devices/system/cpu/cpu*/thermal_throttle")
        }
        (false, None) => {
            let finding = Finding::unknown(Subject::Heat, "no sensor of the processor is told")
                .does("clocks may be lowered for heat, and nothing here would show it");
            match is_guest {
                true => finding.change(Remedy::Elsewhere {
                    why: "in a virtual machine only the host sees the sensors".to_owned(),
                    command: None,
                }),
                false => finding,
            }
        }
    };
    vec![finding]
}
