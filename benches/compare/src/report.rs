//! What is printed, and what becomes of docs/BENCHMARKS.md.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::results::Results;

mod figures;
mod plots;
mod tables;

pub(crate) const STORMS: &str = "An insert storm into an empty store";
pub(crate) const MEMORY: &str = "Memory";

/// The machine, and how busy it is before anything is measured.
pub(crate) fn machine() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models = cpuinfo.lines().filter_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = models.map(|(_, model)| model).next().unwrap_or("unknown");
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = rustix::system::uname();
    let pages = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split_whitespace().take(2).collect();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut text = String::new();
    let mut line = |name: &str, value: &str| writeln!(text, "- {name}: {value}").expect("a string");
    line("processor", &format!("{model}, {processors} available"));
    line("kernel", &format!("{} {}", kernel.sysname().to_string_lossy(), kernel.release().to_string_lossy()));
    line("transparent huge pages", pages.trim());
    line("load before, over 1 and 5 minutes", &load.join(", "));
    line("extent", if arguments.iter().any(|argument| argument == "--quick") { "`--quick`" } else { "full" });
    text
}

/// Cases and their instructions, of the table that benches/instructions.sh prints.
pub(crate) fn read_instructions(table: &str) -> Vec<(String, f64)> {
    let row = |line: &str| {
        let (case, number) = line.strip_prefix("| ")?.strip_suffix(" |")?.rsplit_once(" | ")?;
        Some((case.to_owned(), number.parse().ok()?))
    };
    table.lines().filter_map(row).collect()
}

/// Prints everything, and where `docs` is given puts it between the marks of its BENCHMARKS.md.
pub(crate) fn all(
    results: &Results,
    machine: &str,
    through_c: &str,
    docs: Option<&Path>,
) -> Result<(), String> {
    let parts = [
        ("machine", format!("{machine}{}", tables::huge_pages(results))),
        ("figures", figures::table_of(results)),
        ("tables", tables::all(results)),
        ("instructions", tables::instructions(results)),
        ("through-c", through_c.to_owned()),
    ];
    for (_, text) in &parts {
        println!("{text}");
    }
    let Some(docs) = docs else { return Ok(()) };
    let path = docs.join("BENCHMARKS.md");
    let failed = |error| format!("{}: {error}", path.display());
    let mut text = fs::read_to_string(&path).map_err(failed)?;
    for (name, part) in &parts {
        // A part that was not run stays as it was.
        if !part.trim().is_empty() {
            text = replaced(&text, name, part).ok_or_else(|| failed(missing(name)))?;
        }
    }
    fs::write(&path, text).map_err(failed)?;
    plots::all(results, &docs.join("plots"))
}

fn missing(name: &str) -> std::io::Error {
    std::io::Error::other(format!("no marks <!-- {name} --> and <!-- /{name} -->"))
}

/// `text` with what stands between the marks called `name` replaced.
fn replaced(text: &str, name: &str, part: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{}\n\n{end}{after}", part.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        let text = "a\n<!-- x -->\nold\n<!-- /x -->\nb";
        assert_eq!(replaced(text, "x", "\nnew\n").as_deref(), Some("a\n<!-- x -->\n\nnew\n\n<!-- /x -->\nb"));
        assert_eq!(replaced(text, "y", "new"), None);
    }

    #[test]
    fn instructions_are_read_from_their_table() {
        let table = "| case | instructions |\n| --- | --- |\n| ratecell, direct, allowed | 38.0 |\n";
        assert_eq!(read_instructions(table), [("ratecell, direct, allowed".to_owned(), 38.0)]);
    }
}
