//! Runs an operator's items as the executor's work, on the CPU and on GPUs.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

use super::control::Verify;
use super::result::{Stop, TaskError};
use super::slots::{Parts, Slots};
use super::tasks::first_of;
use super::work::{Flight, Lane, Ran, StopSign, Work, agreed, message, moved, wrong};
use crate::device::{Device, TensorDevice, TensorFlight};
use crate::error::{DeviceError, Error};
use crate::locked;
use crate::operator::{Operator, View};
use crate::schedule::Span;
use crate::tensor::{Tensor, shape};

/// An operator's items, and where its output goes.
pub(super) struct Items<'b, O: Operator + ?Sized> {
    operator: &'b O,
    inputs: Vec<&'b Tensor<'b, O::In>>,
    pub(super) shape: Vec<usize>,
    rows: Slots<O::Out>,
    /// The output, if one launch made all of it.
    whole: Mutex<Option<Tensor<'static, O::Out>>>,
    failed: Mutex<Option<(usize, TaskError<Error>)>>,
}

impl<'b, O: Operator + ?Sized> Items<'b, O> {
    pub(super) fn new(
        operator: &'b O,
        inputs: &[&'b Tensor<'b, O::In>],
        shape: Vec<usize>,
    ) -> Result<Self, Error> {
        let width = usize::try_from(shape::elements(&shape[1..])).unwrap_or(usize::MAX);
        let rows = Slots::rows(shape[0], width).ok_or_else(|| {
            Error::too_large(format!(
                "the output of {}, {}, does not fit memory",
                operator.name(),
                shape::text(&shape)
            ))
        })?;
        Ok(Self {
            operator,
            inputs: inputs.to_vec(),
            shape,
            rows,
            whole: Mutex::default(),
            failed: Mutex::default(),
        })
    }

    /// Computes some items on this thread and the current pool.
    fn compute(&self, range: &Range<usize>, out: &mut [O::Out]) -> Result<(), Error> {
        let mut shapes = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            let mut shape = input.shape().to_vec();
            shape[0] = range.len();
            shapes.push(shape);
        }
        let mut views = Vec::with_capacity(shapes.len());
        for (input, shape) in self.inputs.iter().zip(&shapes) {
            let each = input.item_len();
            let values = &input.host()?[range.start * each..range.end * each];
            views.push(View { shape, values });
        }
        match out.is_empty() {
            true => Ok(()),
            false => self.operator.cpu(&views, out),
        }
    }

    /// Returns the item that failed, or the output.
    pub(super) fn into_parts(self) -> Parts<Tensor<'static, O::Out>, Error> {
        let whole = locked(&self.whole).take();
        let rows = || Tensor::new(self.rows.into_outputs().ok()?, &self.shape).ok();
        let output = whole.or_else(rows).map(|output| vec![output]);
        (locked(&self.failed).take(), output.ok_or(None))
    }
}

impl<O: Operator + ?Sized> Work for Items<'_, O> {
    fn run(&self, span: Span, _: StopSign<'_>) -> Ran {
        let range = span.range();
        let mut writer = self.rows.writer(span);
        let compute = || self.compute(&range, writer.rows());
        let error = match catch_unwind(AssertUnwindSafe(compute)) {
            Ok(Ok(())) => {
                writer.finish();
                return Ran::Done;
            }
            Ok(Err(error)) => TaskError::Failed(error),
            Err(panic) => TaskError::Panicked(message(panic)),
        };
        first_of(&self.failed, range.start, error);
        Ran::Failed
    }

    fn is_call(&self) -> bool {
        true
    }

    /// A stop ends the batch: a tensor cannot be incomplete.
    fn leave_out(&self, _: Span, _: Stop) {}

    /// An operator's own implementation divides a complete batch best.
    fn is_whole(&self) -> bool {
        true
    }
}

/// A GPU and the items that it may get.
pub(super) struct ItemsLane<'b, O: Operator + ?Sized, G, V> {
    pub(super) items: &'b Items<'b, O>,
    pub(super) gpu: &'b G,
    pub(super) verify: &'b V,
}

