//! What happens in the periodic mode, `breakeven monitor --every`, as data.

pub(crate) mod alert;
pub(crate) mod event;
