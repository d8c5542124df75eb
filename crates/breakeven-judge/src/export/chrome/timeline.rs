//! The calls of a timeline, at their real times.

use std::io::Write;

use breakeven_profile::profile::{Profile, Timeline};

use super::super::ExportError;
use super::event::{Args, Event, Place, Trace, Value};
use crate::export::label::Labels;
use crate::export::tracks::{By, tracks};

/// Writes a process per device and a track per thread that used it.
pub(super) fn write(
    profile: &Profile,
    timeline: &Timeline,
    trace: &mut Trace<impl Write>,
) -> Result<(), ExportError> {
    if timeline.dropped > 0 {
        let name = format!("{} earlier calls dropped", timeline.dropped);
        let mut args = Args::default();
        args.push("dropped_events", Value::Count(timeline.dropped));
        trace.event(&Event::instant(&name, args))?;
    }
    let labels = Labels::of(profile);
    let tracks = tracks(timeline, By::DeviceAndThread);
    let mut devices: Vec<&str> = tracks.iter().map(|track| track.device).collect();
    devices.dedup();
    let mut process = 0;
    for (index, track) in tracks.iter().enumerate() {
        let is_new = index == 0 || tracks[index - 1].device != track.device;
        process += usize::from(is_new && index > 0);
        let place = Place::new(process, devices.len() + index);
        if is_new {
            let name = labels.device(track.device);
            trace.event(&Event::metadata("process_name", place, name))?;
        }
        let name = track.name(timeline);
        trace.event(&Event::metadata("thread_name", place, name))?;
        for &call in &track.calls {
            let call = &timeline.events[call];
            let span = (call.start_ns, call.duration_ns);
            let mut event = Event::call(&call.name, "call", place, span);
            event.args.attributes(&call.attributes);
            trace.event(&event)?;
        }
    }
    Ok(())
}
