//! Commands for inputs that no shell is to read: what is run is run, and what is shown is
//! given to a real shell.

use std::process::Command;

use super::*;

/// Inputs that are something to a shell, or to a program that takes text for granted.
const NASTY: [&[u8]; 12] = [
    b"a b",
    b"",
    b"-rf",
    b"it's",
    b"\"",
    b"$(exit 9)`exit 9`",
    b"new\nline\n",
    b"back\\slash\\",
    b"*",
    b"; exit 9 #",
    b"\xff\xfe\x81\x88",
    b"x=${HOME}!&|<>()[]{}~",
];

fn template(text: &str) -> Template {
    Template::new(OsStr::new(text)).expect("a command")
}

fn filling<'f>(inputs: &'f [&'f [u8]]) -> Filling<'f> {
    Filling {
        inputs,
        number: 7,
        slot: 2,
    }
}

fn printed(mut command: Command) -> Vec<u8> {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {output:?}");
    output.stdout
}

/// What the command prints, and what it does when its text is given to a shell.
fn prints(text: &str, inputs: &[&[u8]]) -> Vec<u8> {
    let template = template(text);
    let found = printed(template.command(filling(inputs)));
    let mut shell = Command::new("sh");
    let shown = template.shown(filling(inputs));
    shell.arg("-c").arg(OsString::from_vec(shown));
    assert_eq!(found, printed(shell), "{text}: {inputs:?}");
    found
}

#[test]
fn inputs_arrive_unharmed_wherever_they_stand() {
    let same = [
        "printf '%s' {}",
        "printf %s {}",
        "printf '%s'",
        "printf %s \"{}\"",
        "printf %s '{}'",
        "printf %s {} | cat",
        "printf %s \"{}\" | cat",
        "printf %s '{}' | cat",
        "cat <<X >/dev/null; printf %s ok\nX",
        "x={} && printf %s \"$x\"",
        "(printf %s {})",
        "f() { printf %s {}; }; f other",
        "printf %s \"$(printf '%s.' {})\" | sed '$s/\\.$//'",
        "printf %s {} # it's a comment {}",
    ];
    for input in NASTY {
        for text in same.into_iter().filter(|text| !text.contains("<<")) {
            assert_eq!(prints(text, &[input]), input, "{text}");
        }
        let both = [input, b"|", input].concat();
        assert_eq!(prints("printf '%s|%s' {} {}", &[input]), both);
        assert_eq!(prints("printf '%s' '{}|'\"{}\"", &[input]), both);
        assert_eq!(
            prints(
                "printf %s \"$(printf '%s' '{}|'{}.)\" | sed '$s/\\.$//'",
                &[input]
            ),
            both
        );
    }
}

#[test]
fn a_shell_runs_what_only_a_shell_can() {
    let needs = |text| template(text).needs_shell;
    for text in [
        "true",
        "a 'b | c' \"d > e\" f\\|g",
        "x --y=z",
        "{}",
        "gzip -9 {.}.txt",
        "a b=c {#}",
        "a b#c",
    ] {
        assert!(!needs(text), "{text}");
    }
    for text in [
        "a | b",
        "a > b",
        "a; b",
        "a &",
        "echo $HOME",
        "echo \"$HOME\"",
        "ls *",
        "A=1 env",
        "cd x",
        "a\nb",
        "exit 3",
        "{ a; }",
        "echo ~",
        "a # b",
        ": x",
    ] {
        assert!(needs(text), "{text}");
    }
}

#[test]
fn words_with_an_input_are_repeated_for_several() {
    let inputs: [&[u8]; 2] = [b"a b.x", b"c'd.y"];
    assert_eq!(
        prints("printf '[%s]' {} -n{#}", &inputs),
        b"[a b.x][c'd.y][-n7]"
    );
    assert_eq!(
        prints("printf '[%s]' -o\"{.}\".z", &inputs),
        b"[-oa b.z][-oc'd.z]"
    );
    assert_eq!(
        prints("printf '[%s]' -o\"{.}\".z | cat", &inputs),
        b"[-oa b.z][-oc'd.z]"
    );
    assert_eq!(prints("printf '[%s]'", &inputs), b"[a b.x][c'd.y]");
    assert_eq!(prints("printf '[%s]' {%} | cat", &inputs), b"[2]");
}

#[test]
fn a_brace_behind_a_backslash_is_none_of_a_placeholder() {
    assert_eq!(prints("printf '%s|' \\{} {}", &[b"a"]), b"{}|a|");
    assert_eq!(prints("printf '%s|' \"\\{}\" {}", &[b"a"]), b"\\{}|a|");
    assert_eq!(
        prints("x=1; printf '%s|' ${x} ${x#0} $((x + 1)) {}", &[b"a"]),
        b"1|1|2|a|"
    );
}

#[test]
fn what_cannot_be_run_is_refused_with_advice() {
    let refused = |text: &str| {
        let error = Template::new(OsStr::new(text)).expect_err(text);
        error.to_string()
    };
    insta::assert_snapshot!(
        ["", " ", "echo 'a", "echo \"a", "echo $(a", "echo `a", "echo `ls {}`", "cat <<X\n{}\nX", "echo $(({#}+1))"]
            .map(|text| format!("{text:?}: {}", refused(text)))
            .join("\n"),
        @r#"
    "": it is empty: give a program and its arguments
    " ": it is empty: give a program and its arguments
    "echo 'a": a quote is not closed
    "echo \"a": a quote is not closed
    "echo $(a": a $( is not closed
    "echo `a": a backtick is not closed
    "echo `ls {}`": a placeholder cannot be within `…` or $((…)), nor in or behind a here-document (<<); write $(…), or assign it to a variable before, as in n={#}
    "cat <<X\n{}\nX": a placeholder cannot be within `…` or $((…)), nor in or behind a here-document (<<); write $(…), or assign it to a variable before, as in n={#}
    "echo $(({#}+1))": a placeholder cannot be within `…` or $((…)), nor in or behind a here-document (<<); write $(…), or assign it to a variable before, as in n={#}
    "#
    );
    // Without a placeholder within they are a shell's own business.
    assert_eq!(prints("printf %s `printf a`{}", &[b"b"]), b"ab");
    assert_eq!(prints("printf %s {}; cat <<X\nb\nX", &[b"a"]), b"ab\n");
}

#[test]
fn commands_are_shown_as_they_were_written() {
    let shown = |text: &str| {
        let shown = template(text).shown(filling(&[b"a b.png"]));
        String::from_utf8(shown).expect("text")
    };
    insta::assert_snapshot!(
        ["convert {} -resize 50% out/{/}", "gzip -c '{}' > \"{.}.gz\"", "echo", "echo $(wc -c {})"]
            .map(shown)
            .join("\n"),
        @r#"
    convert 'a b.png' -resize 50% out/'a b.png'
    gzip -c 'a b.png' > "a b.gz"
    echo 'a b.png'
    echo $(wc -c 'a b.png')
    "#
    );
}

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
    for text in ["{+} {}", "{..}", "{-1}", "{2/.}", "x{0#}", "{= s/}/x/ =}"] {
        let refused = Template::new(OsStr::new(text)).expect_err(text);
        assert_eq!(refused, CommandError::OfParallel, "{text}");
    }
    for text in ["x {}", "{x}", "{a,b}", "{ 1 }", "'{1}' \"{+}\"", "\\{1}"] {
        assert!(Template::new(OsStr::new(text)).is_ok(), "{text}");
    }
    assert_eq!(Part::at(b"{x}"), None);
    assert_eq!(Part::Number.of(b"a", 12, 3), b"12");
    assert_eq!(Part::Slot.of(b"a", 12, 3), b"3");
}
