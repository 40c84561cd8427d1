//! The program as its users see it: arguments and files in; output, errors and exit status out.

mod support;

mod check;
mod contrib;
#[cfg(target_os = "linux")]
mod envoy;
#[cfg(target_os = "linux")]
mod export;
mod page;
mod regions;
mod replay;
mod replay_input;
mod replay_rules;
mod rules;
#[cfg(target_os = "linux")]
mod serve;
mod suggest;
mod sync;
#[cfg(target_os = "linux")]
mod top;
mod usage;
mod vectors;
