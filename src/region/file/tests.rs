//! The lock of a file, and the agent that keeps it.

use super::*;
use crate::region::tests::terms;

#[test]
fn a_file_has_one_agent_and_can_be_opened_beside_it() {
    let path = std::env::temp_dir().join(format!("ratecell-agents-{}", std::process::id()));
    let (memory, _) = open(&path, Some(terms(Some(("api", [1, 2]))))).expect("a region");
    let agent = AgentLock::new(&path).expect("an agent");
    let error = AgentLock::new(&path).expect_err("a second agent").to_string();
    let expected = "another agent serves the file: expected no more than one for each file";
    assert_eq!(error, format!("{}: {expected}", path.display()));
    open(&path, None).expect("the region");
    // Who could not attach a moment ago need not wait for the lock.
    let file = to_write().open(&path).expect("the file");
    assert!(Locked::new(&file).expect("no error").is_none());
    drop(agent);
    drop(AgentLock::new(&path).expect("the next agent"));
    assert!(Locked::new(&file).expect("no error").is_some());
    drop(memory);
    fs::remove_file(&path).expect("the file");
}
