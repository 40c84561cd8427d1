//! The table at the head of `docs/RECIPES.md`; the snippets below it are tests of their own.

use ratecell::Policy;

const RECIPES: &str = include_str!("../docs/RECIPES.md");

/// The rows of the table, without its head: the limit, the policy.
fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let cells =
        RECIPES.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    cells.skip(2)
}

/// The text in backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_policy_of_the_table_is_accepted() {
    let mut policies = 0;
    for (system, written) in rows() {
        assert!(code(written).count() > 0, "{system}: no policy");
        for policy in code(written) {
            assert!(policy.parse::<Policy>().is_ok(), "{system}: {policy}");
            policies += 1;
        }
    }
    assert!(policies >= 22, "only {policies} policies found: does the test still read them?");
}

#[test]
fn every_link_to_a_section_has_one() {
    // As GitHub names the anchor of a heading.
    let anchor = |heading: &str| -> String {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    };
    let anchors: Vec<String> =
        RECIPES.lines().filter_map(|line| line.strip_prefix("## ")).map(anchor).collect();
    let links = RECIPES.split("](#").skip(1).filter_map(|rest| rest.split(')').next());
    let links: Vec<&str> = links.collect();
    assert!(links.len() > 12, "only {} links found: does the test still read them?", links.len());
    for link in links {
        assert!(anchors.iter().any(|anchor| anchor == link), "#{link}");
    }
}