impl<O: Operator + ?Sized, G: TensorDevice, V> ItemsLane<'_, O, G, V> {
    /// Returns true if the GPU has all inputs already.
    pub(super) fn has_all(&self) -> bool {
        let mut inputs = self.items.inputs.iter();
        inputs.all(|input| self.gpu.has(input))
    }
}

impl<O, G, V> Lane for ItemsLane<'_, O, G, V>
where
    O: Operator + ?Sized,
    G: TensorDevice,
    V: Verify<Tensor<'static, O::Out>>,
{
    fn device(&self) -> Option<&dyn Device> {
        self.gpu.device()
    }

    fn batch_bytes(&self) -> Option<u64> {
        let inputs = self.items.inputs.iter();
        let shapes: Vec<&[usize]> = inputs.map(|input| input.shape()).collect();
        self.gpu.call_bytes(self.items.operator, &shapes)
    }

    fn depth(&self) -> usize {
        // Data that is on the device already needs no transfers, and the output stays there.
        if self.has_all() { 1 } else { 3 }
    }

    fn keeps_outputs(&self) -> bool {
        self.has_all()
    }

    fn start<'l>(&'l self, range: Range<usize>) -> Result<Box<dyn Flight + 'l>, DeviceError> {
        let items = self.items;
        let mut shape = items.shape.clone();
        shape[0] = range.len();
        let stays = shape == items.shape && self.has_all();
        let parts = items.inputs.iter().map(|input| input.items(range.clone()));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        Ok(Box::new(ItemsFlight {
            lane: self,
            shape,
            future: Some(self.gpu.start_call(items.operator, &parts, stays)?),
            output: None,
        }))
    }
}

struct ItemsFlight<'l, 'b, O: Operator + ?Sized, G, V> {
    lane: &'l ItemsLane<'b, O, G, V>,
    /// The shape of its output.
    shape: Vec<usize>,
    /// None once the output is available.
    future: Option<TensorFlight<O::Out>>,
    output: Option<Tensor<'static, O::Out>>,
}

impl<O, G, V> Flight for ItemsFlight<'_, '_, O, G, V>
where
    O: Operator + ?Sized,
    G: TensorDevice,
    V: Verify<Tensor<'static, O::Out>>,
{
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Duration>, DeviceError>> {
        let Some(future) = &mut self.future else {
            return Poll::Ready(Ok(None));
        };
        let outcome = std::task::ready!(future.as_mut().poll(context));
        let moved = moved(&outcome, || future.transfer_time());
        self.future = None;
        let output = self.output.insert(outcome?);
        if output.shape() != self.shape {
            let [found, expected] = [output.shape(), &self.shape].map(shape::text);
            let what = format!("an output of shape {found} where it should be {expected}");
            return Poll::Ready(Err(wrong(what)));
        }
        if self.shape != self.lane.items.shape {
            output.host()?;
        }
        Poll::Ready(Ok(moved))
    }

    fn check(&self, first: usize, task: usize) -> Result<(), DeviceError> {
        let items = self.lane.items;
        agreed(task, || {
            let mut shape = items.shape.clone();
            shape[0] = 1;
            let mut values = bytemuck::zeroed_vec(shape::product("an output", &shape)?);
            items.compute(&(task..task + 1), &mut values)?;
            let expected = Tensor::new(values, &shape)?;
            let output = self.output.as_ref();
            let output = output.ok_or_else(|| Error::invalid("no output"))?;
            let place = task - first;
            let output = output.items(place..place + 1)?;
            Ok::<_, Error>(self.lane.verify.agree(&output, &expected))
        })
    }

    fn keep(self: Box<Self>, span: Span) {
        let items = self.lane.items;
        let Some(output) = self.output else { return };
        if self.shape == items.shape {
            *locked(&items.whole) = Some(output);
            return;
        }
        let mut writer = items.rows.writer(span);
        // The device's own thread brought it to the host.
        if let Ok(values) = output.host() {
            writer.rows().copy_from_slice(values);
            writer.finish();
        }
    }
}
