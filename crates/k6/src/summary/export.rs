//! The format of `--summary-export`: the summary with checks and groups by name, and values next to their thresholds.

use serde_json::{Map, Value, json};

/// Converts the argument of `handleSummary`.
pub fn summary_export(data: &Value) -> Value {
    let mut exported = Map::new();
    exported.insert("root_group".to_owned(), group(&data["root_group"]));
    let metrics = data["metrics"].as_object().cloned().unwrap_or_default();
    exported.insert("metrics".to_owned(), metrics.iter().map(|(name, entry)| (name.clone(), metric(entry))).collect());
    if let Some(set_up) = data.get("setup_data").filter(|set_up| !set_up.is_null()) {
        exported.insert("setup_data".to_owned(), set_up.clone());
    }
    Value::Object(exported)
}

fn by_name(list: &Value, convert: impl Fn(&Value) -> Value) -> Value {
    let list = list.as_array().map_or(&[][..], Vec::as_slice);
    list.iter().map(|item| (item["name"].as_str().unwrap_or_default().to_owned(), convert(item))).collect::<Map<_, _>>().into()
}

fn group(group: &Value) -> Value {
    json!({
        "name": group["name"],
        "path": group["path"],
        "id": group["id"],
        "groups": by_name(&group["groups"], self::group),
        "checks": by_name(&group["checks"], Value::clone),
    })
}

fn metric(entry: &Value) -> Value {
    let mut values = entry["values"].as_object().cloned().unwrap_or_default();
    if let Some(rate) = values.remove("rate").filter(|_| entry["type"] == "rate") {
        values.insert("value".to_owned(), rate);
    } else if let Some(rate) = entry["values"].get("rate") {
        values.insert("rate".to_owned(), rate.clone());
    }
    if let Some(thresholds) = entry["thresholds"].as_object() {
        // In this format, true means that the threshold was crossed.
        let crossed = thresholds.iter().map(|(expression, result)| (expression.clone(), json!(result["ok"] != true)));
        values.insert("thresholds".to_owned(), Value::Object(crossed.collect()));
    }
    Value::Object(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_export_has_the_shape_of_k6s() {
        let check = json!({ "name": "one", "path": "::one", "id": "x", "passes": 4, "fails": 0 });
        let data = json!({
            "root_group": { "name": "", "path": "", "id": "d", "groups": [], "checks": [check] },
            "metrics": {
                "checks": {
                    "type": "rate", "contains": "default", "values": { "rate": 0.5, "passes": 8, "fails": 8 },
                    "thresholds": { "rate>0.9": { "ok": false } },
                },
                "cc": { "type": "counter", "contains": "default", "values": { "count": 8, "rate": 2 } },
            },
            "setup_data": { "a": 1 },
        });
        let exported = summary_export(&data);
        assert_eq!(exported["metrics"]["checks"], json!({ "passes": 8, "fails": 8, "value": 0.5, "thresholds": { "rate>0.9": true } }));
        assert_eq!(exported["metrics"]["cc"], json!({ "count": 8, "rate": 2 }));
        assert_eq!(exported["root_group"]["checks"]["one"]["passes"], 4);
        assert_eq!(exported["setup_data"]["a"], 1);
    }
}
