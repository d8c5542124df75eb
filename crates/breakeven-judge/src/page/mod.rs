//! Printed output as data: headings, texts, facts, lists and tables. A command builds one [`Page`];
//! [`Page::text`] lays it out for a terminal of any width, [`Page::markdown`] for a report,
//! [`Page::html`] for a browser. Texts may come from untrusted files: control characters and markup
//! in them are removed or escaped here.

pub mod figures;
mod html;
mod markdown;
mod table;
mod text;

pub use html::{html, shown};
pub use table::{Column, Row, Table};
pub use text::{clean, is_obeyed};

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
