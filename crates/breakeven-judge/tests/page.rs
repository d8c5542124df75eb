//! How a page is laid out, for a terminal, as Markdown and as HTML.

use breakeven_judge::page::{Column, Item, Page, Row, Table, Text, Tone};
use insta::assert_snapshot;
use proptest::{collection::vec, prelude::*};
use unicode_width::UnicodeWidthStr;

fn printed(page: &Page, width: usize, colours: bool) -> String {
    let mut text = Vec::new();
    page.text(width, colours, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn markdown(page: &Page) -> String {
    let mut text = Vec::new();
    page.markdown(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn html(page: &Page) -> String {
    let mut text = Vec::new();
    page.html(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// One of everything.
fn page() -> Page {
    let mut page = Page::default();
    page.facts([
        ("cpu", "Example 9000 · 16 threads on 8 cores · 64 GiB"),
        ("gpu", "Example GPU"),
    ]);
    let row = |group: &str, cells: [&str; 4]| Row {
        group: group.into(),
        ..Row::new(cells)
    };
    let mut failed = row("b|c", ["an_operation_with_a_long_name", "", "", ""]);
    failed
        .notes
        .push(Text::new("failed: it was lost", Tone::Bad));
    page.table(Table {
        groups: "operation".to_owned(),
        columns: vec![
            Column::words("device", Column::KEPT),
            Column::figures("mean", 9),
            Column::figures("median", 1),
            Column::figures("empty", 2),
        ],
        rows: vec![
            row("a", ["cpu", "1.00 ms", "990 µs", ""]),
            row("a", ["cuda:0", "12.0 µs", "11.9 µs", ""]),
            failed,
        ],
    });
    let item = Item {
        head: vec!["a:".into(), Text::new("slow", Tone::Warning)],
        facts: vec![
            (
                "cause".to_owned(),
                "one that takes more than a line to read".into(),
            ),
            ("next".to_owned(), "measure".into()),
        ],
    };
    page.list("Bottlenecks", [item]);
    page.say(Text::new("2 regressions, 12 345 in 135 µs", Tone::Strong));
    page
}

#[test]
fn a_wide_terminal_and_a_narrow_one() {
    assert_snapshot!(printed(&page(), 80, false), @r"
    cpu  Example 9000 · 16 threads on 8 cores · 64 GiB
    gpu  Example GPU

    device                            mean   median
    a
    cpu                            1.00 ms   990 µs
    cuda:0                         12.0 µs  11.9 µs
    b|c
    an_operation_with_a_long_name
      failed: it was lost

    Bottlenecks
    a: slow
        cause  one that takes more than a line to read
        next   measure
    2 regressions, 12 345 in 135 µs
    ");
    assert_snapshot!(printed(&page(), 40, false), @r"
    cpu  Example 9000 · 16 threads on 8
         cores · 64 GiB
    gpu  Example GPU

    device                            mean
    a
    cpu                            1.00 ms
    cuda:0                         12.0 µs
    b|c
    an_operation_with_a_long_name
      failed: it was lost
    left out: median; a wider terminal or
    COLUMNS=160 shows more, JSON all

    Bottlenecks
    a: slow
        cause  one that takes more than a
               line to read
        next   measure
    2 regressions, 12 345 in 135 µs
    ");
}

#[test]
fn as_markdown() {
    assert_snapshot!(markdown(&page()), @r"
    - cpu: Example 9000 · 16 threads on 8 cores · 64 GiB
    - gpu: Example GPU

    | operation | device | mean | median |  |
    |---|---|--:|--:|---|
    | a | cpu | 1.00 ms | 990 µs |  |
    | a | cuda:0 | 12.0 µs | 11.9 µs |  |
    | b\|c | an\_operation\_with\_a\_long\_name |  |  | failed: it was lost |

    **Bottlenecks**

    - a: slow
      - cause: one that takes more than a line to read
      - next: measure

    **2 regressions, 12 345 in 135 µs**
    ");
}

#[test]
fn colours_change_nothing_else() {
    let coloured = printed(&page(), 60, true);
    let plain: String = coloured
        .split('\u{1b}')
        .map(|part| part.split_once('m').filter(|_| part.starts_with('[')))
        .map(|sequence| sequence.map_or("", |(_, rest)| rest))
        .collect();
    let before = coloured.split('\u{1b}').next().unwrap();
    assert_eq!(before.to_owned() + &plain, printed(&page(), 60, false));
    assert!(coloured.contains('\u{1b}'));
}

#[test]
fn as_html() {
    assert_snapshot!(html(&page()));
}

#[test]
fn what_html_would_obey_is_escaped_and_marks_are_shown() {
    let mut page = Page::default();
    let text = "<b onclick='x' id=\"y\">&amp;\u{202e}\u{1b}[2J\n\u{61c}";
    page.say(text);
    page.facts([(text, text)]);
    page.list(text, [text]);
    page.table(Table {
        groups: text.to_owned(),
        columns: vec![Column::words(text, 1), Column::words(text, 1)],
        rows: vec![Row {
            group: text.into(),
            notes: vec![text.into()],
            ..Row::new([text, text])
        }],
    });
    let html = html(&page);
    let shown =
        "&lt;b onclick=&#39;x&#39; id=&quot;y&quot;&gt;&amp;amp;\\u{202e}\\u{1b}[2J\\n\\u{61c}";
    assert_eq!(html.matches(shown).count(), 11);
    assert!(!html.contains("<b ") && !html.contains('\u{202e}'));
    assert_eq!(
        breakeven_judge::page::shown("名前".repeat(9).as_str(), 3),
        "名前名…"
    );
}

#[test]
fn what_a_terminal_or_markdown_would_obey_is_taken_out() {
    let mut page = Page::default();
    let text = "a\u{1b}]0;b\u{7}\nc\u{202e}d\u{9b}1 <b>|*x*|[y](z)`";
    page.say(text);
    page.facts([(text, text)]);
    page.list(text, [text]);
    page.table(Table {
        columns: vec![Column::words(text, 1), Column::words(text, 1)],
        rows: vec![Row::new([text, text])],
        ..Table::default()
    });
    for text in [printed(&page, 200, false), markdown(&page)] {
        let obeyed = |c: char| c != '\n' && breakeven_judge::page::is_obeyed(c);
        assert!(!text.contains(obeyed), "{text:?}");
    }
    for obeyed in ["<b>", " *x*", "[y](z)"] {
        assert!(!markdown(&page).contains(obeyed), "{obeyed}");
    }
}

#[test]
fn long_tables_are_cut_in_markdown_alone_and_long_lists_everywhere() {
    let mut page = Page::default();
    page.list("all", (0..70).map(|index| index.to_string()));
    page.table(Table {
        columns: vec![Column::words("", 1)],
        rows: (0..310)
            .map(|index| Row::new([index.to_string()]))
            .collect(),
        ..Table::default()
    });
    let (terminal, markdown) = (printed(&page, 80, false), markdown(&page));
    assert!(terminal.contains("… and 20 more") && markdown.contains("… and 20 more"));
    assert!(terminal.contains("\n309\n") && !terminal.contains("… and 10 more"));
    assert!(!markdown.contains("309") && markdown.contains("… and 10 more"));
}

proptest! {
    /// Nothing is wider than the terminal, and no word is lost.
    #[test]
    fn whatever_is_said_fits(
        words in vec("[a-zé]{1,90}", 1..30),
        columns in vec(("[a-z]{1,9}", any::<u8>()), 1..12),
        width in 40usize..160,
    ) {
        let said = words.join(" ");
        let mut page = Page::default();
        page.say(&said);
        page.facts([(&words[0], &said)]);
        page.list("list", [Item { head: vec![said.as_str().into()], facts: vec![(words[0].clone(), said.as_str().into())] }]);
        page.table(Table {
            groups: "words".to_owned(),
            columns: std::iter::once(Column::words("", Column::KEPT))
                .chain(columns.iter().map(|(head, weight)| Column::figures(head, *weight % 9)))
                .chain([Column::words("text", Column::KEPT)])
                .collect(),
            rows: vec![Row {
                group: said.as_str().into(),
                cells: std::iter::once(words[0].as_str())
                    .chain(columns.iter().map(|(head, _)| head.as_str()))
                    .chain([said.as_str()])
                    .map(Text::from)
                    .collect(),
                notes: vec![said.as_str().into()],
            }],
        });
        let text = printed(&page, width, false);
        for line in text.lines() {
            prop_assert!(line.width() <= width, "{} wider than {width}: {line}", line.width());
        }
        let all: String = text.split_whitespace().collect();
        for word in &words {
            prop_assert!(word.width() > 30 || all.contains(word.as_str()), "{word} is lost: {text}");
        }
    }
}
