//! What the library made of a policy's parameters, against what the vectors state.

use ratecell_core::{Policy, Resolved};
use serde_json::{Map, Value, json};

/// The differences from what is stated, each as `name: expected, got`; `None` if there are none.
///
/// Only the fields that are stated are compared.
pub(crate) fn differences(stated: &Value, policy: &Policy) -> Option<String> {
    let mut differences = Vec::new();
    compare("", stated, &resolved(policy), &mut differences);
    (!differences.is_empty()).then(|| differences.join(", "))
}

fn compare(path: &str, stated: &Value, got: &Value, differences: &mut Vec<String>) {
    match (stated, got) {
        (Value::Object(stated), Value::Object(got)) => {
            for (name, stated) in stated {
                let got = got.get(name).unwrap_or(&Value::Null);
                compare(&format!("{path}.{name}"), stated, got, differences);
            }
        }
        (Value::Array(stated), Value::Array(got)) if stated.len() == got.len() => {
            for (index, (stated, got)) in stated.iter().zip(got).enumerate() {
                compare(&format!("{path}[{index}]"), stated, got, differences);
            }
        }
        _ if stated == got => {}
        _ => differences.push(format!("resolved{path} expected {stated}, got {got}")),
    }
}

/// All layers, and what they come to together.
fn resolved(policy: &Policy) -> Value {
    let layers: Vec<Resolved> = policy.resolved().collect();
    let mut fields = match &*layers {
        [only] => layer(only),
        _ => Map::new(),
    };
    fields
        .insert("layers".to_owned(), layers.iter().map(|resolved| Value::Object(layer(resolved))).collect());
    fields.insert("capacity".to_owned(), json!(policy.capacity()));
    fields.insert("cell_bits".to_owned(), json!(layers.iter().map(|layer| layer.cell_bits).sum::<u64>()));
    fields.insert("max_now_ns".to_owned(), json!(policy.max_now_ns()));
    Value::Object(fields)
}

fn layer(resolved: &Resolved) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    if let Some(emission) = resolved.emission {
        set("emission_num", json!(emission.num));
        set("emission_den", json!(emission.den));
        set("exact", json!(emission.exact));
    }
    if let Some(bits) = resolved.count_bits {
        set("count_bits", json!(bits));
    }
    if let Some(ns) = resolved.quantum_ns {
        set("quantum_ns", json!(ns));
    }
    if let (Some(boundaries), Some(digest)) = (resolved.boundaries, resolved.boundary_digest) {
        set("boundaries", json!(boundaries));
        set("boundary_digest", json!(digest));
    }
    set("capacity", json!(resolved.capacity));
    set("cell_bits", json!(resolved.cell_bits));
    set("max_now_ns", json!(resolved.max_now_ns));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_stated_is_compared() {
        let policy: Policy = "5/s burst=10 & sliding_window 20/10s".parse().unwrap();
        assert_eq!(
            differences(
                &json!({"capacity": 10, "cell_bits": 128, "layers": [{}, {"count_bits": 5}]}),
                &policy
            ),
            None
        );
        assert_eq!(
            differences(&json!({"layers": [{"emission_num": 1}, {"quantum_ns": 2}]}), &policy).unwrap(),
            "resolved.layers[0].emission_num expected 1, got 200000000, resolved.layers[1].quantum_ns expected 2, got null"
        );
        assert!(differences(&json!({"layers": [{}]}), &policy).is_some());
    }
}
