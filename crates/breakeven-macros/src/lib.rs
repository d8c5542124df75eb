//! The attribute `#[profile]`. Rust requires a separate crate for it; programs use it through
//! `breakeven_profile`.

use proc_macro::TokenStream;

mod expand;
mod parse;

/// Records every call of a function: `#[profile]` on sync and async functions and methods.
///
/// ```
/// use breakeven_profile::{get_profiler, profile};
///
/// #[profile]
/// fn decode(frame: &[u8]) -> usize {
///     frame.len()
/// }
///
/// struct Image(Vec<u8>);
///
/// impl Image {
///     #[profile(name = "Image::blur", size = self.0.len(), bytes = 2 * self.0.len(), radius = radius)]
///     fn blur(&mut self, radius: u32) {
///         self.0.reverse();
///     }
/// }
///
/// decode(&[1, 2, 3]);
/// Image(vec![0; 100]).blur(3);
/// let profile = get_profiler(true).snapshot();
/// assert_eq!(profile.operations[0].name, "decode");
/// assert_eq!(profile.operations[1].bytes, Some(200));
/// ```
///
/// The operation has the function's name, without its type and module. Functions of the same name
/// are recorded as one operation unless `name = "…"` distinguishes them. The other options are the
/// fields of `scope!`; their values may use the arguments. `crate = path` names `breakeven_profile`
/// if a program uses it through another crate.
///
/// A call of an async function lasts from its first poll until it is done. The time in polls
/// (`polled`) and the time between them (`waiting`) are recorded separately. A call that is dropped
/// before it is done is recorded with the time up to then, and the attribute `cancelled` counts
/// such calls.
///
/// ```
/// # use breakeven_profile::profile;
/// #[profile]
/// async fn fetch(url: &str) -> Result<String, std::io::Error> {
///     let text = std::fs::read_to_string(url)?;
///     Ok(text)
/// }
/// # let _never_polled = fetch("");
/// ```
///
/// The same applies to functions that return `Pin<Box<dyn Future>>`, such as those that
/// `async_trait` generates. For a function that returns another kind of future (`impl Future`,
/// `BoxFuture`), the recorded call is the creation of the future, not its run.
///
/// Unsafe functions, generic functions and functions that return `impl Trait` need nothing special:
///
/// ```
/// # use breakeven_profile::profile;
/// /// # Safety
/// ///
/// /// `pointer` points to a byte that may be read.
/// #[profile]
/// unsafe fn first<'a>(pointer: *const u8) -> impl Copy + 'a {
///     // SAFETY: asked of the caller.
///     unsafe { *pointer }
/// }
/// // SAFETY: a reference.
/// unsafe { first(&7) };
/// ```
///
/// A `const fn` may run while the program is compiled, so it cannot be recorded:
///
/// ```compile_fail
/// # use breakeven_profile::profile;
/// #[profile]
/// const fn twice(number: u32) -> u32 {
///     2 * number
/// }
/// ```
///
/// Items that are not functions, and functions without a body, are refused:
///
/// ```compile_fail
/// # use breakeven_profile::profile;
/// #[profile]
/// struct Frame;
/// ```
///
/// ```compile_fail
/// # use breakeven_profile::profile;
/// trait Decode {
///     #[profile]
///     fn decode(&self);
/// }
/// ```
#[proc_macro_attribute]
pub fn profile(options: TokenStream, function: TokenStream) -> TokenStream {
    let expanded = parse::call(options.into(), function.into())
        .map(|call| expand::expand(&call))
        .unwrap_or_else(|error| error.into_compile_error());
    expanded.into()
}
