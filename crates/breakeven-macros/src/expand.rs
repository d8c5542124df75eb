//! The function with its recording.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote;
use syn::{Ident, ReturnType, Type};

use crate::parse::Call;

/// The function, which records itself.
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

/// The name and the fields, as the macros take them.
fn arguments(call: &Call) -> TokenStream {
    let name = &call.name;
    let fields = call
        .fields
        .iter()
        .map(|(field, value)| quote!(, #field = #value));
    quote!(#name #(#fields)*)
}

/// A guard before everything else: it is dropped after everything else.
fn timed(call: &Call) -> TokenStream {
    let (path, arguments, body) = (&call.path, arguments(call), &call.function.body);
    let guard = Ident::new("_recorded_call", Span::mixed_site());
    quote! {
        let #guard = #path::scope!(#arguments);
        #body
    }
}

/// The body as a future inside one that records it.
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

/// The future that the body returns inside one that records it. A `return` in
/// the body leaves without being recorded.
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

/// The type `Pin<Box<dyn Future<…>>>`: an async function of a trait, as
/// `async_trait` makes it.
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

/// Says what the future returns, as the signature says it for a function: `?`
/// and coercions in the body need to know. Never runs.
fn returned(output: &ReturnType) -> TokenStream {
    let output = match output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, output) => match &**output {
            // Neither can be the type of a variable.
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
