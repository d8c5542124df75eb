//! Records spans of `tracing` as operations.

use std::cell::RefCell;
use std::fmt;

use tracing_core::Subscriber;
use tracing_core::field::{Field as Named, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::call::Open;
use super::field::{Field, Figure, Value};
use super::future::AsyncCall;
use super::local;
use super::profiler::is_on;

/// Most nested spans per thread; further ones are not recorded.
const MAX_ENTERED: usize = 1_024;

/// A layer for a `tracing` subscriber: each span is a call of the operation of
/// its name.
///
/// A call lasts from the first time its span is entered until it is left for the last time. The
/// time inside is `polled`, the rest `waiting`; it may be entered on any thread. It is recorded
/// when the span is closed. The span's fields are those of [`scope!`](crate::scope): `device`,
/// `size`, `bytes`, `items`, `flops`, `memory_bytes` and `gpu_use` have their meaning (`device` and
/// `size` when the span is created), and all other fields are attributes. Its place on the call
/// path is where it is entered: an explicit parent changes nothing.
///
/// ```
/// use breakeven_profile::{get_profiler, recorder};
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let subscriber = tracing_subscriber::registry().with(recorder::TracingLayer::new());
/// tracing::subscriber::with_default(subscriber, || {
///     let _entered = tracing::info_span!("decode", bytes = 4096, codec = "png").entered();
/// });
/// let profile = get_profiler(true).snapshot();
/// assert_eq!(profile.operations[0].bytes, Some(4096));
/// assert_eq!(profile.operations[0].attributes["codec"], "png");
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[must_use]
pub struct TracingLayer(());

impl TracingLayer {
    /// The layer.
    pub fn new() -> Self {
        Self::default()
    }
}

thread_local! {
    /// The spans that the thread is in, each with its current slice.
    static ENTERED: RefCell<Vec<(Id, Open)>> = const { RefCell::new(Vec::new()) };
}

impl<S> Layer<S> for TracingLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if !is_on() {
            return;
        }
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let (name, device) = (attributes.metadata().name(), fields.device.take());
        let site = local::site_named(name, device.as_deref(), fields.size);
        let mut call = AsyncCall::of(site);
        fields.set_on(&mut call);
        if let Some(span) = context.span(id) {
            // Another layer of this kind may be registered: it records the same call.
            let mut extensions = span.extensions_mut();
            if extensions.get_mut::<AsyncCall>().is_none() {
                extensions.insert(call);
            }
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        // The span is locked while it changes. The program's own `Debug` code, which may panic or
        // enter the same span, must not run under that lock.
        let mut fields = Fields::default();
        values.record(&mut fields);
        change(id, &context, |call| fields.set_on(call));
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        change(id, &context, |call| {
            // An ending thread has no list any more.
            let _ = ENTERED.try_with(|entered| {
                let mut entered = entered.borrow_mut();
                if entered.len() < MAX_ENTERED {
                    entered.extend(call.begin().map(|open| (id.clone(), open)));
                }
            });
        });
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let open = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            let at = entered.iter().rposition(|(of, _)| of == id)?;
            Some(entered.remove(at).1)
        });
        if let Ok(Some(open)) = open {
            change(id, &context, |call| call.end(&open));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if let Some(span) = context.span(&id)
            && let Some(call) = span.extensions_mut().remove::<AsyncCall>()
        {
            call.finish();
        }
    }
}

/// Runs `with` on the span's recording, if there is one.
fn change<S>(id: &Id, context: &Context<'_, S>, with: impl FnOnce(&mut AsyncCall))
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    if let Some(span) = context.span(id)
        && let Some(call) = span.extensions_mut().get_mut::<AsyncCall>()
    {
        with(call);
    }
}

/// The fields of a span: its device and size, and the remaining fields.
#[derive(Default)]
struct Fields {
    device: Option<String>,
    size: Option<u64>,
    fields: Vec<Field<'static>>,
}

impl Fields {
    fn set_on(self, call: &mut AsyncCall) {
        let fields = self.fields.into_iter();
        fields.for_each(|field| call.set_field(field));
    }

    fn attribute(&mut self, field: &Named, value: Value<'_>) {
        if !["device", "size"].contains(&field.name()) {
            let attribute = Field::Attribute(field.name(), value.into_owned());
            self.fields.push(attribute);
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Named, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Named, value: &str) {
        match field.name() {
            "device" => self.device = Some(value.to_owned()),
            _ => self.attribute(field, value.into()),
        }
    }

    fn record_bool(&mut self, field: &Named, value: bool) {
        self.attribute(field, value.into());
    }

    fn record_f64(&mut self, field: &Named, value: f64) {
        match field.name() {
            "gpu_use" => self.fields.extend(Field::gpu_use(value)),
            _ => self.attribute(field, value.into()),
        }
    }

    fn record_i64(&mut self, field: &Named, value: i64) {
        match u64::try_from(value) {
            Ok(value) => self.record_u64(field, value),
            Err(_) => self.attribute(field, value.into()),
        }
    }

    fn record_u64(&mut self, field: &Named, value: u64) {
        let figure = match field.name() {
            "size" => return self.size = Some(value),
            "bytes" => Field::Figure(Figure::Bytes, value),
            "items" => Field::Figure(Figure::Items, value),
            "flops" => Field::Figure(Figure::Flops, value),
            "memory_bytes" => Field::MemoryBytes(value),
            "gpu_use" => return self.record_f64(field, value as f64),
            _ => return self.attribute(field, value.into()),
        };
        self.fields.push(figure);
    }
}
