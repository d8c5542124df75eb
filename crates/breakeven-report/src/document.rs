//! The HTML document around the sections, and its content security policy.
//!
//! Nothing in a profile can run in the page. Each of these three measures is sufficient alone:
//!
//! - Texts are escaped when they enter the document: as HTML by `breakeven_judge::page::html`,
//!   inside data by `json::script_safe`.
//! - The script writes texts by `textContent` only.
//! - The policy in the document's head allows only our three scripts and our style, by their
//!   hashes: no other script, no handler in an attribute, no address.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use breakeven_judge::page::html;
use sha2::{Digest, Sha256};

use crate::assets::{LIBRARIES, LICENSES, PLOT_STYLE, STYLE, script};
use crate::part::{MOST_TEXT, Part};
use crate::sections::Section;

const HEAD: &str = include_str!("../assets/page.html");

/// Builds the complete document.
pub(crate) fn document(title: &str, parts: impl Iterator<Item = Part>) -> String {
    let parts: Vec<Part> = parts.collect();
    let script = script();
    let (mut navigation, mut sections) = (String::new(), String::new());
    for part in &parts {
        let Section { id, title, .. } = part.section;
        let _ = writeln!(navigation, "<li><a href=\"#{id}\">{title}</a></li>");
        part.section(&mut sections);
    }
    let mut scripts = String::new();
    for script in LIBRARIES.into_iter().chain([script.as_str()]) {
        let _ = writeln!(scripts, "<script>{script}</script>");
    }
    let licenses = LICENSES.lines().map(|line| html(line, MOST_TEXT));
    let licenses: Vec<String> = licenses.collect();
    // Fills each place once, from left to right; inserted text is not searched again.
    let places = [
        ("policy", policy(&script)),
        ("title", html(title, MOST_TEXT)),
        ("style", STYLE.to_owned()),
        ("heading", html(title, MOST_TEXT)),
        ("navigation", navigation),
        ("sections", sections),
        ("licenses", licenses.join("\n")),
        ("scripts", scripts),
    ];
    let (mut document, mut rest) = (String::new(), HEAD);
    for (name, text) in places {
        if let Some((before, after)) = rest.split_once(&format!("{{{{{name}}}}}")) {
            document.push_str(before);
            document.push_str(&text);
            rest = after;
        }
    }
    document + rest
}

fn policy(script: &str) -> String {
    let list = |texts: &[&str]| {
        let hashes = texts.iter().map(|text| {
            let hash = STANDARD.encode(Sha256::digest(text.as_bytes()));
            format!("'sha256-{hash}'")
        });
        hashes.collect::<Vec<_>>().join(" ")
    };
    let [d3, plot] = LIBRARIES;
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        list(&[d3, plot, script]),
        list(&[STYLE, PLOT_STYLE]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections;

    #[test]
    fn every_place_of_the_template_is_filled() {
        let part = Part::new(sections::OVERVIEW);
        let document = document("A title of {{scripts}} & <b>", [part].into_iter());
        for place in [
            "policy",
            "title",
            "style",
            "heading",
            "navigation",
            "sections",
        ] {
            assert!(!document.contains(&format!("{{{{{place}}}}}")), "{place}");
        }
        // A placeholder in the title stays text.
        let title = "A title of {{scripts}} &amp; &lt;b&gt;";
        assert_eq!(document.matches(title).count(), 2);
        assert_eq!(document.matches("{{scripts}}").count(), 2);
        assert!(document.contains("<section id=\"overview\"") && document.ends_with("</html>\n"));
    }
}
