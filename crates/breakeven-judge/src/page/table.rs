//! Lays out tables: which columns fit, and how wide each is.

use unicode_width::UnicodeWidthStr;

use super::Text;

/// Rows of figures with a name in front.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Table {
    /// Heading of the groups, such as `operation`; empty without groups.
    pub groups: String,
    /// The columns; the first has the names.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Column {
    /// Its head.
    pub head: String,
    /// True for words, aligned left; false for figures, aligned right.
    pub words: bool,
    /// If the table is too wide, columns of the least weight are dropped first. The
    /// column of the names and those of weight [`Column::KEPT`] stay.
    pub weight: u8,
}

impl Column {
    /// The weight of a column that is never dropped.
    pub const KEPT: u8 = u8::MAX;

    /// A column of figures.
    pub fn figures(head: impl Into<String>, weight: u8) -> Self {
        Self {
            head: head.into(),
            words: false,
            weight,
        }
    }

    /// A column of words of any length, which wraps.
    pub fn words(head: impl Into<String>, weight: u8) -> Self {
        Self {
            words: true,
            ..Self::figures(head, weight)
        }
    }
}

/// A row.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Row {
    /// Its group, printed once above consecutive rows of the same group.
    pub group: Text,
    /// One cell per column, the name first. A cell may be empty.
    pub cells: Vec<Text>,
    /// Remarks on the row.
    pub notes: Vec<Text>,
}

impl Row {
    /// A row of cells.
    pub fn new<T: Into<Text>>(cells: impl IntoIterator<Item = T>) -> Self {
        Self {
            cells: cells.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

/// Columns between two cells.
pub(super) const GAP: usize = 2;

/// Widest column of names while other columns need the room; a longer name gets a line of its own.
const MOST_NAME: usize = 26;

/// Preferred and smallest width of a column of words.
const MOST_WORDS: usize = 30;
const LEAST: usize = 6;

/// The indices and widths of the columns that are printed, and the heads of the columns
/// that do not fit.
pub(super) struct Layout {
    pub(super) columns: Vec<(usize, usize)>,
    pub(super) left_out: Vec<String>,
}

impl Table {
    /// The columns that are not empty.
    pub(super) fn used(&self) -> Vec<usize> {
        let filled = |column: &usize| {
            let mut cells = self.rows.iter().filter_map(|row| row.cells.get(*column));
            cells.any(|cell| !cell.text.is_empty())
        };
        let columns = 0..self.columns.len();
        columns
            .filter(|column| *column == 0 || filled(column))
            .collect()
    }

    /// True for a column of words after the names: its cells may have several lines.
    pub(super) fn is_broken(&self, column: usize) -> bool {
        column > 0 && self.columns[column].words
    }

    /// The columns that fit into `width`.
    pub(super) fn layout(&self, width: usize) -> Layout {
        let natural = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
            let widest = cells.map(|cell| cell.text.width()).max().unwrap_or(0);
            widest.max(self.columns[column].head.width())
        };
        let mut columns: Vec<(usize, usize)> = (self.used().into_iter())
            .map(|column| (column, natural(column)))
            .collect();
        let least = |(column, wide): &(usize, usize)| match column {
            0 => (*wide).min(MOST_NAME),
            &column if self.is_broken(column) => (*wide).min(MOST_WORDS),
            _ => *wide,
        };
        let needed = |columns: &[(usize, usize)]| {
            let cells: usize = columns.iter().map(least).sum();
            cells + GAP * columns.len().saturating_sub(1)
        };
        let mut left_out = Vec::new();
        while needed(&columns) > width {
            let weight = |(column, _): &(usize, usize)| self.columns[*column].weight;
            let droppable =
                (1..columns.len()).filter(|place| weight(&columns[*place]) < Column::KEPT);
            let Some(lightest) = droppable.min_by_key(|place| weight(&columns[*place])) else {
                break;
            };
            let (column, _) = columns.remove(lightest);
            left_out.push(self.columns[column].head.clone());
        }
        // Columns of words get the remaining width, then the names; if it is too little, the names
        // shrink first, then the words.
        let needed = needed(&columns);
        let (mut spare, mut lacking) = (width.saturating_sub(needed), needed.saturating_sub(width));
        for place in (0..columns.len()).rev() {
            let (column, wide) = columns[place];
            if column == 0 || self.is_broken(column) {
                let given = least(&columns[place]);
                columns[place].1 = wide.min(given + spare);
                spare -= columns[place].1 - given;
            }
        }
        for (column, wide) in &mut columns {
            if *column == 0 || self.is_broken(*column) {
                let less = lacking.min(wide.saturating_sub(LEAST));
                *wide -= less;
                lacking -= less;
            }
        }
        Layout { columns, left_out }
    }
}
