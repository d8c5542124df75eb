//! Renders a page for a report or the summary of a CI job.

use std::io::{self, Write};

use super::{Block, Item, MOST_ITEMS, MOST_ROWS, Page, Table, Text, Tone};

/// Longest text or cell before escaping, characters.
const MOST_TEXT: usize = 400;
const MOST_CELL: usize = 120;

impl Page {
    /// Writes the page as Markdown with every text escaped. Long lists and tables are cut, and the
    /// rest is counted.
    pub fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        for (index, block) in self.blocks.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            match block {
                Block::Heading(text) => writeln!(out, "**{}**", escaped(&text.text, MOST_TEXT))?,
                Block::Text(text) => writeln!(out, "{}", said(text, MOST_TEXT))?,
                Block::Facts(facts) => {
                    for fact in facts {
                        writeln!(out, "- {}", of(fact))?;
                    }
                }
                Block::List(items) => list(items, out)?,
                Block::Table(table) => write_table(table, out)?,
                Block::Picture(lines) => {
                    writeln!(out, "```")?;
                    for line in lines {
                        writeln!(out, "{}", super::clean(line).replace("```", "'''"))?;
                    }
                    writeln!(out, "```")?;
                }
            }
        }
        Ok(())
    }
}

/// A text, in bold if it should be noticed.
fn said(text: &Text, most: usize) -> String {
    let escaped = escaped(&text.text, most);
    match text.tone {
        Tone::Strong | Tone::Bad | Tone::Good if !escaped.is_empty() => format!("**{escaped}**"),
        _ => escaped,
    }
}

fn of((name, text): &(String, Text)) -> String {
    match name.is_empty() {
        true => said(text, MOST_TEXT),
        false => format!("{}: {}", escaped(name, MOST_TEXT), said(text, MOST_TEXT)),
    }
}

fn list(items: &[Item], out: &mut dyn Write) -> io::Result<()> {
    for item in items.iter().take(MOST_ITEMS) {
        let head: Vec<String> = item.head.iter().map(|text| said(text, MOST_TEXT)).collect();
        writeln!(out, "- {}", head.join(" "))?;
        for fact in &item.facts {
            writeln!(out, "  - {}", of(fact))?;
        }
    }
    if items.len() > MOST_ITEMS {
        writeln!(out, "- … and {} more", items.len() - MOST_ITEMS)?;
    }
    Ok(())
}

fn write_table(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let used = table.used();
    let grouped = !table.groups.is_empty();
    let noted = table.rows.iter().any(|row| !row.notes.is_empty());
    let (mut heads, mut sides) = (Vec::new(), String::from("|"));
    if grouped {
        heads.push(escaped(&table.groups, MOST_CELL));
        sides.push_str("---|");
    }
    for &column in &used {
        heads.push(escaped(&table.columns[column].head, MOST_CELL));
        sides.push_str(match table.columns[column].words || column == 0 {
            true => "---|",
            false => "--:|",
        });
    }
    if noted {
        heads.push(String::new());
        sides.push_str("---|");
    }
    writeln!(out, "| {} |\n{sides}", heads.join(" | "))?;
    for row in table.rows.iter().take(MOST_ROWS) {
        let mut cells = Vec::new();
        cells.extend(grouped.then(|| said(&row.group, MOST_CELL)));
        cells.extend(used.iter().map(|&column| {
            row.cells
                .get(column)
                .map_or_else(String::new, |cell| said(cell, MOST_CELL))
        }));
        if noted {
            let notes: Vec<String> = row
                .notes
                .iter()
                .map(|note| escaped(&note.text, MOST_TEXT))
                .collect();
            cells.push(notes.join("; "));
        }
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    if table.rows.len() > MOST_ROWS {
        writeln!(out, "\n… and {} more", table.rows.len() - MOST_ROWS)?;
    }
    Ok(())
}

/// Text escaped so that Markdown shows it unchanged, cut to `most` characters.
fn escaped(text: &str, most: usize) -> String {
    let mut escaped = String::new();
    for (index, c) in text.chars().enumerate() {
        if index == most {
            escaped.push('…');
            break;
        }
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '#' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if super::is_obeyed(c) => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
