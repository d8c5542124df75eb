//! The macro that begins a recorded call.

/// Records the time until the end of the block that contains the guard.
///
/// ```
/// use breakeven_profile::scope;
///
/// fn decode(frame: &[u8]) -> usize {
///     let _s = scope!("decode", bytes = frame.len());
///     frame.iter().filter(|byte| **byte > 100).count()
/// }
/// # decode(&[1, 200]);
/// ```
///
/// The name is a constant text. Fields follow it as `name = value`:
///
/// | field | type | in the profile |
/// |---|---|---|
/// | `device` | `&str` | the operation's device, else `cpu` |
/// | `size` | whole number | the operation's size in elements |
/// | `bytes`, `items`, `flops` | whole number | the mean over the calls that set it |
/// | `memory_bytes` | whole number | the largest value of any call |
/// | `gpu_use` | `f64`, 0 to 1 | the mean over the calls that set it |
/// | any other | `bool`, number, text | an attribute: the last value |
///
/// Name, device and size together identify an operation. While recording is off the values are not
/// computed, and a guard without fields never pays for them. Values that are only known later are
/// set on the guard, as in `guard.bytes(written)`.
///
/// ```
/// # use breakeven_profile::scope;
/// # let (pixels, path) = (1_u64 << 20, "a.png");
/// let call = scope!("resize", device = "cpu", size = pixels, items = 1, source = path);
/// call.bytes(4 * pixels);
/// ```
#[macro_export]
macro_rules! scope {
    ($name:expr $(,)?) => {{
        static __BREAKEVEN_SITE: $crate::recorder::Site = $crate::recorder::Site::new($name);
        $crate::recorder::Guard::enter(&__BREAKEVEN_SITE)
    }};
    ($name:expr, $($field:ident = $value:expr),+ $(,)?) => {{
        static __BREAKEVEN_SITE: $crate::recorder::Site = $crate::recorder::Site::new($name);
        if $crate::recorder::is_on() {
            let mut guard = $crate::recorder::Guard::enter_on(
                &__BREAKEVEN_SITE,
                $crate::__scope_device!($($field = $value,)+),
                $crate::__scope_size!($($field = $value,)+),
            );
            $( $crate::__scope_set!(guard, $field, $value); )+
            guard.start();
            guard
        } else {
            $crate::recorder::Guard::off()
        }
    }};
}

/// The form that `#[profile]` gives an async function's options.
#[doc(hidden)]
#[macro_export]
macro_rules! __async_scope {
    ($name:expr $(, $field:ident = $value:expr)* $(,)?) => {{
        static __BREAKEVEN_SITE: $crate::recorder::Site = $crate::recorder::Site::new($name);
        if $crate::recorder::is_on() {
            #[allow(unused_mut)]
            let mut call = $crate::recorder::AsyncCall::enter_on(
                &__BREAKEVEN_SITE,
                $crate::__scope_device!($($field = $value,)*),
                $crate::__scope_size!($($field = $value,)*),
            );
            $( $crate::__scope_set!(call, $field, $value); )*
            call
        } else {
            $crate::recorder::AsyncCall::off()
        }
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __scope_device {
    () => { ::core::option::Option::None };
    (device = $value:expr, $($rest:tt)*) => {
        ::core::option::Option::Some(::core::convert::AsRef::<str>::as_ref(&$value))
    };
    ($field:ident = $value:expr, $($rest:tt)*) => { $crate::__scope_device!($($rest)*) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __scope_size {
    () => { ::core::option::Option::None };
    (size = $value:expr, $($rest:tt)*) => {
        ::core::option::Option::Some($crate::recorder::count($value))
    };
    ($field:ident = $value:expr, $($rest:tt)*) => { $crate::__scope_size!($($rest)*) };
}

/// Sets a field on the guard; device and size are set already.
#[doc(hidden)]
#[macro_export]
macro_rules! __scope_set {
    ($guard:ident, device, $value:expr) => {};
    ($guard:ident, size, $value:expr) => {};
    ($guard:ident, bytes, $value:expr) => {
        $guard.bytes($value)
    };
    ($guard:ident, items, $value:expr) => {
        $guard.items($value)
    };
    ($guard:ident, flops, $value:expr) => {
        $guard.flops($value)
    };
    ($guard:ident, memory_bytes, $value:expr) => {
        $guard.memory_bytes($value)
    };
    ($guard:ident, gpu_use, $value:expr) => {
        $guard.gpu_use($value)
    };
    ($guard:ident, $field:ident, $value:expr) => {
        $guard.attribute(stringify!($field), $value)
    };
}
