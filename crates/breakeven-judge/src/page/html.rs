//! Renders a page as a fragment of an HTML document.

use std::io::{self, Write};

use super::{Block, Item, MOST_ITEMS, MOST_ROWS, Page, Table, Text, Tone, is_obeyed};

/// Longest text or cell, characters; longer ones are cut.
const MOST_TEXT: usize = 400;
const MOST_CELL: usize = 120;

impl Page {
    /// Writes the page as HTML with every text escaped: headings are `h3`, a tone is the class of
    /// its text. Long lists and tables are cut, and the rest is counted.
    pub fn html(&self, out: &mut dyn Write) -> io::Result<()> {
        for block in &self.blocks {
            match block {
                Block::Heading(text) => writeln!(out, "<h3>{}</h3>", said(text, MOST_TEXT))?,
                Block::Text(text) => writeln!(out, "<p>{}</p>", said(text, MOST_TEXT))?,
                Block::Facts(facts) => write_facts(facts, out)?,
                Block::List(items) => list(items, out)?,
                Block::Table(table) => write_table(table, out)?,
                Block::Picture(lines) => {
                    writeln!(out, "<pre>")?;
                    for line in lines {
                        writeln!(out, "{}", html(line, MOST_TEXT))?;
                    }
                    writeln!(out, "</pre>")?;
                }
            }
        }
        Ok(())
    }
}

/// Untrusted text for readers, at most `most` characters of it. Invisible characters that have an
/// effect (control characters, bidirectional marks) are shown as escapes, `\u{202e}`.
pub fn shown(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (index, c) in text.chars().enumerate() {
        if index == most {
            shown.push('…');
            break;
        }
        match is_obeyed(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}

/// [`shown`] with HTML's special characters escaped, for text and for quoted attributes.
pub fn html(text: &str, most: usize) -> String {
    let mut escaped = String::new();
    for c in shown(text, most).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A text in its tone. `bdi` isolates its writing direction.
fn said(text: &Text, most: usize) -> String {
    let escaped = html(&text.text, most);
    match text.tone {
        _ if escaped.is_empty() => escaped,
        Tone::Plain => format!("<bdi>{escaped}</bdi>"),
        tone => format!("<bdi class=\"{}\">{escaped}</bdi>", tone.class()),
    }
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Strong => "strong",
            Self::Faint => "faint",
            Self::Good => "good",
            Self::Warning => "warning",
            Self::Bad => "bad",
        }
    }
}

fn write_facts(facts: &[(String, Text)], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<dl>")?;
    for (name, text) in facts {
        let name = html(name, MOST_TEXT);
        writeln!(out, "<dt>{name}</dt><dd>{}</dd>", said(text, MOST_TEXT))?;
    }
    writeln!(out, "</dl>")
}

fn list(items: &[Item], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<ul>")?;
    for item in items.iter().take(MOST_ITEMS) {
        let head: Vec<String> = item.head.iter().map(|text| said(text, MOST_TEXT)).collect();
        writeln!(out, "<li>{}", head.join(" "))?;
        if !item.facts.is_empty() {
            write_facts(&item.facts, out)?;
        }
        writeln!(out, "</li>")?;
    }
    if items.len() > MOST_ITEMS {
        writeln!(out, "<li>… and {} more</li>", items.len() - MOST_ITEMS)?;
    }
    writeln!(out, "</ul>")
}

fn write_table(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let used = table.used();
    let class = |column: usize| match table.columns[column].words || column == 0 {
        true => "words",
        false => "figure",
    };
    writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>"
    )?;
    for &column in &used {
        let head = html(&table.columns[column].head, MOST_CELL);
        let class = class(column);
        write!(out, "<th scope=\"col\" class=\"{class}\">{head}</th>")?;
    }
    writeln!(out, "</tr></thead>\n<tbody>")?;
    let across = used.len();
    let mut group = None;
    for row in table.rows.iter().take(MOST_ROWS) {
        if !table.groups.is_empty() && group != Some(&row.group) {
            let text = said(&row.group, MOST_CELL);
            writeln!(
                out,
                "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{across}\">{text}</th></tr>"
            )?;
            group = Some(&row.group);
        }
        write!(out, "<tr>")?;
        for &column in &used {
            let cell = row.cells.get(column);
            let text = cell.map_or_else(String::new, |cell| said(cell, MOST_CELL));
            match column {
                0 => write!(out, "<th scope=\"row\" class=\"words\">{text}</th>")?,
                _ => write!(out, "<td class=\"{}\">{text}</td>", class(column))?,
            }
        }
        writeln!(out, "</tr>")?;
        for note in &row.notes {
            let text = said(note, MOST_TEXT);
            writeln!(
                out,
                "<tr class=\"note\"><td colspan=\"{across}\">{text}</td></tr>"
            )?;
        }
    }
    writeln!(out, "</tbody></table></div>")?;
    match table.rows.len().saturating_sub(MOST_ROWS) {
        0 => Ok(()),
        more => writeln!(out, "<p class=\"faint\">… and {more} more</p>"),
    }
}
