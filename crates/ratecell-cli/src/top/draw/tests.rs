use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use super::super::model::tests::{model, naming, row};
use super::*;

fn drawn(model: &Model, palette: Palette, (width, height): (u16, u16)) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
    terminal.draw(|frame| draw(model, palette, frame)).expect("drawn");
    terminal.backend().buffer().clone()
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let cells: Vec<_> = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
    let width = usize::from(buffer.area.width);
    cells.chunks(width).map(|line| line.concat().trim_end().to_owned()).collect()
}

#[test]
fn eighty_columns_have_all_of_it() {
    let lines = lines(&drawn(&model(), Palette::default(), (80, 14)));
    let expected = [
        "/run/limits  100/s burst=200",
        "live 12 345 ± 678 of 1 000 000 keys; when full: evict; made 2.0 h ago",
        "one key in 7 is looked at",
        "",
        "admitted/s          2 500 ± 100                                                █",
        "evicted/s             4.0                                                      █",
        "forgiven/s             62                                                      █",
        "no room/s               0",
        "",
    ];
    for (line, expected) in lines.iter().zip(&expected) {
        assert_eq!(line, expected, "{lines:#?}");
    }
    for (line, words) in [
        (9, "key use ▾ used of limit admitted/s retry after"),
        (10, "cdef0123 ████████████████ 200 of 200 4.0 10 ms"),
        (11, "user:\\u{1b}[2J4 ████············ 50 of 200 4.0 0"),
    ] {
        assert_eq!(lines[line].split_whitespace().collect::<Vec<_>>().join(" "), words, "{lines:#?}");
    }
    assert!(lines[13].starts_with("q quit  ? help"), "{lines:#?}");
}

#[test]
fn eighty_columns_have_denials_and_names_too() {
    let model = naming();
    let lines = lines(&drawn(&model, Palette::default(), (80, 15)));
    for (line, words) in [
        (5, "denied/s 80 █"),
        (10, "key use ▾ used of limit admitted/s denied/s retry after"),
        (11, "203.0.113.7 ██████ 200 of 200 4.0 78 10 ms"),
        (12, "00000077 █····· 50 of 200 4.0 0 0"),
    ] {
        assert_eq!(lines[line].split_whitespace().collect::<Vec<_>>().join(" "), words, "{lines:#?}");
    }
    assert!(lines[14].ends_with("k key"), "{lines:#?}");
    assert_eq!((room(&model, 15), room(&super::super::model::tests::model(), 15)), (3, 4));
}

#[test]
fn a_notice_a_filter_and_the_help_are_seen() {
    let mut model = model();
    model.notice = Some("/run/limits was replaced".to_owned());
    model.filter = "user:42".to_owned();
    let text = lines(&drawn(&model, Palette::default(), (100, 24))).join("\n");
    assert!(text.contains("/run/limits was replaced") && text.contains("only user:42 (esc: all)"), "{text}");
    model.is_typing = true;
    let text = lines(&drawn(&model, Palette::default(), (100, 24))).join("\n");
    assert!(text.contains("/user:42█"), "{text}");
    model.shows_help = true;
    let text = lines(&drawn(&model, Palette::default(), (80, 24))).join("\n");
    assert!(text.contains("they leave no trace in it") && !text.contains("200 of 200"), "{text}");
    // The help fits in 80 columns.
    assert!(HELP.iter().all(|line| line.chars().count() <= 80));
}

#[test]
fn layers_are_named_where_there_are_some() {
    let mut model = model();
    model.about.layers = 2;
    model.rows[0].layer = 1;
    let text = lines(&drawn(&model, Palette::default(), (80, 14))).join("\n");
    assert!(text.contains("used of limit (layer)") && text.contains("200 of 200 (1)"), "{text}");
}

#[test]
fn no_colour_is_none_and_colours_are_no_more_than_that() {
    let (plain, coloured) = (Palette { is_plain: true }, Palette::default());
    let [plain, coloured] = [plain, coloured].map(|palette| drawn(&model(), palette, (80, 14)));
    assert_eq!(lines(&plain), lines(&coloured));
    assert!(plain.content().iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    assert!(coloured.content().iter().any(|cell| cell.fg != Color::Reset));
}

#[test]
fn any_size_is_drawn() {
    let mut model = model();
    model.rows = (0..300).map(|number| row(None, number, number % 201)).collect();
    for size in [(1, 1), (2, 9), (20, 5), (80, 24), (300, 100)] {
        let _ = drawn(&model, Palette::default(), size);
        model.shows_help = !model.shows_help;
    }
}
