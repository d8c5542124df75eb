//! Parses the attribute's options and its function.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, Ident, LitStr, Path, Result, Signature, Token, Visibility};
use syn::{braced, token};

/// A function to record, and how to record it.
pub(crate) struct Call {
    /// The operation's name.
    pub(crate) name: LitStr,
    /// Path of `breakeven_profile`.
    pub(crate) path: TokenStream,
    /// Fields for `scope!`.
    pub(crate) fields: Vec<(Ident, Expr)>,
    pub(crate) function: Function,
}

/// A function whose body stays as tokens, because the macro does not look into it.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    /// Attributes at the beginning of the body.
    pub(crate) inner: Vec<Attribute>,
    pub(crate) body: TokenStream,
}

impl Call {
    /// Reads an option.
    fn set(&mut self, input: ParseStream<'_>) -> Result<()> {
        let key = input.call(Ident::parse_any)?;
        input.parse::<Token![=]>()?;
        if key == "name" {
            let wrong = |error: Error| Error::new(error.span(), "the name is a text: \"decode\"");
            self.name = input.parse().map_err(wrong)?;
            if self.name.value().is_empty() {
                return Err(Error::new(self.name.span(), "the name is empty"));
            }
        } else if key == "crate" {
            let path = input.call(Path::parse_mod_style)?;
            self.path = quote!(#path);
        } else {
            self.fields.push((key, input.parse()?));
        }
        Ok(())
    }
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let signature: Signature = input.parse().map_err(|error| {
            let message = "#[profile] goes on a function; for a block use scope!(\"name\")";
            Error::new(error.span(), message)
        })?;
        if !input.peek(token::Brace) {
            let message = "a function without a body cannot be recorded; put #[profile] on those \
                           that implement it";
            return Err(Error::new(signature.ident.span(), message));
        }
        let body;
        braced!(body in input);
        Ok(Self {
            attributes,
            visibility,
            signature,
            inner: body.call(Attribute::parse_inner)?,
            body: body.parse()?,
        })
    }
}

/// Parses the attribute's options and the function under it.
pub(crate) fn call(options: TokenStream, function: TokenStream) -> Result<Call> {
    let function: Function = syn::parse2(function)?;
    if let Some(constant) = &function.signature.constness {
        let message = "a const fn cannot be recorded, as it may run while the program is compiled; \
                       record the function that calls it";
        return Err(Error::new(constant.span(), message));
    }
    let mut call = Call {
        name: LitStr::new(
            &function.signature.ident.unraw().to_string(),
            function.signature.ident.span(),
        ),
        path: quote!(::breakeven_profile),
        fields: Vec::new(),
        function,
    };
    let options_of = |input: ParseStream<'_>| -> Result<()> {
        while !input.is_empty() {
            call.set(input)?;
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(())
    };
    options_of.parse2(options)?;
    Ok(call)
}
