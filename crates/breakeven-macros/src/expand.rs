//! Generates the function with its recording.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote;
use syn::{Ident, ReturnType, Type};

use crate::parse::Call;

/// The function, which records its calls.
pub(crate) fn expand(call: &Call) -> TokenStream {
    let function = &call.function;
    let (attributes, visibility) = (&function.attributes, &function.visibility);
    let (signature, inner) = (&function.signature, &function.inner);
    let body = if signature.asyncness.is_some() {
        polled(call)
    } else if let Some(future) = boxed_future(&signature.output) {
        boxed(call, future)
    } else {
        timed(call)
    };
    quote! {
        #(#attributes)*
        #visibility #signature {
            #(#inner)*
            #body
        }
    }
}

/// The name and the fields, as the macros of `breakeven_profile` take them.
fn arguments(call: &Call) -> TokenStream {
    let name = &call.name;
    let fields = call
        .fields
        .iter()
        .map(|(field, value)| quote!(, #field = #value));
    quote!(#name #(#fields)*)
}

/// The guard comes first, so that it is dropped last.
fn timed(call: &Call) -> TokenStream {
    let (path, arguments, body) = (&call.path, arguments(call), &call.function.body);
    let guard = Ident::new("_recorded_call", Span::mixed_site());
    quote! {
        let #guard = #path::scope!(#arguments);
        #body
    }
}

/// Wraps the body, as a future, in a future that records it.
fn polled(call: &Call) -> TokenStream {
    let (path, arguments, body) = (&call.path, arguments(call), &call.function.body);
    let returned = returned(&call.function.signature.output);
    quote! {
        #path::__async_scope!(#arguments).record(async move {
            #returned
            #body
        }).await
    }
}

/// Wraps the future that the body returns in one that records it. A `return` in the body is not
/// recorded.
fn boxed(call: &Call, output: &Type) -> TokenStream {
    let (path, arguments, body) = (&call.path, arguments(call), &call.function.body);
    let recorded = Ident::new("recorded_call", Span::mixed_site());
    let future = Ident::new("future", Span::mixed_site());
    quote! {
        let #recorded = #path::__async_scope!(#arguments);
        let #future: #output = { #body };
        ::std::boxed::Box::pin(#recorded.record(#future))
    }
}

/// Recognises `Pin<Box<dyn Future<…>>>`, the type that `async_trait` gives async functions of a
/// trait.
fn boxed_future(output: &ReturnType) -> Option<&Type> {
    let ReturnType::Type(_, output) = output else {
        return None;
    };
    let text = quote!(#output).to_string().replace(' ', "");
    let (pin, of_box) = text.split_once('<')?;
    let (boxed, of_dyn) = of_box.split_once('<')?;
    let (future, _) = of_dyn.strip_prefix("dyn")?.split_once('<')?;
    let last = |path: &str| path.rsplit("::").next().unwrap_or_default().to_owned();
    let names = [pin, boxed, future].map(last);
    (names == ["Pin", "Box", "Future"]).then_some(&**output)
}

/// States the future's output type, which `?` and coercions in the body need, as a function's
/// signature does. Never runs.
fn returned(output: &ReturnType) -> TokenStream {
    let output = match output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, output) => match &**output {
            // Neither type can be the type of a variable.
            Type::Never(_) => return TokenStream::new(),
            output if names_impl(quote!(#output)) => return TokenStream::new(),
            output => quote!(#output),
        },
    };
    let value = Ident::new("returned", Span::mixed_site());
    quote! {
        #[allow(
            unreachable_code,
            clippy::diverging_sub_expression,
            clippy::empty_loop,
            clippy::let_unit_value,
            clippy::needless_return,
            clippy::unused_unit
        )]
        if false {
            let #value: #output = loop {};
            return #value;
        }
    }
}

fn names_impl(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "impl",
        TokenTree::Group(group) => names_impl(group.stream()),
        _ => false,
    })
}
