//! `breakeven ab`: two commands in turns.

use serde_json::Value;

use crate::command::breakeven;

const SLEEPS: [&str; 2] = ["sleep 0.02", "sleep 0.03"];

#[test]
fn the_faster_of_two_commands_is_told() {
    let said = breakeven(["ab", SLEEPS[0], SLEEPS[1]])
        .run()
        .quietly(0)
        .stdout;
    assert!(said.starts_with("B is slower: it takes 1."), "{said}");
    let json = breakeven(["ab", "--format", "json", SLEEPS[1], SLEEPS[0]])
        .run()
        .quietly(0)
        .stdout;
    let compared: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(compared["verdict"], "IMPROVEMENT");
    let runs = |side: &str| compared[side].as_array().unwrap().len();
    assert!(
        runs("a_ns") == runs("b_ns") && runs("a_ns") >= 3,
        "{compared}"
    );
    assert!(compared["upper"].as_f64() < Some(1.0), "{compared}");
}

#[test]
fn the_exit_code_is_the_verdict_where_that_is_asked_for() {
    let gated = |a, b, budget| {
        breakeven(["ab", "--gate", "--budget", budget, a, b])
            .run()
            .code
    };
    assert_eq!(gated(SLEEPS[0], SLEEPS[1], "60s"), Some(1));
    assert_eq!(gated(SLEEPS[1], SLEEPS[0], "60s"), Some(0));
    assert_eq!(gated(SLEEPS[0], SLEEPS[0], "1ns"), Some(3));
}

#[test]
fn a_command_that_cannot_be_compared_is_told() {
    let ended = breakeven(["ab", "true", "sh -c 'exit 3'"]).run();
    assert_eq!(ended.code, Some(1));
    let said = "error: \"sh -c 'exit 3'\" failed (exit status: 3): both commands must end well \
                to be compared\n";
    assert_eq!((&*ended.stdout, &*ended.stderr), ("", said));
    let refused = |command| breakeven(["ab", command, "true"]).run().refusal();
    assert!(refused("no-such-program x").starts_with("error: cannot run \"no-such-program x\""));
    assert!(refused("a 'b").contains("a quote is not closed"));
    assert!(refused("").contains("give a program"));
}
