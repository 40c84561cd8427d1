//! A document in YAML, with the line of each value.

use std::collections::HashMap;
use std::rc::Rc;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use crate::error::ImportError;

/// Deeper than a file of limits is.
const MAX_DEPTH: usize = 100;

/// A value, and the line on which it begins, from 1.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

#[derive(Debug)]
pub(crate) enum Value {
    /// As it is written. A plain one may be something else than text.
    Scalar {
        text: String,
        is_plain: bool,
    },
    List(Vec<Rc<Node>>),
    /// In the order of the file; each key once.
    Map(Vec<(Key, Rc<Node>)>),
}

#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl Node {
    /// Whether nothing is written, or a word for nothing.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, is_plain: true } if matches!(&**text, "" | "~" | "null" | "Null" | "NULL"))
    }

    /// What it is, for errors.
    pub(crate) fn kind(&self) -> String {
        match &self.value {
            Value::Scalar { text, .. } => format!("{text:?}"),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
        }
    }
}

/// Reads the only document of a text.
pub(crate) fn read(text: &str) -> Result<Rc<Node>, ImportError> {
    let mut reader = Reader { parser: Parser::new_from_str(text), anchors: HashMap::new() };
    let mut document = None;
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamEnd => break,
            Event::DocumentStart(_) if document.is_some() => {
                return Err(ImportError::at(line(span), "a second document: expected one in a file"));
            }
            Event::DocumentStart(_) => {
                let (event, span) = reader.next()?;
                document = Some(reader.node(event, span, 0)?);
            }
            _ => {}
        }
    }
    document.ok_or_else(|| ImportError::at(1, "nothing: expected a mapping with `domain` and `descriptors`"))
}

struct Reader<'t> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
    /// What aliases stand for: never a part of themselves.
    anchors: HashMap<usize, Rc<Node>>,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), ImportError> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => {
                let why = format!("no YAML: {}", error.info());
                Err(ImportError::at(error.marker().line().max(1), why))
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Rc<Node>, ImportError> {
        let line = line(span);
        if depth > MAX_DEPTH {
            return Err(ImportError::at(line, format!("deeper than {MAX_DEPTH} levels: expected fewer")));
        }
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                (Value::Scalar { text: text.into_owned(), is_plain: style == ScalarStyle::Plain }, anchor)
            }
            Event::SequenceStart(anchor, _) => {
                let mut list = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break (Value::List(list), anchor),
                        (event, span) => list.push(self.node(event, span, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(anchor, _) => (self.map(depth)?, anchor),
            Event::Alias(anchor) => {
                let named = self.anchors.get(&anchor).cloned();
                return named.ok_or_else(|| {
                    ImportError::at(
                        line,
                        "an alias of what it is a part of: expected one of a value before it",
                    )
                });
            }
            _ => return Err(ImportError::at(line, "no value: expected one")),
        };
        let node = Rc::new(Node { line, value });
        if anchor > 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        Ok(node)
    }

    fn map(&mut self, depth: usize) -> Result<Value, ImportError> {
        let mut map: Vec<(Key, Rc<Node>)> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                return Ok(Value::Map(map));
            }
            let line = line(span);
            let key = self.node(event, span, depth + 1)?;
            let Value::Scalar { text, .. } = &key.value else {
                return Err(ImportError::at(line, format!("a key that is {}: expected text", key.kind())));
            };
            if map.iter().any(|(other, _)| other.text == *text) {
                return Err(ImportError::at(line, format!("`{text}` is there twice: expected it once")));
            }
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            map.push((Key { line, text: text.clone() }, value));
        }
    }
}

fn line(span: Span) -> usize {
    span.start.line().max(1)
}
