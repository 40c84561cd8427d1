//! The screen: a [`Model`] in so many columns and lines.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Clear, Paragraph, Row as TableRow, Sparkline, Table, Wrap};
use ratecell::KeyOrder;

use super::figures::{filled, grouped, rate};
use super::model::{Model, Row};
use crate::output::one_line;

/// The columns of a gauge before its bars.
const LABEL: u16 = 13;
const FIGURE: u16 = 12;
const REMARK: u16 = 18;
/// The columns of the bar of a key; fewer where its denials are shown.
const BAR: usize = 16;
const SHORT_BAR: usize = 6;

/// The colours of what is shown, or none. Nothing is said by a colour alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Palette {
    pub(super) is_plain: bool,
}

impl Palette {
    /// Without colours where the environment asks for none.
    pub(super) fn of_environment() -> Self {
        Self { is_plain: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) }
    }

    fn colour(self, colour: Color) -> Style {
        if self.is_plain { Style::new() } else { Style::new().fg(colour) }
    }

    fn allowed(self) -> Style {
        self.colour(Color::Blue)
    }

    fn denied(self) -> Style {
        self.colour(Color::LightRed)
    }

    fn lost(self) -> Style {
        self.colour(Color::Yellow)
    }
}

/// How many keys a screen of so many lines has room for.
pub(super) fn room(model: &Model, lines: u16) -> usize {
    usize::from(lines.saturating_sub(HEADER + gauges(model) + 2))
}

/// Title, summary, two lines for a notice, a blank line.
const HEADER: u16 = 5;

fn gauges(model: &Model) -> u16 {
    if model.about.has_names { 5 } else { 4 }
}

pub(super) fn draw(model: &Model, palette: Palette, frame: &mut Frame<'_>) {
    let area = frame.area();
    let [title, summary, notice, lines, _, keys, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Length(gauges(model)),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(area);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let text = format!("{}  {}", one_line(&model.about.file), model.about.policy);
    frame.render_widget(Paragraph::new(Line::styled(text, bold)), title);
    frame.render_widget(Paragraph::new(model.summary()), summary);
    let said = match (&model.notice, model.is_frozen) {
        (Some(notice), _) => Line::styled(one_line(notice), palette.denied().add_modifier(Modifier::BOLD)),
        (None, true) => Line::styled("frozen: space goes on", bold),
        (None, false) => Line::raw(model.sampled().unwrap_or_default()),
    };
    frame.render_widget(Paragraph::new(said).wrap(Wrap { trim: true }), notice);
    draw_gauges(model, palette, frame, lines);
    draw_keys(model, palette, frame, keys);
    frame.render_widget(Paragraph::new(footer(model)), foot);
    if model.shows_help {
        draw_help(frame, area);
    }
}

fn draw_gauges(model: &Model, palette: Palette, frame: &mut Frame<'_>, area: Rect) {
    let bars = area.width.saturating_sub(LABEL + FIGURE + REMARK);
    for (gauge, line) in model.gauges(usize::from(bars)).into_iter().zip(area.rows()) {
        let [label, figure, remark, minute] = Layout::horizontal([
            Constraint::Length(LABEL),
            Constraint::Length(FIGURE),
            Constraint::Length(REMARK),
            Constraint::Min(0),
        ])
        .areas(line);
        frame.render_widget(Paragraph::new(gauge.label), label);
        frame.render_widget(Paragraph::new(gauge.figure).alignment(Alignment::Right), figure);
        frame.render_widget(Paragraph::new(format!(" {}", gauge.remark)), remark);
        let style = match gauge.label {
            "admitted/s" => palette.allowed(),
            "denied/s" => palette.denied(),
            _ => palette.lost(),
        };
        frame.render_widget(Sparkline::default().data(gauge.bars).style(style), minute);
    }
}

fn draw_keys(model: &Model, palette: Palette, frame: &mut Frame<'_>, area: Rect) {
    let is_layered = model.about.layers > 1;
    let right = |text: String| Cell::from(Line::from(text).alignment(Alignment::Right));
    let has_names = model.about.has_names;
    let bar_columns = if has_names { SHORT_BAR } else { BAR };
    let cells = |row: &Row| {
        let full = filled(row.used, row.limit, bar_columns);
        let style = if row.used >= row.limit { palette.denied() } else { palette.allowed() };
        let bar = format!("{}{}", "█".repeat(full), "·".repeat(bar_columns - full));
        let mut used = format!("{} of {}", grouped(row.used), grouped(row.limit));
        if is_layered {
            used.push_str(&format!(" ({})", row.layer));
        }
        let mut cells = vec![
            Cell::from(row.title()),
            Cell::from(Line::styled(bar, style)),
            right(used),
            right(rate(row.admitted)),
        ];
        cells.extend(has_names.then(|| right(rate(row.denied))));
        cells.push(right(row.retry()));
        TableRow::new(cells)
    };
    let mark = |order: KeyOrder, name: &str| {
        if model.order == order { format!("{name} ▾") } else { name.to_owned() }
    };
    let used = if is_layered { "used of limit (layer)" } else { "used of limit" };
    let mut heading = vec![
        Cell::from(mark(KeyOrder::Hash, "key")),
        Cell::from(mark(KeyOrder::Used, "use")),
        right(used.to_owned()),
        right(mark(KeyOrder::Admitted, "admitted/s")),
    ];
    let mut widths = vec![
        Constraint::Min(12),
        Constraint::Length(bar_columns as u16),
        Constraint::Length(22),
        Constraint::Length(12),
    ];
    if has_names {
        heading.push(right(mark(KeyOrder::Denied, "denied/s")));
        widths.push(Constraint::Length(10));
    }
    heading.push(right("retry after".to_owned()));
    widths.push(Constraint::Length(11));
    let table = Table::new(model.rows.iter().map(cells), widths)
        .header(TableRow::new(heading).style(Style::new().add_modifier(Modifier::UNDERLINED)))
        .column_spacing(1);
    frame.render_widget(table, area);
}

fn footer(model: &Model) -> String {
    if model.is_typing {
        return format!("/{}█  a key, or the first digits of one", one_line(&model.filter));
    }
    let filter = if model.filter.is_empty() {
        String::new()
    } else {
        format!("only {} (esc: all)  ", one_line(&model.filter))
    };
    let denied = if model.about.has_names { ", d denied" } else { "" };
    format!("{filter}q quit  ? help  / find  space freeze  sort by u use, a admitted{denied}, k key")
}

/// What the keys do, and what the figures mean.
const HELP: [&str; 19] = [
    "u  keys that have used most of their limit first",
    "a  keys that were admitted most first",
    "d  keys that were denied most alone, where the file names denied keys",
    "k  keys by their digits",
    "/  find: a key as programs give it, part of a name, or the first digits",
    "space  freeze, go on        esc  all keys        q  quit",
    "",
    "A key without a name is shown by the last 8 digits of its hash.",
    "admitted/s: units, from words that have grown between two looks. ± holds",
    "what drained unseen, and four standard errors where a part is looked at.",
    "evicted/s: keys that were erased for others, with units still in use.",
    "forgiven/s: those units. no room/s: requests denied for want of room.",
    "retry after: until one more unit is allowed.",
    "denied/s: requests, all of them; of one key those that were counted as its.",
    "A file that was made without names says of denials by the policy nothing:",
    "they leave no trace in it.",
    "The file is only read; its limiters do not notice.",
    "",
    "any key closes this",
];

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let lines = HELP.map(Line::raw);
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines.to_vec()), area);
}

#[cfg(test)]
mod tests;
