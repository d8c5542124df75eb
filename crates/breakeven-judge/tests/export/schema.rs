//! JSON Schema, as much of it as the two schemas here use; any other keyword
//! fails the test. A crate for all of it would bring a hundred others.

use serde_json::Value;

/// Fails where `value` is not what the schema describes.
#[track_caller]
pub(super) fn assert_valid(value: &Value, schema: &str) {
    let schema: Value = serde_json::from_str(schema).unwrap();
    if let Err(message) = check(value, &schema, &schema, "$") {
        panic!("{message}");
    }
}

fn check(value: &Value, schema: &Value, root: &Value, place: &str) -> Result<(), String> {
    for (keyword, wanted) in schema.as_object().expect("a schema is an object") {
        let holds = match keyword.as_str() {
            "$schema" | "definitions" | "title" | "description" => true,
            "$ref" => {
                let pointer = wanted.as_str().and_then(|path| path.strip_prefix('#'));
                let target = root.pointer(pointer.unwrap()).expect("the definition");
                check(value, target, root, place)?;
                true
            }
            "anyOf" => {
                let tries = wanted.as_array().unwrap().iter();
                let tries: Vec<_> = tries.map(|one| check(value, one, root, place)).collect();
                if tries.iter().all(Result::is_err) {
                    return Err(format!("{place}: none of {tries:?}"));
                }
                true
            }
            "type" => match wanted.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "number" => value.is_number(),
                "integer" => value.is_u64() || value.is_i64(),
                other => panic!("type {other} is not known here"),
            },
            "const" => value == wanted,
            "enum" => wanted.as_array().unwrap().contains(value),
            "minimum" => value.as_f64() >= wanted.as_f64(),
            "required" => {
                let mut names = wanted.as_array().unwrap().iter();
                names.all(|name| value.get(name.as_str().unwrap()).is_some())
            }
            "additionalProperties" => {
                assert_eq!(wanted, false, "only false is known here");
                let keys = value
                    .as_object()
                    .into_iter()
                    .flat_map(|object| object.keys());
                let mut keys = keys.filter(|key| schema["properties"].get(key).is_none());
                keys.next().is_none()
            }
            "properties" => {
                for (name, property) in wanted.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        check(value, property, root, &format!("{place}.{name}"))?;
                    }
                }
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(item, wanted, root, &format!("{place}[{index}]"))?;
                }
                true
            }
            other => panic!("the keyword {other} is not known here"),
        };
        if !holds {
            let text = value.to_string();
            let text: String = text.chars().take(200).collect();
            return Err(format!("{place}: {text} against {keyword} {wanted}"));
        }
    }
    Ok(())
}

#[test]
fn what_a_schema_does_not_describe_is_found() {
    let schema = r##"{"definitions": {"N": {"type": "integer", "minimum": 0}},
        "type": "object", "properties": {"a": {"$ref": "#/definitions/N"},
        "b": {"type": "array", "items": {"anyOf": [{"const": 1}, {"enum": ["x"]}]}}},
        "required": ["a"], "additionalProperties": false}"##;
    let root: Value = serde_json::from_str(schema).unwrap();
    let valid = |text: &str| check(&serde_json::from_str(text).unwrap(), &root, &root, "$").is_ok();
    for good in [r#"{"a": 1}"#, r#"{"a": 0, "b": [1, "x"]}"#] {
        assert!(valid(good), "{good}");
    }
    for bad in [
        "[]",
        "{}",
        r#"{"a": -1}"#,
        r#"{"a": 1.5}"#,
        r#"{"a": 1, "b": [2]}"#,
        r#"{"a": 1, "c": 1}"#,
    ] {
        assert!(!valid(bad), "{bad}");
    }
}
