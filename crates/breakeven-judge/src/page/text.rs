//! Renders a page for a terminal: no line exceeds its width, and no text is cut.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Block, GAP, Item, MOST_ITEMS, Page, Row, Table, Text, Tone};

/// Smallest supported width: a narrower terminal breaks lines itself.
const LEAST_WIDTH: usize = 40;

/// Indent of the second and later lines of an item.
const INDENT: &str = "  ";

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().bold(),
            Self::Faint => Style::new().dimmed(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
        }
    }
}

impl Page {
    /// Writes the page for a terminal of `width` columns, with ANSI `colours` or without.
    pub fn text(&self, width: usize, colours: bool, out: &mut dyn Write) -> io::Result<()> {
        let width = width.max(LEAST_WIDTH);
        let mut to = Terminal {
            width,
            colours,
            out,
        };
        let mut before: Option<&Block> = None;
        for block in &self.blocks {
            let apart = match block {
                Block::Heading(_) | Block::Table(_) | Block::Picture(_) => true,
                Block::Facts(_) => matches!(before, Some(Block::Table(_))),
                Block::Text(_) | Block::List(_) => false,
            };
            if apart && !matches!(before, None | Some(Block::Heading(_))) {
                writeln!(to.out)?;
            }
            before = Some(block);
            match block {
                Block::Heading(text) => {
                    let tone = match text.tone {
                        Tone::Plain => Tone::Strong,
                        tone => tone,
                    };
                    to.paragraph(&Text::new(&text.text, tone), "", "")?;
                }
                Block::Text(text) => to.paragraph(text, "", "")?,
                Block::Facts(facts) => to.facts(facts, "")?,
                Block::List(items) => to.list(items)?,
                Block::Table(table) => to.table(table)?,
                Block::Picture(lines) => {
                    for line in lines {
                        writeln!(to.out, "{}", clean(line))?;
                    }
                }
            }
        }
        Ok(())
    }
}

struct Terminal<'o> {
    width: usize,
    colours: bool,
    out: &'o mut dyn Write,
}

