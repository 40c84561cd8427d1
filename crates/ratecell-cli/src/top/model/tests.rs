use super::*;

const TICK: Duration = Duration::from_millis(500);

/// A model of one policy, with two keys.
pub(in crate::top) fn model() -> Model {
    let about = About {
        file: "/run/limits".to_owned(),
        policy: "100/s burst=200".to_owned(),
        layers: 1,
        max_keys: 1_000_000,
        when_full: "evict".to_owned(),
        age: Some(Duration::from_secs(7_200)),
        has_names: false,
    };
    let mut model = Model::new(about.clone());
    let sample = Sample {
        live: 12_345,
        live_error: 678,
        sampled: (32_768, 200_000),
        admitted: Some((1_200, 1_300, TICK)),
        tells_admitted: true,
        over: TICK,
        evicted: 2,
        forgiven: 31,
        denied_full: 0,
        denied: None,
    };
    model.update(
        about,
        sample,
        vec![row(None, 0xAB_CDEF_0123, 200), row(Some("user:\u{1b}[2J42"), 0x77, 50)],
    );
    model
}

pub(in crate::top) fn row(name: Option<&str>, hash: u64, used: u64) -> Row {
    let retry_after = if used == 200 { Some(Duration::from_millis(10)) } else { Some(Duration::ZERO) };
    let name = name.map(str::to_owned);
    Row { name, hash, layer: 0, used, limit: 200, admitted: 4.0, denied: 0.0, retry_after }
}

fn press(model: &mut Model, text: &str) -> Vec<Wish> {
    text.chars().map(|c| model.press(KeyCode::Char(c).into())).collect()
}

#[test]
fn rates_are_of_the_time_between_two_samples() {
    let model = model();
    let figures: Vec<_> =
        model.gauges(4).into_iter().map(|gauge| (gauge.label, gauge.figure, gauge.remark)).collect();
    let expected = [
        ("admitted/s", "2 500", "± 100"),
        ("evicted/s", "4.0", ""),
        ("forgiven/s", "62", ""),
        ("no room/s", "0", ""),
    ];
    assert_eq!(
        figures,
        expected.map(|(label, figure, remark)| (label, figure.to_owned(), remark.to_owned()))
    );
    assert_eq!(model.summary(), "live 12 345 ± 678 of 1 000 000 keys; when full: evict; made 2.0 h ago");
    assert_eq!(model.sampled().as_deref(), Some("one key in 7 is looked at"));
}

/// The same, where denied keys are named.
pub(in crate::top) fn naming() -> Model {
    let mut model = model();
    model.about.has_names = true;
    let sample = Sample { denied: Some(40), ..model.sample };
    let rows = vec![Row { denied: 78.0, ..row(Some("203.0.113.7"), 0x99, 200) }, row(None, 0x77, 50)];
    model.update(model.about.clone(), sample, rows);
    model
}

#[test]
fn denials_are_shown_where_they_are_counted() {
    let mut model = model();
    assert!(model.gauges(1).iter().all(|gauge| gauge.label != "denied/s"));
    assert_eq!((press(&mut model, "d"), model.order), (vec![Wish::Nothing], KeyOrder::Used));
    let mut model = naming();
    let gauge = &model.gauges(2)[1];
    assert_eq!((gauge.label, &*gauge.figure, &*gauge.remark), ("denied/s", "80", ""));
    // 80 a second in one of 60 samples.
    assert_eq!(gauge.bars, [0, 14]);
    assert_eq!((press(&mut model, "d"), model.order), (vec![Wish::Keys], KeyOrder::Denied));
}

#[test]
fn a_minute_is_kept_and_its_columns_are_means() {
    let mut series = Series::default();
    for _ in 0..KEPT {
        series.push(8.0);
    }
    assert_eq!(series.bars(4), [80; 4]);
    for _ in 0..KEPT / 4 {
        series.push(1.0);
    }
    assert_eq!(series.bars(4), [80, 80, 80, 10]);
    // More columns than samples: each sample has some.
    assert_eq!(series.bars(2 * KEPT).len(), 2 * KEPT);
    let mut young = Series::default();
    young.push(3.0);
    assert_eq!(young.bars(2), [0, 1]);
    assert!(young.bars(0).is_empty());
}

#[test]
fn what_the_words_do_not_say_is_not_made_up() {
    let mut model = model();
    model.sample.admitted = None;
    assert_eq!(model.gauges(1)[0].figure, "…");
    model.sample.tells_admitted = false;
    assert_eq!((&*model.gauges(1)[0].figure, &*model.gauges(1)[0].remark), ("-", "not in the words"));
}

#[test]
fn keys_sort_find_freeze_help_and_quit() {
    let mut model = model();
    for (letter, order) in [("a", KeyOrder::Admitted), ("k", KeyOrder::Hash), ("u", KeyOrder::Used)] {
        assert_eq!(press(&mut model, letter), [Wish::Keys]);
        assert_eq!(model.order, order);
    }
    assert_eq!(press(&mut model, " "), [Wish::Nothing]);
    assert!(model.is_frozen);
    press(&mut model, " ?");
    assert!(!model.is_frozen && model.shows_help);
    press(&mut model, "u");
    assert!(!model.shows_help);

    // What is typed is no command.
    assert_eq!(press(&mut model, "/q u"), [Wish::Nothing, Wish::Keys, Wish::Keys, Wish::Keys]);
    assert_eq!((&*model.filter, model.is_frozen), ("q u", false));
    assert_eq!(model.press(KeyCode::Backspace.into()), Wish::Keys);
    assert_eq!(model.press(KeyCode::Enter.into()), Wish::Keys);
    assert_eq!((&*model.filter, model.is_typing), ("q ", false));
    assert_eq!(model.press(KeyCode::Esc.into()), Wish::Keys);
    assert_eq!(model.filter, "");

    assert_eq!(press(&mut model, "q"), [Wish::Quit]);
    model.press(KeyCode::Char('/').into());
    let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
    assert_eq!((model.press(control('x')), model.press(control('c'))), (Wish::Nothing, Wish::Quit));
}

#[test]
fn what_became_another_is_said_for_a_while() {
    let mut model = model();
    let next = |model: &mut Model| {
        let (about, sample) = (model.about.clone(), model.sample);
        model.update(about, sample, Vec::new());
        model.notice.is_some()
    };
    model.say("the file was replaced".to_owned(), 2);
    assert_eq!([(); 4].map(|()| next(&mut model)), [true, true, false, false]);
    model.say("the file was cut".to_owned(), 0);
    assert!(model.notice.is_some() && !next(&mut model));
}
