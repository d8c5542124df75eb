//! `#[profile]` on all kinds of functions.

use std::error::Error;
use std::fmt::{Debug, Display};
use std::task::{Context, Poll, Waker};

use breakeven_profile::profile;

use super::{only, shared, snapshot};

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    loop {
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

#[track_caller]
fn calls(name: &str) -> u64 {
    only(&snapshot(), name).runs[0].calls()
}

/// Its documentation stays.
#[profile]
#[must_use]
#[inline(never)]
fn early_return(number: i32) -> Result<i32, Box<dyn Error>> {
    if number < 0 {
        return Err("negative".into());
    }
    let parsed: i32 = "7".parse()?;
    Ok(number + parsed)
}

#[profile]
fn generic<T, const N: usize>(values: [T; N]) -> String
where
    T: Display + Debug,
{
    values
        .iter()
        .map(|value| format!("{value}{value:?}"))
        .collect()
}

#[profile]
fn returns_impl<'a>(text: &'a str) -> impl Iterator<Item = char> + 'a {
    text.chars().rev()
}

#[profile]
pub(crate) extern "C" fn with_an_abi(number: u32) -> u32 {
    number
}

#[profile]
fn r#match() {}

#[test]
fn plain_functions() {
    let _shared = shared();
    assert_eq!(early_return(1).unwrap(), 8);
    assert!(early_return(-1).is_err());
    assert_eq!(generic([1, 2]), "1122");
    assert_eq!(generic(["a"]), "a\"a\"");
    assert_eq!(returns_impl("abc").collect::<String>(), "cba");
    assert_eq!(with_an_abi(3), 3);
    r#match();
    for (name, expected) in [
        ("early_return", 2),
        ("generic", 2),
        ("returns_impl", 1),
        ("with_an_abi", 1),
        ("match", 1),
    ] {
        assert_eq!(calls(name), expected, "{name}");
    }
}

struct Counter(u32);

trait Count {
    #[profile(name = "Count::by_default")]
    fn by_default(&self) -> u32 {
        1
    }
    fn required(&mut self, by: u32) -> &mut u32;
}

impl Count for Counter {
    #[profile(name = "Counter::required", by = by, size = self.0)]
    fn required(&mut self, by: u32) -> &mut u32 {
        self.0 += by;
        &mut self.0
    }
}

impl Counter {
    #[profile(name = "Counter::into_inner")]
    fn into_inner(self: std::sync::Arc<Self>) -> u32 {
        self.0
    }

    #[profile(name = "Counter::later", bytes = extra.len())]
    async fn later(&mut self, extra: &[u8]) -> &u32 {
        self.0 += u32::try_from(extra.len()).unwrap();
        &self.0
    }
}

#[test]
fn methods() {
    let _shared = shared();
    let mut counter = Counter(1);
    assert_eq!(counter.by_default(), 1);
    *counter.required(5) += 1;
    assert_eq!(*block_on(counter.later(&[0; 3])), 10);
    assert_eq!(std::sync::Arc::new(counter).into_inner(), 10);
    let profile = snapshot();
    let required = only(&profile, "Counter::required");
    assert_eq!(required.attributes["by"], 5);
    assert_eq!(required.size, Some(1));
    assert_eq!(only(&profile, "Counter::later").bytes, Some(3));
    assert_eq!(calls("Count::by_default"), 1);
    assert_eq!(calls("Counter::into_inner"), 1);
}

#[profile]
async fn fails(number: &str) -> Result<Box<dyn Display>, Box<dyn Error + Send + Sync>> {
    let number: i32 = number.parse()?;
    if number == 0 {
        return Err("zero".into());
    }
    // A coercion that needs the return type.
    Ok(Box::new(number))
}

#[profile]
async fn returns_nothing() {}

#[profile]
async fn returns_impl_later(number: u8) -> impl Display {
    number
}

#[profile(crate = ::breakeven_profile)]
async fn generic_later<T>(value: T) -> Option<T>
where
    T: Send,
{
    let value = Some(value)?;
    Some(value)
}

#[test]
fn async_functions() {
    let _shared = shared();
    assert!(block_on(fails("1")).is_ok());
    assert!(block_on(fails("x")).is_err());
    assert!(block_on(fails("0")).is_err());
    block_on(returns_nothing());
    assert_eq!(block_on(returns_impl_later(3)).to_string(), "3");
    assert_eq!(block_on(generic_later("a")), Some("a"));
    for (name, expected) in [
        ("fails", 3),
        ("returns_nothing", 1),
        ("returns_impl_later", 1),
        ("generic_later", 1),
    ] {
        assert_eq!(calls(name), expected, "{name}");
    }
    // Nothing was waited for, so there is nothing to keep apart.
    assert!(only(&snapshot(), "fails").runs[0].phases_ns.is_empty());
}

#[profile]
async fn sent() -> u8 {
    1
}

#[test]
fn a_recorded_future_can_still_be_sent() {
    fn sendable<T: Send>(value: T) -> T {
        value
    }
    let _shared = shared();
    assert_eq!(block_on(sendable(sent())), 1);
}

struct Boxed(Vec<u32>);

impl Boxed {
    #[profile(size = micros)]
    fn boxed_future<'a>(
        &'a mut self,
        micros: u64,
    ) -> ::std::pin::Pin<Box<dyn Future<Output = u32> + Send + 'a>> {
        Box::pin(async move {
            super::spin(micros);
            self.0.push(3);
            self.0[0]
        })
    }
}

#[test]
fn a_boxed_future_is_recorded_while_it_runs_not_while_it_is_made() {
    let _shared = shared();
    assert_eq!(block_on(Boxed(Vec::new()).boxed_future(500)), 3);
    let profile = snapshot();
    let operation = only(&profile, "boxed_future");
    assert_eq!(operation.size, Some(500));
    assert!(operation.samples_ns().all(|ns| ns >= 500_000.0));
}
