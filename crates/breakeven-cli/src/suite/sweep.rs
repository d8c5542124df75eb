//! What a sweep changes of a kernel's workload, and over which values.

use std::fmt;
use std::str::FromStr;

use breakeven::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

use super::table::{self, Row, Shape};

/// What is changed from one point of a sweep to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Over {
    /// The size of one item: the length of a vector or series, the side of an image,
    /// the order of a matrix.
    #[default]
    Size,
    /// The items in the batch.
    Batch,
    /// The window of `pixel_entropy`.
    Window,
    /// The hidden units of `lstm_cell_forward`, with a quarter as many items in the
    /// batch: 16/64, 32/128, 64/256.
    Hidden,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Points {
    /// Any from the first to the last; these are the default ones.
    Range([u64; 2]),
    /// These and no others: nothing is between them.
    Fixed(Vec<u64>),
}

/// Of a sweep over hidden units.
const HIDDEN_PER_ITEM: usize = 4;

/// Elements that the default range of a batch ends at.
const BATCH_ELEMENTS: u64 = 1 << 22;

/// Most items of that range.
const MOST_ITEMS: u64 = 1 << 14;

impl Over {
    pub(crate) const ALL: [Self; 4] = [Self::Size, Self::Batch, Self::Window, Self::Hidden];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Batch => "batch",
            Self::Window => "window",
            Self::Hidden => "hidden",
        }
    }

    /// What of this kernel a sweep can change, the default first.
    pub(crate) fn of(kernel: &str) -> Result<&'static [Self], Error> {
        Ok(table::row(kernel, 1)?.sweeps)
    }

    /// The values of a sweep of that kernel.
    pub(crate) fn points(self, kernel: &str) -> Result<Points, Error> {
        let row = table::row(kernel, 1)?;
        self.checked(row, 1)?;
        Ok(match self {
            Self::Size => Points::Range(row.sizes),
            Self::Batch => {
                let item = row.workload.item().max(1);
                Points::Range([1, (BATCH_ELEMENTS / item).clamp(2, MOST_ITEMS)])
            }
            Self::Window => Points::Fixed(vec![8, 16, 32]),
            Self::Hidden => Points::Fixed(vec![64, 128, 256]),
        })
    }

    pub(super) fn checked(self, row: &Row, value: usize) -> Result<Shape, Error> {
        if value == 0 {
            let message = format!("a {self} of zero leaves nothing to measure; give 1 or more");
            return Err(Error::shape(message));
        }
        if !row.sweeps.contains(&self) {
            let known: Vec<&str> = row.sweeps.iter().map(|over| over.name()).collect();
            let (name, known) = (row.name, known.join(" or "));
            let message = format!("a sweep of {name} is over {known}, not over {self}");
            return Err(Error::invalid(message));
        }
        let shape = row.workload;
        Ok(match self {
            // Of vectors the length, of squares the side.
            Self::Size => Shape {
                rows: if shape.rows == 1 { 1 } else { value },
                columns: value,
                ..shape
            },
            Self::Batch => shape.with_batch(value),
            Self::Window => Shape {
                window: value,
                ..shape
            },
            Self::Hidden => Shape {
                batch: value.div_ceil(HIDDEN_PER_ITEM),
                columns: value,
                ..shape
            },
        })
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Over {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|over| over.name() == text);
        found.ok_or_else(|| {
            let message =
                format!("a sweep is over size, batch, window or hidden, not over {text:?}");
            Error::new(ErrorKind::UnknownName, message)
        })
    }
}
