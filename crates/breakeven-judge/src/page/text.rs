//! A page for a terminal: nothing is wider than it, and nothing is cut.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::table::{GAP, Row, Table};
use super::{Block, Item, MOST_ITEMS, MOST_ROWS, Page, Text, Tone};

/// Least columns that are written for: below, a terminal breaks lines itself.
const LEAST_WIDTH: usize = 40;

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
    /// Writes the page for a terminal of `width` columns; `colours` are ANSI sequences.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn text(&self, width: usize, colours: bool, out: &mut dyn Write) -> io::Result<()> {
        let width = width.max(LEAST_WIDTH);
        let mut to = Terminal {
            width,
            colours,
            out,
        };
        let mut after_heading = true;
        for block in &self.blocks {
            let apart = matches!(block, Block::Heading(_) | Block::Table(_) | Block::Picture(_));
            if apart && !after_heading {
                writeln!(to.out)?;
            }
            after_heading = matches!(block, Block::Heading(_));
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

    /// A text in lines, `first` before its first and `rest` before the others.
    fn paragraph(&mut self, text: &Text, first: &str, rest: &str) -> io::Result<()> {
        let room = self.width.saturating_sub(first.width().max(rest.width()));
        for (index, line) in wrapped(&clean(&text.text), room).iter().enumerate() {
            let before = if index == 0 { first } else { rest };
            writeln!(self.out, "{before}{}", self.styled(line, text.tone))?;
        }
        Ok(())
    }

    fn facts(&mut self, facts: &[(String, Text)], indent: &str) -> io::Result<()> {
        let names = facts.iter().map(|(name, _)| clean(name).width());
        let wide = names.max().unwrap_or(0).min(self.width / 3);
        for (name, text) in facts {
            let name = padded(&clean(name), wide, false);
            let name = self.styled(&name, Tone::Faint);
            let rest = " ".repeat(indent.len() + wide + GAP);
            // The name's style has no width.
            let room = self.width - rest.len();
            for (index, line) in wrapped(&clean(&text.text), room).iter().enumerate() {
                let line = self.styled(line, text.tone);
                match index {
                    0 => writeln!(self.out, "{indent}{name}  {line}")?,
                    _ => writeln!(self.out, "{rest}{line}")?,
                }
            }
        }
        Ok(())
    }

    fn list(&mut self, items: &[Item]) -> io::Result<()> {
        for item in items.iter().take(MOST_ITEMS) {
            let mut line = 0;
            let mut first = true;
            for part in &item.head {
                for word in words(&clean(&part.text)) {
                    let gap = usize::from(!first);
                    if !first && line + gap + word.width() > self.width {
                        write!(self.out, "\n  ")?;
                        line = 2;
                    } else if !first {
                        write!(self.out, " ")?;
                        line += 1;
                    }
                    first = false;
                    line += word.width();
                    write!(self.out, "{}", self.styled(&word, part.tone))?;
                }
            }
            writeln!(self.out)?;
            self.facts(&item.facts, "    ")?;
        }
        self.rest_of(items.len(), MOST_ITEMS)
    }

    fn rest_of(&mut self, all: usize, most: usize) -> io::Result<()> {
        if all > most {
            writeln!(self.out, "… and {} more", all - most)?;
        }
        Ok(())
    }

    fn table(&mut self, table: &Table) -> io::Result<()> {
        let layout = table.layout(self.width);
        let heads = Row::new(table.columns.iter().map(|column| Text::new(&column.head, Tone::Faint)));
        self.row(table, &layout.columns, &heads)?;
        let mut group = None;
        for row in table.rows.iter().take(MOST_ROWS) {
            if !table.groups.is_empty() && group != Some(&row.group) {
                self.paragraph(&row.group, "", "  ")?;
                group = Some(&row.group);
            }
            self.row(table, &layout.columns, row)?;
            for note in &row.notes {
                self.paragraph(note, "  ", "    ")?;
            }
        }
        self.rest_of(table.rows.len(), MOST_ROWS)?;
        if !layout.left_out.is_empty() {
            let text = format!(
                "no room for: {}; a wider terminal shows them, --format csv and json have all",
                layout.left_out.join(", ")
            );
            self.paragraph(&Text::new(text, Tone::Faint), "", "")?;
        }
        Ok(())
    }

    fn row(&mut self, table: &Table, columns: &[(usize, usize)], row: &Row) -> io::Result<()> {
        let nothing = Text::default();
        // Spaces are held back: no line ends in them.
        let (mut line, mut spaces) = (String::new(), 0);
        let mut broken: Vec<String> = Vec::new();
        let mut at = 0;
        for (place, &(column, wide)) in columns.iter().enumerate() {
            let cell = row.cells.get(column).unwrap_or(&nothing);
            let mut text = clean(&cell.text);
            if place > 0 {
                spaces += GAP;
                at += GAP;
            }
            if place == 0 && text.width() > wide && columns.len() > 1 {
                // A name that is too long has lines of its own.
                self.paragraph(&Text::new(&text, cell.tone), "", "  ")?;
                text.clear();
            }
            if table.is_broken(column) {
                let mut lines = wrapped(&text, wide).into_iter();
                text = lines.next().unwrap_or_default();
                broken = lines.map(|line| " ".repeat(at) + &line).collect();
            }
            let pad = wide.saturating_sub(text.width());
            let (before, after) = match table.columns[column].words || place == 0 {
                true => (0, pad),
                false => (pad, 0),
            };
            spaces += before;
            if !text.is_empty() {
                line.push_str(&" ".repeat(spaces));
                line.push_str(&self.styled(&text, cell.tone));
                spaces = 0;
            } else {
                spaces += text.width();
            }
            spaces += after;
            at += wide;
        }
        if !line.is_empty() {
            writeln!(self.out, "{line}")?;
        }
        for line in broken {
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }
}

/// Pads to a width in columns of the terminal.
fn padded(text: &str, wide: usize, on_the_left: bool) -> String {
    let spaces = " ".repeat(wide.saturating_sub(text.width()));
    match on_the_left {
        true => spaces + text,
        false => text.to_owned() + &spaces,
    }
}

/// Text from anyone's file without what a terminal would obey: control characters, and
/// marks that turn the direction of writing.
pub fn clean(text: &str) -> String {
    let obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.replace(obeyed, "\u{fffd}")
}

/// The words of a text; the groups of a number are one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if digit(last.chars().last()) && digit(word.chars().next()) => {
                *last += &format!(" {word}");
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Breaks a text into lines of at most `width` columns, at spaces; a longer word where
/// it must be.
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
    let broken = lines.into_iter().flat_map(|line| {
        let mut parts = vec![String::new()];
        for c in line.chars() {
            let last = parts.last_mut().expect("there is always a part");
            if last.width() + UnicodeWidthStr::width(c.encode_utf8(&mut [0; 4])) > width {
                parts.push(c.to_string());
            } else {
                last.push(c);
            }
        }
        parts
    });
    broken.collect()
}