impl Terminal<'_> {
    fn styled(&self, text: &str, tone: Tone) -> String {
        if !self.colours || tone == Tone::Plain || text.is_empty() {
            return text.to_owned();
        }
        let style = tone.style();
        format!("{style}{text}{style:#}")
    }

    /// A text in lines, with `first` before the first line and `rest` before the following ones.
    fn paragraph(&mut self, text: &Text, first: &str, rest: &str) -> io::Result<()> {
        let room = self.width.saturating_sub(first.width().max(rest.width()));
        self.lines(text, room, first, rest)
    }

    /// Like [`Terminal::paragraph`], with `room` columns for the text.
    fn lines(&mut self, text: &Text, room: usize, first: &str, rest: &str) -> io::Result<()> {
        for (index, line) in wrapped(&clean(&text.text), room).iter().enumerate() {
            let before = if index == 0 { first } else { rest };
            writeln!(self.out, "{before}{}", self.styled(line, text.tone))?;
        }
        Ok(())
    }

    fn facts(&mut self, facts: &[(String, Text)], indent: &str) -> io::Result<()> {
        let names = facts.iter().map(|(name, _)| clean(name).width());
        let wide = names.max().unwrap_or(0).min(self.width / 3);
        let rest = " ".repeat(indent.len() + wide + GAP);
        for (name, text) in facts {
            let mut name = clean(name);
            if name.width() > wide {
                let name = Text::new(std::mem::take(&mut name), Tone::Faint);
                self.paragraph(&name, indent, indent)?;
            }
            let gap = " ".repeat(wide - name.width() + GAP);
            let first = format!("{indent}{}{gap}", self.styled(&name, Tone::Faint));
            self.lines(text, self.width - rest.len(), &first, &rest)?;
        }
        Ok(())
    }

    fn list(&mut self, items: &[Item]) -> io::Result<()> {
        for item in items.iter().take(MOST_ITEMS) {
            let said: Vec<&str> = item.head.iter().map(|text| text.text.as_str()).collect();
            let mut tones = item.head.iter().map(|text| text.tone);
            let tone = tones.find(|tone| !matches!(tone, Tone::Plain | Tone::Strong));
            let head = Text::new(said.join(" "), tone.unwrap_or_default());
            self.paragraph(&head, "", INDENT)?;
            self.facts(&item.facts, "    ")?;
        }
        match items.len().saturating_sub(MOST_ITEMS) {
            0 => Ok(()),
            more => writeln!(self.out, "… and {more} more"),
        }
    }

    fn table(&mut self, table: &Table) -> io::Result<()> {
        let layout = table.layout(self.width);
        let heads = Row::new(
            table
                .columns
                .iter()
                .map(|column| Text::new(&column.head, Tone::Faint)),
        );
        self.row(table, &layout.columns, &heads)?;
        let mut group = None;
        for row in &table.rows {
            if !table.groups.is_empty() && group != Some(&row.group) {
                self.paragraph(&row.group, "", "  ")?;
                group = Some(&row.group);
            }
            self.row(table, &layout.columns, row)?;
            for note in &row.notes {
                self.paragraph(note, "  ", "    ")?;
            }
        }
        if !layout.left_out.is_empty() {
            let text = format!(
                "left out: {}; a wider terminal or COLUMNS=160 shows more, JSON all",
                layout.left_out.join(", ")
            );
            self.paragraph(&Text::new(text, Tone::Faint), "", "")?;
        }
        Ok(())
    }

    fn row(&mut self, table: &Table, columns: &[(usize, usize)], row: &Row) -> io::Result<()> {
        let nothing = Text::default();
        let cell = |column: usize| row.cells.get(column).unwrap_or(&nothing);
        let mut lines: Vec<Vec<String>> = columns
            .iter()
            .map(|&(column, wide)| match table.is_broken(column) {
                true => wrapped(&clean(&cell(column).text), wide),
                false => vec![clean(&cell(column).text)],
            })
            .collect();
        if columns.len() > 1 && lines[0][0].width() > columns[0].1 {
            // A name that is too long has lines of its own.
            let name = Text::new(std::mem::take(&mut lines[0][0]), cell(0).tone);
            self.paragraph(&name, "", INDENT)?;
        }
        for index in 0..lines.iter().map(Vec::len).max().unwrap_or(0) {
            // Spaces are held back, so that no line ends in them.
            let (mut line, mut spaces) = (String::new(), 0);
            for (&(column, wide), lines) in columns.iter().zip(&lines) {
                let text = lines.get(index).map_or("", String::as_str);
                let pad = wide.saturating_sub(text.width());
                let left = column == 0 || table.columns[column].words;
                if text.is_empty() {
                    spaces += wide + GAP;
                    continue;
                }
                spaces += if left { 0 } else { pad };
                line.push_str(&" ".repeat(spaces));
                line.push_str(&self.styled(text, cell(column).tone));
                spaces = if left { pad + GAP } else { GAP };
            }
            if !line.is_empty() {
                writeln!(self.out, "{line}")?;
            }
        }
        Ok(())
    }
}

/// Untrusted text without control characters and bidirectional marks.
pub fn clean(text: &str) -> String {
    text.replace(is_obeyed, "\u{fffd}")
}

/// True for a character that a terminal interprets instead of showing it.
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The words of a text; a number's digit groups and its unit are one word.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    for word in text.split_whitespace() {
        let unit = word.trim_end_matches([',', ';', '.', ')', ':']);
        let of_number = is_digit(word.chars().next()) || UNITS.contains(&unit);
        match words.last_mut() {
            Some(last) if of_number && is_digit(last.chars().last()) => {
                *last += &format!(" {word}");
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Units that stay with their number.
const UNITS: [&str; 13] = [
    "%", "ps", "ns", "µs", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB", "TiB",
];

/// A word, cut into segments of at most `width` columns.
fn pieces(word: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for c in word.chars() {
        let last = pieces.last_mut().expect("there is always a piece");
        if last.width() + c.width().unwrap_or(0) > width {
            pieces.push(c.to_string());
        } else {
            last.push(c);
        }
    }
    pieces
}

/// Wraps a text into lines of at most `width` columns, at spaces; a longer word is broken inside.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    for word in words(text) {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(&word);
        } else if line.width() + 1 + word.width() <= width {
            line.push(' ');
            line.push_str(&word);
        } else {
            lines.push(word);
        }
    }
    let pieces = lines.into_iter().flat_map(|line| pieces(&line, width));
    pieces.collect()
}
