//! What a client of Redis may send: the replies do not depend on how the network cuts the bytes, and are bounded.

use std::sync::Arc;

use arbitrary::Arbitrary;
use ratecell_serve::Limits;

const RULES: &str = "ratecell_rules = 1\n[[rule]]\nname = 'site'\nkey = ['client']\nlimit = '5/1d'\n";
/// Bytes of replies to one byte of requests: `COMMAND` and the end of its line have about 1,800.
const MOST: usize = 400;

/// Words that make requests, and bytes that make none.
#[derive(Arbitrary, Debug)]
enum Part {
    Request(Vec<Word>),
    Line(Vec<Word>),
    Bytes(Vec<u8>),
}

#[derive(Arbitrary, Debug)]
enum Word {
    Command(u8),
    Small(u8),
    Number(i64),
    Bytes(Vec<u8>),
}

/// What is sent, and after how many bytes it is cut.
#[derive(Arbitrary, Debug)]
pub struct Script {
    parts: Vec<Part>,
    cuts: Vec<u8>,
}

const COMMANDS: [&str; 24] = [
    "CL.THROTTLE",
    "RATECELL.CHECK",
    "RATECELL.PEEK",
    "RATECELL.RESERVE",
    "RATECELL.SETTLE",
    "RATECELL.RELEASE",
    "RATECELL.RENEW",
    "RATECELL.FORGET",
    "RATECELL.DECIDE",
    "RATECELL.INFO",
    "HELLO",
    "AUTH",
    "CLIENT",
    "COMMAND",
    "CONFIG",
    "PING",
    "ECHO",
    "SELECT",
    "RESET",
    "QUIT",
    "api",
    "slots",
    "client",
    "setname",
];

impl Word {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Command(number) => COMMANDS[usize::from(*number) % COMMANDS.len()].into(),
            Self::Small(number) => (number % 8).to_string().into(),
            Self::Number(number) => number.to_string().into(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

impl Part {
    fn write(&self, input: &mut Vec<u8>) {
        match self {
            Self::Request(words) => {
                input.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
                for word in words.iter().map(Word::bytes) {
                    input.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
                    input.extend_from_slice(&word);
                    input.extend_from_slice(b"\r\n");
                }
            }
            Self::Line(words) => {
                input.extend_from_slice(&words.iter().map(Word::bytes).collect::<Vec<_>>().join(&b' '));
                input.extend_from_slice(b"\r\n");
            }
            Self::Bytes(bytes) => input.extend_from_slice(bytes),
        }
    }
}

fn limits() -> Arc<Limits> {
    let policy = |text: &str| text.parse().expect("a policy");
    let limits =
        Limits::builder().policy("api", policy("5/1d")).policy("slots", policy("in_flight 2 hold=1d"));
    let limits = limits.rules(RULES.parse().expect("rules")).max_keys(100);
    Arc::new(limits.build().expect("tables"))
}

/// The lines of replies that say the same whenever they are asked: those without times, and without what was random.
fn lasting(replies: &[u8]) -> Vec<&[u8]> {
    let lines = replies.split(|byte| *byte == b'\n');
    lines.map(|line| if line.starts_with(b":") || line.len() > 40 { &line[..1] } else { line }).collect()
}

/// # Panics
/// A cut changes what is answered, or the replies are not bounded.
pub fn run(script: &Script) {
    let mut input = Vec::new();
    script.parts.iter().for_each(|part| part.write(&mut input));
    let whole = ratecell_serve::answers(&limits(), [&input[..]]);
    assert!(whole.len() <= MOST * (input.len() + 1), "{} bytes for {}", whole.len(), input.len());
    let mut rest = &input[..];
    let mut parts: Vec<_> = script
        .cuts
        .iter()
        .map(|cut| {
            let (part, behind) = rest.split_at(usize::from(*cut).min(rest.len()));
            rest = behind;
            part
        })
        .collect();
    parts.push(rest);
    let cut = ratecell_serve::answers(&limits(), parts);
    assert_eq!(lasting(&whole), lasting(&cut));
}
