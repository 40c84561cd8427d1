//! What `contrib/` gives to operators, by the tools that read it.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Files, arg};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(workspace().join(path)).unwrap()
}

/// Runs Prometheus' tool in `contrib/`, which must have nothing to complain of. ci/test.sh tells where there is none.
pub(crate) fn promtool(args: &[&str], stdin: &str) {
    let tool = Command::new("promtool")
        .args(args)
        .current_dir(workspace().join("contrib"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut tool = match tool {
        Ok(tool) => tool,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "promtool (Debian: prometheus): {error}");
            return;
        }
    };
    tool.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let told = tool.wait_with_output().unwrap();
    let words = [told.stdout, told.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(told.status.success(), "promtool {args:?}: {words}");
}

/// The words of a text that are names of metrics.
fn names(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("ratecell_"))
        .collect()
}

/// The names in tables of docs/OPERATIONS.md.
fn documented(page: &str) -> BTreeSet<&str> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(name, _)| name).collect()
}

#[test]
fn alerts_fire_where_they_should() {
    promtool(&["check", "rules", "alerts.yml"], "");
    promtool(&["test", "rules", "alerts_test.yml"], "");
}

#[test]
fn the_configuration_of_the_page_is_one() {
    let page = text("docs/OPERATIONS.md");
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (configuration, _) = rest.split_once("```").unwrap();
    let files = Files::new(&[("prometheus.yml", configuration.as_bytes())]);
    promtool(&["check", "config", arg(&files.path("prometheus.yml"))], "");
}

#[test]
fn what_is_looked_at_is_documented() {
    let page = text("docs/OPERATIONS.md");
    let known = documented(&page);
    let used = ["contrib/alerts.yml", "contrib/alerts_test.yml", "contrib/dashboard.json"].map(text);
    for text in &used {
        let names = names(text);
        assert!(names.len() >= 10, "{names:?}");
        assert!(names.is_subset(&known), "{:?}", names.difference(&known));
    }
    let [alerts, tests, _] = &used;
    let listed: BTreeSet<_> = known.iter().copied().filter(|name| name.starts_with("Ratecell")).collect();
    let ruled: BTreeSet<_> =
        alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert_eq!(listed, ruled);
    // Each fires in one test, and is silent in another.
    for alert in ruled {
        assert!(tests.contains(&format!("alertname: {alert}, exp_alerts: []")), "{alert}");
        assert!(tests.contains(&format!("alertname: {alert}\n        exp_alerts:\n")), "{alert}");
    }
}

#[test]
fn the_panels_of_the_dashboard_stand_beside_each_other() {
    let dashboard: Value = serde_json::from_str(&text("contrib/dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut cells = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}");
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|name| panel["gridPos"][name].as_u64().unwrap());
        assert!(x + w <= 24, "{title}");
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(cells.insert(cell), "{title} lies over another panel");
        }
        for target in panel["targets"].as_array().into_iter().flatten() {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
            assert!(!names(target["expr"].as_str().unwrap()).is_empty(), "{title}");
        }
    }
    assert!(ids.len() >= 10);
}
