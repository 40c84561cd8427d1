//! Rows about access logs: a question and the answer to it.

use std::io::Cursor;

use anyhow::{Context, Result, anyhow, bail};
use ratecell_logs::{
    ClientText, Cost, Filter, Format, FormatError, Group, Line, Lines, Options, Reader, Reason, Record,
    SAMPLE_LINES, Selector, Server, Spread, Value as Field, Window, counts_for_sample, recognise,
};
use ratecell_vectors::{Judge, Judged};
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// What of a row is the question. The rest is the answer; of `keys`, `costs` and `filters` the names are asked.
const ASKED: [&str; 13] = [
    "name",
    "format",
    "options",
    "before",
    "line",
    "file",
    "gzip_hex",
    "nginx",
    "apache",
    "times",
    "window_ns",
    "digits",
    "spread",
];

/// What judges the rows of a kind of files.
pub(crate) fn judge(kind: &str) -> Option<Judge> {
    let answer = match kind {
        "logs" => line,
        "logs_files" => file,
        "logs_compile" => compile,
        "logs_times" => times,
        _ => return None,
    };
    Some(Box::new(move |row| judged(ratecell_vectors::object(row)?, answer)))
}

/// Whether a row is what `answer` gives.
fn judged(row: &Object, answer: fn(&Object) -> Result<Object>) -> Result<Judged> {
    let got = answer(row)?;
    let expected: Object = row
        .iter()
        .filter(|(name, _)| !ASKED.contains(&&***name))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect();
    let differ = |name: &&String| expected.get(*name) != got.get(*name);
    let names: Vec<_> =
        expected.keys().chain(got.keys().filter(|name| !expected.contains_key(*name))).collect();
    let differing = names.into_iter().filter(differ).map(|name| {
        let show = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
        format!("{name}: expected {}, got {}", show(expected.get(name)), show(got.get(name)))
    });
    let differing: Vec<_> = differing.collect();
    Ok(if differing.is_empty() { Judged::Right } else { Judged::Wrong(differing.join("; ")) })
}

fn line(row: &Object) -> Result<Object> {
    let options = options(row)?;
    let mut reader = Reader::new(&format(row)?, &options);
    if let Some(Value::Array(before)) = row.get("before") {
        for line in before {
            reader.line(&bytes(line)?);
        }
    }
    let line = bytes(&row["line"])?;
    let record = match reader.line(&line) {
        Line::Record(record) => record,
        Line::Skipped(skip) => return Ok(object([("skip", json!(skip.code()))])),
        Line::Malformed(reason) => return Ok(object([("malformed", json!(reason.code()))])),
    };
    let mut got = object([("record", shown(&record))]);
    if row.contains_key("arrival") {
        got.insert("arrival".to_owned(), json!(record.arrival_ns()));
    }
    each(row, "keys", &mut got, |selector: &Selector| {
        selector.key(&record, ClientText::Logged).map_or(Value::Null, |key| text(&key))
    })?;
    each(row, "costs", &mut got, |cost: &Cost| json!(cost.of(&record)))?;
    each(row, "filters", &mut got, |filter: &Filter| json!(filter.holds(&record)))?;
    Ok(got)
}

/// Answers what is asked under each name of `field`.
fn each<T: std::str::FromStr<Err = String>>(
    row: &Object,
    field: &str,
    got: &mut Object,
    answer: impl Fn(&T) -> Value,
) -> Result<()> {
    if let Some(Value::Object(asked)) = row.get(field) {
        let answers = asked.keys().map(|name| {
            let parsed = name.parse().map_err(|error| anyhow!("{field}: {error}"))?;
            Ok((name.clone(), answer(&parsed)))
        });
        got.insert(field.to_owned(), answers.collect::<Result<Object>>()?.into());
    }
    Ok(())
}

/// The format, whose string is among the options if the user gave one.
fn format(row: &Object) -> Result<Format> {
    let name = row.get("format").and_then(Value::as_str).context("no format")?;
    let string = |server: &str| row.get("options")?.get(server)?.as_str().map(|text| format!(":{text}"));
    let string = ["nginx", "apache"].into_iter().find(|server| name.ends_with(server)).and_then(string);
    let format = format!("{name}{}", string.unwrap_or_default());
    format.parse().map_err(|error: String| anyhow!(error))
}

fn options(row: &Object) -> Result<Options> {
    let mut options = Options::default();
    let Some(given) = row.get("options") else { return Ok(options) };
    options.zone = given.get("zone").and_then(Value::as_i64).and_then(|zone| i32::try_from(zone).ok());
    if let Some(Value::Object(pointers)) = given.get("pointers") {
        for (field, pointer) in pointers {
            let pointer = pointer.as_str().unwrap_or_default();
            options.set_pointer(field, pointer).map_err(|error| anyhow!(error))?;
        }
    }
    Ok(options)
}

