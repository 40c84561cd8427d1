//! The `ratecell` program: replays access logs through policies, decides single requests and checks
//! the library against the decision vectors.

use std::process::ExitCode;

fn main() -> ExitCode {
    ratecell_cli::run()
}
