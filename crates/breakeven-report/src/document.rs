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

/// The style.
pub(crate) const STYLE: &str = include_str!("../assets/page.css");

/// d3 (scales, zoom) and Observable Plot, which draws most charts.
pub(crate) const LIBRARIES: [&str; 2] = [
    include_str!("../assets/vendor/d3.min.js"),
    include_str!("../assets/vendor/plot.umd.min.js"),
];

/// Licences of the libraries, which must accompany the code.
pub(crate) const LICENSES: &str = include_str!("../assets/vendor/LICENSES.txt");

/// Our script, in the order of execution; the files share one scope.
const SCRIPTS: [&str; 13] = [
    include_str!("../assets/js/dom.js"),
    include_str!("../assets/js/unit.js"),
    include_str!("../assets/js/state.js"),
    include_str!("../assets/js/chart.js"),
    include_str!("../assets/js/shares.js"),
    include_str!("../assets/js/forest.js"),
    include_str!("../assets/js/histogram.js"),
    include_str!("../assets/js/operations.js"),
    include_str!("../assets/js/lines.js"),
    include_str!("../assets/js/timeline.js"),
    include_str!("../assets/js/load.js"),
    include_str!("../assets/js/flame.js"),
    include_str!("../assets/js/main.js"),
];

/// The style that Observable Plot adds to every chart of the class `plot`.
pub(crate) const PLOT_STYLE: &str = ":where(.plot) {
  --plot-background: white;
  display: block;
  height: auto;
  height: intrinsic;
  max-width: 100%;
}
:where(.plot text),
:where(.plot tspan) {
  white-space: pre;
}";

/// Our script in one text.
pub(crate) fn script() -> String {
    format!("(() => {{\n\"use strict\";\n{}}})();\n", SCRIPTS.concat())
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

    use sha2::{Digest, Sha256};

    fn hex(text: &str) -> String {
        let digest = Sha256::digest(text.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Hashes of `dist/d3.min.js` of d3 7.9.2 and `dist/plot.umd.min.js` of @observablehq/plot
    /// 0.6.17, as npm distributes them.
    #[test]
    fn the_libraries_are_the_files_that_their_authors_published() {
        assert_eq!(
            LIBRARIES.map(hex),
            [
                "912111098ea99503a6f4967361d2bbdc9dbf58cf9c678c8e27e5b02d1a07f0c1",
                "4358086467740777dd788d6b27a95cebdbaefdd50c730a3060117073bd7134cb",
            ]
        );
        for (library, version) in LIBRARIES.iter().zip(["d3js.org v7.9.2", "plot v0.6.17"]) {
            assert!(library[..80].contains(version));
            let name = version.split(' ').next_back().unwrap_or_default();
            assert!(LICENSES.contains(&name[1..]));
        }
    }

    #[test]
    fn nothing_in_a_script_ends_it() {
        let script = script();
        for script in LIBRARIES.into_iter().chain([script.as_str()]) {
            let script = script.to_ascii_lowercase();
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
        assert!(!STYLE.contains("</") && !STYLE.contains("url("));
    }

    #[test]
    fn our_script_writes_text_and_no_markup() {
        let script = script();
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ] {
            assert!(!script.contains(word), "{word}");
        }
    }
}