fn shown(record: &Record<'_>) -> Value {
    let value = |value: Field<'_>| match value {
        Field::Text(bytes) => text(&bytes),
        Field::Number(number) => {
            u64::try_from(number).map_or_else(|_| json!(number as f64), |number| json!(number))
        }
    };
    record.fields().into_iter().map(|(name, field)| (name, value(field))).collect::<Object>().into()
}

fn file(row: &Object) -> Result<Object> {
    let file = match row.get("gzip_hex") {
        Some(hex) => unhex(hex.as_str().unwrap_or_default())?,
        None => bytes(&row["file"])?,
    };
    let mut lines = Lines::new(Cursor::new(file))?;
    let recognised = recognise(&lines.sample(SAMPLE_LINES, counts_for_sample)?);
    let format = recognised.accepted();
    let mut got = object([
        ("detected", json!(format.map(ToString::to_string))),
        ("read", json!(recognised.read)),
        ("tried", json!(recognised.tried)),
    ]);
    let Some(format) = format else { return Ok(got) };
    let mut reader = Reader::new(format, &options(row)?);
    let (mut records, mut malformed, mut skipped) = (Vec::new(), Vec::new(), 0_u64);
    while let Some((number, line)) = lines.next_line()? {
        match reader.line(line) {
            Line::Record(record) => {
                records.push(json!([number, record.time_ns(), record.client().map(text)]));
            }
            Line::Malformed(Reason::NoZone) => {
                got.insert("error".to_owned(), json!("no_zone"));
                return Ok(got);
            }
            Line::Malformed(reason) => malformed.push(json!([number, reason.code()])),
            Line::Skipped(_) => skipped += 1,
        }
    }
    got.extend(object([
        ("records", Value::Array(records)),
        ("malformed", Value::Array(malformed)),
        ("skipped", json!(skipped)),
    ]));
    Ok(got)
}

fn compile(row: &Object) -> Result<Object> {
    let string = |server: &str| row.get(server).and_then(Value::as_str);
    let compiled = match (string("nginx"), string("apache")) {
        (Some(text), _) => Format::compile(Server::Nginx, text),
        (None, Some(text)) => Format::compile(Server::Apache, text),
        (None, None) => bail!("no format string"),
    };
    Ok(match compiled.map_err(FormatError::code) {
        Ok(format) => object([("parts", json!(format.parts()))]),
        Err(code) => object([("error", json!(code))]),
    })
}

fn times(row: &Object) -> Result<Object> {
    let number = |name: &str| row.get(name).and_then(Value::as_u64).with_context(|| format!("no {name}"));
    let times = row.get("times").and_then(Value::as_array).context("no times")?;
    let digits = u8::try_from(number("digits")?)?;
    let spread = match row.get("spread").and_then(Value::as_str) {
        Some("even") => Spread::Even,
        Some("together") => Spread::Together,
        _ => bail!("expected a spread, even or together"),
    };
    let mut window = Window::new(number("window_ns")?);
    let mut group = Group::new(spread);
    let (mut order, mut times_out) = (Vec::new(), Vec::new());
    let mut out = |time_ns: u64, place: usize| {
        order.push(place);
        times_out.push(time_ns);
    };
    for (place, time) in times.iter().enumerate() {
        window.push(time.as_u64().context("a time that is no number")?, place);
        while let Some((time_ns, place)) = window.pop() {
            group.push(time_ns, digits, place, &mut out);
        }
    }
    window.close();
    while let Some((time_ns, place)) = window.pop() {
        group.push(time_ns, digits, place, &mut out);
    }
    group.flush(&mut out);
    Ok(object([("order", json!(order)), ("times_out", json!(times_out)), ("late", json!(window.late()))]))
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Object {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Bytes as the vectors write them: those that are no UTF-8 in hex.
fn text(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({ "hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() }),
    }
}

fn bytes(value: &Value) -> Result<Vec<u8>> {
    match (value.as_str(), value.get("hex").and_then(Value::as_str)) {
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (None, Some(hex)) => unhex(hex),
        (None, None) => bail!("expected a text or {{\"hex\":…}}, got {value}"),
    }
}

fn unhex(hex: &str) -> Result<Vec<u8>> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = pairs.iter().map(byte).collect::<Option<_>>().filter(|_| rest.is_empty());
    bytes.context("expected pairs of hexadecimal digits")
}
