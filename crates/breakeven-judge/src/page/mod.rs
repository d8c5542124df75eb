//! Printed output as data: headings, texts, facts, lists and tables. A command builds one [`Page`];
//! [`Page::text`] lays it out for a terminal of any width, [`Page::markdown`] for a report,
//! [`Page::html`] for a browser. Texts may come from untrusted files: control characters and markup
//! in them are removed or escaped here.

pub mod figures;
mod html;
mod markdown;
mod text;

pub use html::{html, shown};
pub use text::{clean, is_obeyed};
use unicode_width::UnicodeWidthStr;

/// Most rows of a table in Markdown and HTML; the rest is counted. This keeps a page under
/// 600 KB: a step summary of GitHub may have 1 MiB. A terminal gets all rows.
const MOST_ROWS: usize = 300;

/// Most items of a list; the rest is counted.
const MOST_ITEMS: usize = 50;

/// Terminal width, in columns, that the library assumes.
pub(crate) const WIDTH: usize = 80;

/// The tone of a text, which sets its colour on a terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// Plain.
    #[default]
    Plain,
    /// Emphasised.
    Strong,
    /// Less important.
    Faint,
    /// Good news.
    Good,
    /// Needs attention.
    Warning,
    /// Bad news.
    Bad,
}

/// A text and its tone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Text {
    /// One line of any length.
    pub text: String,
    /// Its tone.
    pub tone: Tone,
}

impl Text {
    /// A text in a tone.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self {
            text: text.into(),
            tone,
        }
    }
}

impl<T: Into<String>> From<T> for Text {
    fn from(text: T) -> Self {
        Self::new(text, Tone::Plain)
    }
}

/// One item of a list: a head, and facts about it.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Item {
    /// The head, in segments of different tones.
    pub head: Vec<Text>,
    /// The facts below it: a label and a text each.
    pub facts: Vec<(String, Text)>,
}

impl<T: Into<Text>> From<T> for Item {
    fn from(text: T) -> Self {
        Self {
            head: vec![text.into()],
            facts: Vec::new(),
        }
    }
}

/// A block of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading.
    Heading(Text),
    /// A paragraph.
    Text(Text),
    /// Labels, each with its text.
    Facts(Vec<(String, Text)>),
    /// A list of items.
    List(Vec<Item>),
    /// Rows of figures.
    Table(Table),
    /// Lines of a text plot: never broken, at most 80 columns wide.
    Picture(Vec<String>),
}

/// A page: blocks in their order.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Page {
    /// The blocks.
    pub blocks: Vec<Block>,
}

impl Page {
    /// Adds a heading.
    pub fn heading(&mut self, text: impl Into<Text>) {
        self.blocks.push(Block::Heading(text.into()));
    }

    /// Adds a paragraph.
    pub fn say(&mut self, text: impl Into<Text>) {
        self.blocks.push(Block::Text(text.into()));
    }

    /// Adds a less important paragraph.
    pub fn aside(&mut self, text: impl Into<String>) {
        self.say(Text::new(text, Tone::Faint));
    }

    /// Adds facts, if there are any.
    pub fn facts<N: Into<String>, T: Into<Text>>(
        &mut self,
        facts: impl IntoIterator<Item = (N, T)>,
    ) {
        let facts = facts.into_iter();
        let facts: Vec<_> = facts
            .map(|(name, text)| (name.into(), text.into()))
            .collect();
        if !facts.is_empty() {
            self.blocks.push(Block::Facts(facts));
        }
    }

    /// Adds a list below its heading, unless the list is empty.
    pub fn list<I: Into<Item>>(
        &mut self,
        heading: impl Into<Text>,
        items: impl IntoIterator<Item = I>,
    ) {
        let items: Vec<Item> = items.into_iter().map(Into::into).collect();
        if !items.is_empty() {
            self.heading(heading);
        }
        self.items(items);
    }

    /// Adds a list, unless it is empty.
    pub fn items(&mut self, items: Vec<Item>) {
        if !items.is_empty() {
            self.blocks.push(Block::List(items));
        }
    }

    /// Adds a table, if it has rows.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }
}

// Lays out tables: which columns fit, and how wide each is.

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
const GAP: usize = 2;

/// Widest column of names while other columns need the room; a longer name gets a line of its own.
const MOST_NAME: usize = 26;

/// Preferred and smallest width of a column of words.
const MOST_WORDS: usize = 30;
const LEAST: usize = 6;

/// The indices and widths of the columns that are printed, and the heads of the columns
/// that do not fit.
struct Layout {
    columns: Vec<(usize, usize)>,
    left_out: Vec<String>,
}

impl Table {
    /// The columns that are not empty.
    fn used(&self) -> Vec<usize> {
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
    fn is_broken(&self, column: usize) -> bool {
        column > 0 && self.columns[column].words
    }

    /// The columns that fit into `width`.
    fn layout(&self, width: usize) -> Layout {
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
