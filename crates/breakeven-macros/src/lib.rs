//! The attribute `#[profile]`. Rust asks for a crate of its own for it;
//! programs name it through `breakeven_profile`.

use proc_macro::TokenStream;

mod expand;
mod parse;

/// Records every call of a function: `#[profile]` on functions and methods, on
/// sync and async ones.
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
/// The operation has the function's name, without its type and module:
/// functions of one name are one operation unless `name = "…"` tells them
/// apart. The other options are the fields of `scope!`; their values may use
/// the arguments. `crate = path` says where `breakeven_profile` is, for
/// programs that have it through another crate.
///
/// Of an async function a call lasts from the first time it is polled until it
/// is done; the time it was `polled` and the time `waiting` are apart. A call
/// that is dropped before it is done counts with what it took until then, and
/// the attribute `cancelled` counts those.
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
/// The same goes for functions that return `Pin<Box<dyn Future>>`, such as what
/// `async_trait` makes. Of one that returns another kind of future (`impl
/// Future`, `BoxFuture`), the call is the making of the future, not its run.
///
/// Unsafe functions, generic ones and those that return `impl Trait` are taken
/// as they are:
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
/// Nor can what is no function, or has no body:
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
