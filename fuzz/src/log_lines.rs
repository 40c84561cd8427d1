//! Access logs: any bytes are records, skipped or malformed, by every format, wrapper and format string.

use std::sync::LazyLock;

use ratecell_logs::{
    ClientText, Cost, Filter, Format, Line, Lines, MAX_LINE_LEN, Options, Reader, Record, SAMPLE_LINES,
    Selector, Server, Window, counts_for_sample, recognise,
};

const WRAPPERS: [&str; 4] = ["", "syslog+", "docker+", "cri+"];

const STRINGS: [&str; 4] = [
    "nginx:$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\"",
    "nginx:$msec|$host|$request_uri|$request_time",
    "apache:%h %l %u %t \"%r\" %>s %b %D",
    "apache:%{%FT%T%z}t %v:%p %a %m %U%q %{X-Key}i",
];

static FORMATS: LazyLock<Vec<Format>> = LazyLock::new(|| {
    let named = Format::names().flat_map(|name| WRAPPERS.map(|wrapper| format!("{wrapper}{name}")));
    let all = named.chain(STRINGS.map(str::to_owned));
    all.map(|format| format.parse().expect("a format")).collect()
});

/// With a zone for times that have none: recognising reads all formats without one.
static OPTIONS: LazyLock<Options> = LazyLock::new(|| {
    let mut east = Options::default();
    east.zone = Some(5 * 3600);
    east.set_pointer("client", "/client/0").expect("a field and a pointer");
    east
});

static SELECTORS: LazyLock<Vec<Selector>> = LazyLock::new(|| {
    ["client", "client+path", "header:User-Agent", "/request/headers/0", "extra1+host"]
        .map(|selector| selector.parse().expect("a selector"))
        .to_vec()
});

static FILTERS: LazyLock<Vec<Filter>> = LazyLock::new(|| {
    ["status=4xx", "bytes>9", "path^=/"].map(|filter| filter.parse().expect("a filter")).to_vec()
});

static COST: LazyLock<Cost> = LazyLock::new(|| "bytes/1024".parse().expect("a cost"));

pub fn run(text: &[u8]) {
    let lines = lines(text);
    for format in &*FORMATS {
        read(format, &OPTIONS, &lines);
    }
    let sample = &lines[..lines.len().min(SAMPLE_LINES)];
    let recognised = recognise(sample);
    assert!(recognised.read <= recognised.tried, "{recognised:?}: expected to read no more than was tried");
    compile(text, &lines);
    order(text);
}

/// The lines of the text, which are those between `\n`, unless it is an archive.
fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    let mut read = Vec::new();
    let Ok(mut lines) = Lines::new(std::io::Cursor::new(text.to_vec())) else { return read };
    let sample = lines.sample(2, counts_for_sample);
    while let Ok(Some((number, line))) = lines.next_line() {
        read.push(line.to_vec());
        assert_eq!(usize::try_from(number), Ok(read.len()), "expected the lines to be counted");
    }
    if !text.starts_with(&[0x1F, 0x8B]) {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let empty = text.is_empty() && read.len() <= 1;
        let split: Vec<_> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        assert!(empty || read == split, "expected the text between line ends");
        let sample = sample.expect("a text can be read");
        assert_eq!(sample, read[..sample.len()], "expected a sample to be the first lines, and to take none");
    }
    read
}

fn read(format: &Format, options: &Options, lines: &[Vec<u8>]) {
    let mut reader = Reader::new(format, options);
    for line in lines {
        let Line::Record(record) = reader.line(line) else { continue };
        let shown = line.escape_ascii();
        assert!(record.time_ns() < 1 << 63, "{format}: {shown}: expected a time below 2^63");
        assert!(record.digits() <= 9, "{format}: {shown}: expected at most nine digits");
        assert!(
            record.arrival_ns() <= record.time_ns(),
            "{format}: {shown}: expected no arrival after the stamp"
        );
        assert!(!record.fields().is_empty());
        decide(&record);
        if ["combined", "vhost_combined"].contains(&&*format.to_string()) {
            // A line of the Common family says nothing about another one.
            let (time_ns, client) = (record.time_ns(), record.client().map(<[u8]>::to_vec));
            let mut forgetful = Reader::new(format, options);
            if let Line::Record(alone) = forgetful.line(line) {
                let alone = (alone.time_ns(), alone.client().map(<[u8]>::to_vec));
                assert_eq!(alone, (time_ns, client), "{format}: {shown}: expected the same by itself");
            }
        }
    }
}

fn decide(record: &Record<'_>) {
    for selector in &*SELECTORS {
        for client in [ClientText::Logged, ClientText::Key] {
            if let Some(key) = selector.key(record, client) {
                assert!(
                    key.len() <= 8 * MAX_LINE_LEN,
                    "expected a key that is not longer than what it is made of"
                );
            }
        }
    }
    for filter in &*FILTERS {
        let _ = filter.holds(record);
    }
    let _ = COST.of(record);
}

/// The first line as a format string for the others.
fn compile(text: &[u8], lines: &[Vec<u8>]) {
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Ok(string) = std::str::from_utf8(first) else { return };
    for server in [Server::Nginx, Server::Apache] {
        let Ok(format) = Format::compile(server, string) else { continue };
        let same: Format = format.to_string().parse().expect("a format reads its own text");
        assert_eq!(same.parts(), format.parts());
        read(&format, &OPTIONS, lines);
    }
}

/// The bytes as times: what comes out of a window never steps back, and all of it comes out.
fn order(text: &[u8]) {
    let Some((width, times)) = text.split_first() else { return };
    let mut window = Window::new(u64::from(*width));
    let mut out = Vec::new();
    for (place, time) in times.iter().enumerate() {
        window.push(u64::from(*time), place);
        out.extend(std::iter::from_fn(|| window.pop()));
    }
    window.close();
    out.extend(std::iter::from_fn(|| window.pop()));
    assert!(
        out.is_sorted_by_key(|(time, _)| *time),
        "{times:?}: expected times that never step back: {out:?}"
    );
    let mut places: Vec<_> = out.iter().map(|(_, place)| *place).collect();
    places.sort_unstable();
    assert!(places.into_iter().eq(0..times.len()), "{times:?}: expected each one once");
    let moved = out.iter().filter(|(time, place)| *time != u64::from(times[*place])).count();
    assert_eq!(u64::try_from(moved), Ok(window.late()), "{times:?}: expected the late ones to be counted");
    if window.furthest_back_ns() <= u64::from(*width) {
        assert_eq!(window.late(), 0, "{times:?}: expected a window that is enough to be enough");
    }
}
