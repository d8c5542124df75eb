//! What holds for the whole workspace and neither the compiler, clippy nor cargo
//! checks. Every check is a function from a tree of texts to findings, tried on small
//! bad trees beside it and on the workspace here.

mod circles;
mod code;
mod documents;
mod layers;
mod source;
mod tree;
mod unsafe_code;
mod versions;

use tree::Tree;

/// Fails with all findings where there are any.
#[track_caller]
fn none(findings: Vec<String>) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

#[test]
fn nothing_is_re_exported_by_a_star() {
    none(source::glob_re_exports(&Tree::workspace()));
}

#[test]
fn nothing_is_left_to_do_and_no_text_names_a_home_directory() {
    none(source::forbidden_texts(&Tree::workspace()));
}

#[test]
fn unsafe_code_is_where_it_may_be() {
    none(unsafe_code::findings(&Tree::workspace()));
}

#[test]
fn modules_keep_to_their_layer() {
    none(layers::findings(&Tree::workspace()));
}

#[test]
fn files_do_not_import_from_each_other() {
    none(circles::findings(&Tree::workspace()));
}

#[test]
fn examples_are_numbered_and_named_in_a_document() {
    none(documents::examples(&Tree::workspace()));
}

#[test]
fn every_page_can_be_found() {
    none(documents::unlinked_pages(&Tree::workspace()));
}

#[test]
fn there_is_one_version_and_one_oldest_rust() {
    none(versions::findings(&Tree::workspace()));
}

#[test]
fn crates_have_the_texts_of_their_licences() {
    none(versions::licences(&Tree::workspace()));
}

#[test]
fn links_lead_somewhere() {
    none(documents::broken_links(&Tree::workspace()));
}
