//! On systems other than Linux: one process limits as everywhere, and what it cannot share is refused when it is made.
#![cfg(not(target_os = "linux"))]

use ratecell::{BuildError, Limiter, Memory, MemoryError, Policy, RegionError, WhenFull};

fn policy(text: &str) -> Policy {
    text.parse().expect("a policy")
}

#[test]
fn one_process_limits() {
    let limiter = Limiter::builder(policy("3/h")).max_keys(10_000).build().expect("a limiter");
    for key in 0..10_000_u32 {
        let key = key.to_le_bytes();
        let admitted = (0..5).filter(|_| limiter.check(key).is_allowed()).count();
        assert_eq!(admitted, 3);
    }
    assert!(limiter.epoch() < std::time::SystemTime::now());
    let earlier = limiter.now_ns();
    assert!(limiter.now_ns() >= earlier);
}

#[test]
fn a_full_table_is_searched_whole() {
    let builder = Limiter::builder(policy("sliding_window 2/h")).max_keys(5).when_full(WhenFull::Deny);
    let limiter = builder.build().expect("a limiter");
    let held: Vec<u32> = (0..100_u32).filter(|key| limiter.check(key.to_le_bytes()).is_allowed()).collect();
    assert_eq!(held.len(), 7, "a bucket's slots");
    for key in held {
        assert!(limiter.check(key.to_le_bytes()).is_allowed());
        assert!(!limiter.check(key.to_le_bytes()).is_allowed());
    }
}

#[test]
fn what_cannot_be_shared_is_refused() {
    assert_eq!(Memory::shared(4096).expect_err("no shared memory"), MemoryError::Unsupported);
    #[repr(align(64))]
    struct Lines([u8; 1 << 16]);
    let mut lines = Box::new(Lines([0; 1 << 16]));
    #[expect(unsafe_code, reason = "the caller's memory")]
    // SAFETY: the lines are there until the end of the test, and nobody else uses them.
    let memory = unsafe { Memory::from_raw_parts(lines.0.as_mut_ptr(), lines.0.len()) }.expect("memory");
    let builder = || Limiter::builder(policy("3/h"));
    let refused = BuildError::Region(RegionError::Unsupported);
    assert_eq!(builder().region_bytes().expect_err("no region"), refused);
    assert_eq!(builder().init(&memory).expect_err("no region"), refused);
    assert_eq!(builder().init_zeroed(&memory).expect_err("no region"), refused);
    assert_eq!(builder().attach(&memory).expect_err("no region"), refused);
    let opened = builder().open("limits").expect_err("no file");
    assert!(matches!(&opened, BuildError::File { error: RegionError::Unsupported, .. }), "{opened}");
    assert!(opened.to_string().contains("expected Linux"), "{opened}");
    assert!(!std::path::Path::new("limits").exists());
}

#[test]
fn another_policy_shares_the_keys_of_a_limiter() {
    let limiter = Limiter::builder(policy("3/h")).build().expect("a limiter");
    let tier = limiter.with_policy(policy("5/h")).map(|tier| tier.check_n("user:42", 4).is_allowed());
    assert_eq!(tier, Ok(true));
    assert!(!limiter.check("user:42").is_allowed());
}
