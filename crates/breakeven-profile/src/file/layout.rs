//! Lays out the JSON: a line per header field, per field of an operation and per run, so that a
//! line number is useful; deeper values stay within their line.

use std::io;

use serde_json::ser::Formatter;

/// Levels of nesting that get lines of their own: the document, the list of
/// operations, an operation, its list of runs.
const LEVELS: usize = 4;

#[derive(Default)]
pub(super) struct Layout {
    level: usize,
    has_value: bool,
}

impl Layout {
    fn open(&mut self, writer: &mut (impl io::Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        self.level += 1;
        self.has_value = false;
        writer.write_all(bracket)
    }

    fn close(&mut self, writer: &mut (impl io::Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        self.level -= 1;
        if self.has_value && self.level < LEVELS {
            self.new_line(writer)?;
        }
        writer.write_all(bracket)
    }

    fn separate(&self, writer: &mut (impl io::Write + ?Sized), first: bool) -> io::Result<()> {
        if self.level > LEVELS {
            return writer.write_all(if first { b"" } else { b", " });
        }
        writer.write_all(if first { b"" } else { b"," })?;
        self.new_line(writer)
    }

    fn new_line(&self, writer: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.level).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Layout {
    fn begin_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.separate(writer, first)
    }

    fn end_array_value<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.separate(writer, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}
