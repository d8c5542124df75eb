//! What every page contains: its style, its script, and the chart libraries. The libraries are
//! unmodified; their origins and licences are in `assets/vendor/LICENSES.txt`.

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
    use sha2::{Digest, Sha256};

    use super::*;

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
