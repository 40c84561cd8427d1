//! `ratecell check`.

use crate::support::ratecell;

/// The words of each line.
fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn each_decision_is_a_line() {
    let run = ratecell(&["check", "--policy", "10/s burst=2", "--at", "5", "--times", "3", "alice"]);
    let out = run.quiet_success();
    let lines = words(&out);
    assert_eq!(lines[0].join(" "), "10/s burst=2 of alice at 5 ns, cost 1");
    assert_eq!(lines[3], ["1", "allowed", "2", "1", "0ns", "100ms", "0ns"]);
    assert_eq!(lines[4], ["2", "allowed", "2", "0", "0ns", "200ms", "0ns"]);
    assert_eq!(lines[5], ["3", "denied", "2", "0", "100ms", "200ms", "0ns"]);
    assert_eq!(lines.len(), 6);
}

#[test]
fn a_peek_takes_nothing_and_a_queue_delays() {
    let peek = ratecell(&["check", "--policy", "1/s", "--at", "0", "--cost", "0", "--times", "2", "k"]);
    let out = peek.quiet_success();
    assert_eq!(words(&out)[4], ["2", "allowed", "1", "1", "0ns", "0ns", "0ns"]);

    let queue = ratecell(&["check", "-p", "leaky_queue 4/s queue=1", "--at", "0", "--times", "2", "k"]);
    let out = queue.quiet_success();
    assert_eq!(words(&out)[4], ["2", "allowed", "2", "0", "0ns", "500ms", "250ms"]);
}

#[test]
fn what_can_never_pass_says_so() {
    let never = ratecell(&["check", "-p", "3/s", "--at", "0", "--cost", "4", "k"]).quiet_success();
    assert!(never.contains("never: the cost exceeds the limit"), "{never}");
    let late = ratecell(&["check", "-p", "3/s", "--at", "18446744073709551615", "k"]).quiet_success();
    assert!(late.contains("clock_range: the time is past what the policy serves"), "{late}");
}

#[test]
fn a_policy_that_asks_for_zones_is_refused() {
    let policy = "calendar_window 3/day tz=caller";
    for args in [["check", "-p", policy, "k"], ["replay", "-p", policy, "x"]] {
        assert_eq!(
            ratecell(&args).error(),
            format!(
                "ratecell: invalid value '{policy}' for '--policy <POLICY>': tz=caller asks each request for its zone, \
                 and none names one here: expected a zone"
            )
        );
    }
}

#[test]
fn without_a_time_it_is_now() {
    let out = ratecell(&["check", "-p", "3/s", "k"]).quiet_success();
    assert_eq!(words(&out)[3][..4], ["1", "allowed", "3", "2"]);
}
