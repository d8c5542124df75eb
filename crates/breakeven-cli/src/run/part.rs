//! Placeholders and the text that replaces them, as in GNU parallel.

/// What a placeholder is replaced by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Whole,
    NoExtension,
    Name,
    Folder,
    NameNoExtension,
    /// The job's number, from 1.
    Number,
    /// The number of the job's slot, from 1.
    Slot,
}

/// The text of each placeholder, longer ones first.
const PARTS: [(&[u8], Part); 7] = [
    (b"{/.}", Part::NameNoExtension),
    (b"{//}", Part::Folder),
    (b"{}", Part::Whole),
    (b"{.}", Part::NoExtension),
    (b"{/}", Part::Name),
    (b"{#}", Part::Number),
    (b"{%}", Part::Slot),
];

impl Part {
    /// The placeholder at the beginning of `text`, and its length.
    pub(super) fn at(text: &[u8]) -> Option<(Self, usize)> {
        let mut parts = PARTS.into_iter();
        let (name, part) = parts.find(|(name, _)| text.starts_with(name))?;
        Some((part, name.len()))
    }

    /// A placeholder of GNU parallel alone at the beginning of `text`, as in `{1}`, `{2/.}`,
    /// `{-1}`, `{+}`, `{..}` and `{= s/a/b/ =}`.
    pub(super) fn of_parallel(text: &[u8]) -> Option<String> {
        let is_perl = text.starts_with(b"{=");
        let end: &[u8] = if is_perl { b"=}" } else { b"}" };
        let end = text.windows(end.len()).position(|found| found == end)? + end.len();
        let name = text.get(..end)?;
        let inner = name.strip_prefix(b"{")?.strip_suffix(b"}")?;
        let is_it = inner.iter().all(|byte| b"0123456789-+/.#%".contains(byte));
        let is_it = is_perl || is_it && Self::at(text).is_none();
        is_it.then(|| String::from_utf8_lossy(name).into_owned())
    }

    /// True if its text differs for each input of a job.
    pub(super) fn is_of_input(self) -> bool {
        !matches!(self, Self::Number | Self::Slot)
    }

    /// Its replacement.
    pub(super) fn of(self, input: &[u8], number: u64, slot: usize) -> Vec<u8> {
        match self {
            Self::Whole => input.to_vec(),
            Self::NoExtension => without_extension(input).to_vec(),
            Self::Name => name(input).to_vec(),
            Self::Folder => folder(input).to_vec(),
            Self::NameNoExtension => without_extension(name(input)).to_vec(),
            Self::Number => number.to_string().into_bytes(),
            Self::Slot => slot.to_string().into_bytes(),
        }
    }
}

/// Without the last dot of the last name and the text after it.
fn without_extension(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| b"./".contains(byte));
    match end.filter(|end| path.get(*end) == Some(&b'.')) {
        Some(dot) => path.get(..dot).unwrap_or(path),
        None => path,
    }
}

fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// The output of `dirname`.
fn folder(path: &[u8]) -> &[u8] {
    let trimmed = without_slashes(path);
    let Some(slash) = trimmed.iter().rposition(|byte| *byte == b'/') else {
        return if path.starts_with(b"/") { b"/" } else { b"." };
    };
    let folder = without_slashes(trimmed.get(..slash).unwrap_or_default());
    if folder.is_empty() { b"/" } else { folder }
}

/// Without trailing slashes.
fn without_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/');
    path.get(..end.map_or(0, |end| end + 1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_gnu_parallel() {
        // What GNU parallel 20221122 prints for [{.}] [{/}] [{//}] [{/.}].
        let cases = [
            ("a/b.c.d/x", ["a/b.c.d/x", "x", "a/b.c.d", "x"]),
            ("a.b/c", ["a.b/c", "c", "a.b", "c"]),
            ("/x.y", ["/x", "x.y", "/", "x"]),
            ("foo", ["foo", "foo", ".", "foo"]),
            ("./", ["./", "", ".", ""]),
            ("/", ["/", "", "/", ""]),
            ("x/", ["x/", "", ".", ""]),
            (".bashrc", ["", ".bashrc", ".", ""]),
            ("", ["", "", ".", ""]),
            ("a//b.tar.gz", ["a//b.tar", "b.tar.gz", "a", "b.tar"]),
        ];
        for (input, expected) in cases {
            let parts = ["{.}", "{/}", "{//}", "{/.}"].map(|text| {
                let (part, length) = Part::at(text.as_bytes()).expect("a placeholder");
                assert_eq!(length, text.len());
                let found = part.of(input.as_bytes(), 1, 1);
                String::from_utf8(found).expect("text")
            });
            assert_eq!(parts, expected, "{input:?}");
        }
        for text in [
            "{+}",
            "{..}",
            "{/..}",
            "{-1}",
            "{2/.}",
            "{0#}",
            "{= s/}/x/ =}",
        ] {
            let found = Part::of_parallel(format!("{text} {{}}").as_bytes());
            assert_eq!(found.as_deref(), Some(text));
        }
        for text in [
            "{}", "{.}", "{//}", "{#}", "{%}", "{x}", "{a,b}", "{ 1 }", "{= x",
        ] {
            assert_eq!(Part::of_parallel(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Part::at(b"{x}"), None);
        assert_eq!(Part::Number.of(b"a", 12, 3), b"12");
        assert_eq!(Part::Slot.of(b"a", 12, 3), b"3");
    }
}
