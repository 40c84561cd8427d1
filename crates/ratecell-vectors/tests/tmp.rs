use ratecell_core::{Decision, Policy};
use ratecell_vectors::*;
struct R(u64);
struct D;
impl Decides for D {
    fn decide(&mut self, _: &str, _: u32, _: u64) -> Decision {
        Decision::default()
    }
}
impl Replays for R {
    type Decides = D;
    fn decides(&mut self, _: Policy) -> anyhow::Result<D> {
        Ok(D)
    }
    fn failed(&mut self, f: &str) -> anyhow::Result<()> {
        self.0 += 1;
        if self.0 < 12 {
            println!("{f}");
        }
        Ok(())
    }
}
#[test]
fn t() {
    for f in ["reserve", "reserve_unknown", "concurrency", "change", "change_refused"] {
        let t = std::fs::read(format!("/work/shared/vectors/{f}.jsonl")).unwrap();
        let mut r = R(0);
        println!("{f}: {:?}", replay(f, &t, &mut r));
    }
}
