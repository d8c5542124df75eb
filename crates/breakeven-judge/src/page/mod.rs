//! What is printed, as data: headings, texts, facts, lists and tables. Whoever has
//! something to say makes a [`Page`] of it, once; [`Page::text`] lays it out for a
//! terminal of any width, [`Page::markdown`] for a report. Texts may come from
//! anyone's file: what a terminal or Markdown would obey is taken out here.

mod markdown;
mod table;
mod text;

pub use table::{Column, Row, Table};
pub use text::{clean, is_obeyed};

/// Rows of a table in Markdown; the rest is counted. With them a page stays under 600 KB:
/// a step summary of GitHub may have 1 MiB. A terminal gets them all.
const MOST_ROWS: usize = 300;

/// Items of a list; the rest is counted.
const MOST_ITEMS: usize = 50;

/// Columns of the terminal that a library prints for.
pub(crate) const WIDTH: usize = 80;

/// How a text is meant, which is its colour on a terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// What the eye should find.
    Strong,
    /// What is beside the point.
    Faint,
    /// Good news.
    Good,
    /// To be looked at.
    Warning,
    /// Bad news.
    Bad,
}

/// A text and how it is meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    /// One line of any length.
    pub text: String,
    /// How it is meant.
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

/// One thing of a list: what it is, and facts about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Item {
    /// What it is, in parts of different tones.
    pub head: Vec<Text>,
    /// Below it: a word in front of each text.
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

/// A part of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// The name of what follows.
    Heading(Text),
    /// A paragraph.
    Text(Text),
    /// Names and what is said of each.
    Facts(Vec<(String, Text)>),
    /// One thing below the other.
    List(Vec<Item>),
    /// Rows of figures.
    Table(Table),
    /// Lines that are a picture: never broken, and no more than 80 columns wide.
    Picture(Vec<String>),
}

/// A page: blocks in their order.
#[derive(Debug, Clone, Default, PartialEq)]
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

    /// Adds a paragraph beside the point.
    pub fn aside(&mut self, text: impl Into<String>) {
        self.say(Text::new(text, Tone::Faint));
    }

    /// Adds facts, where there are any.
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

    /// Adds a list below its heading, where there is anything in it.
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

    /// Adds a list, where there is anything in it.
    pub fn items(&mut self, items: Vec<Item>) {
        if !items.is_empty() {
            self.blocks.push(Block::List(items));
        }
    }

    /// Adds a table, where it has rows.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }
}
