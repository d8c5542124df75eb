//! The workspace's texts, or a made-up tree to try a check on.

use std::fs;
use std::path::Path;

/// Directories that hold nothing of the project's own.
const SKIPPED: [&str; 4] = ["target", ".git", "corpus", "artifacts"];

/// What `.gitignore` keeps out of commits, by the end of the name.
const IGNORED: [&str; 2] = [".pending-snap", ".snap.new"];

/// A text file; `path` is relative to the root, with `/`.
pub(super) struct Text {
    pub(super) path: String,
    pub(super) text: String,
}

/// All text files in order of their paths, and the paths of everything else.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) texts: Vec<Text>,
    others: Vec<String>,
}

impl Tree {
    /// The workspace that this test was built in.
    pub(super) fn workspace() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut tree = Self::default();
        tree.walk(&root, "");
        tree.texts.sort_by(|a, b| a.path.cmp(&b.path));
        assert!(
            tree.text("Cargo.toml").is_some(),
            "no workspace in {root:?}"
        );
        tree
    }

    /// A tree of these paths and texts.
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let text = |&(path, text): &(&str, &str)| Text {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        Self {
            texts: files.iter().map(text).collect(),
            others: Vec::new(),
        }
    }

    fn walk(&mut self, directory: &Path, prefix: &str) {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    self.others.push(path.clone());
                    self.walk(&entry.path(), &format!("{path}/"));
                }
            } else if !IGNORED.iter().any(|end| name.ends_with(end)) {
                // An editor's temporary file may be gone by now.
                let bytes = fs::read(entry.path()).unwrap_or_default();
                match String::from_utf8(bytes) {
                    Ok(text) => self.texts.push(Text { path, text }),
                    Err(_) => self.others.push(path),
                }
            }
        }
    }

    /// The text of that path.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        let text = self.texts.iter().find(|text| text.path == path);
        text.map(|text| text.text.as_str())
    }

    /// True where there is a file or a directory of that path.
    pub(super) fn has(&self, path: &str) -> bool {
        let below = format!("{path}/");
        self.others.iter().any(|other| other == path)
            || self
                .texts
                .iter()
                .any(|text| text.path == path || text.path.starts_with(&below))
    }

    /// The Rust sources.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Text> {
        self.texts.iter().filter(|text| text.path.ends_with(".rs"))
    }
}
