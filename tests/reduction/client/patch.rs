//! A value and a JSON Patch come in, the patched value goes out, or why there is none. A patch applies as a whole or not
//! at all.

use serde_json::Value;

/// Why a patch does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is no JSON Patch, which is fatal.
    Malformed(String),
    /// It is one, but not for this value.
    Mismatch,
}

type Result<T> = std::result::Result<T, Fault>;

/// What an operation does.
#[derive(Clone, Debug)]
enum Operation {
    Add(Vec<String>, Value),
    Remove(Vec<String>),
    Replace(Vec<String>, Value),
    Move { from: Vec<String>, path: Vec<String> },
    Copy { from: Vec<String>, path: Vec<String> },
    Test(Vec<String>, Value),
}

/// The value after this patch. Operations of an unknown name are left out.
pub fn patched(value: &Value, patch: &Value) -> Result<Value> {
    let mut value = value.clone();
    for operation in read(patch)? {
        apply(&mut value, operation)?;
    }
    Ok(value)
}

/// Whether this is a JSON Patch.
pub fn check(patch: &Value) -> Result<()> {
    read(patch).map(|_| ())
}

fn read(patch: &Value) -> Result<Vec<Operation>> {
    let list = patch.as_array().ok_or_else(|| Fault::Malformed("a patch that is no array".into()))?;
    list.iter().filter_map(|element| operation(element).transpose()).collect()
}

fn operation(element: &Value) -> Result<Option<Operation>> {
    let malformed = || Fault::Malformed(format!("operation {element}"));
    let pointer = |name: &str| element.get(name).and_then(Value::as_str).and_then(segments).ok_or_else(malformed);
    let value = || element.get("value").cloned().ok_or_else(malformed);
    let name = element.get("op").and_then(Value::as_str).ok_or_else(malformed)?;
    Ok(Some(match name {
        "add" => Operation::Add(pointer("path")?, value()?),
        "remove" => Operation::Remove(pointer("path")?),
        "replace" => Operation::Replace(pointer("path")?, value()?),
        "move" => Operation::Move { from: pointer("from")?, path: pointer("path")? },
        "copy" => Operation::Copy { from: pointer("from")?, path: pointer("path")? },
        "test" => Operation::Test(pointer("path")?, value()?),
        _ => return Ok(None),
    }))
}

/// The segments of a pointer, unescaped.
fn segments(pointer: &str) -> Option<Vec<String>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    pointer.strip_prefix('/')?.split('/').map(unescaped).collect()
}

fn unescaped(segment: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = segment.chars();
    while let Some(char) = chars.next() {
        out.push(match char {
            '~' => match chars.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            char => char,
        });
    }
    Some(out)
}

fn apply(value: &mut Value, operation: Operation) -> Result<()> {
    match operation {
        Operation::Add(path, new) => add(value, &path, new),
        Operation::Remove(path) => remove(value, &path).map(|_| ()),
        Operation::Replace(path, new) => {
            *find(value, &path).ok_or(Fault::Mismatch)? = new;
            Ok(())
        }
        Operation::Move { from, path } if path.len() > from.len() && path.starts_with(&from) => Err(Fault::Mismatch),
        Operation::Move { from, path } => {
            let moved = remove(value, &from)?;
            add(value, &path, moved)
        }
        Operation::Copy { from, path } => {
            let copied = find(value, &from).ok_or(Fault::Mismatch)?.clone();
            add(value, &path, copied)
        }
        Operation::Test(path, expected) => {
            if find(value, &path).is_some_and(|found| *found == expected) {
                Ok(())
            } else {
                Err(Fault::Mismatch)
            }
        }
    }
}

fn find<'a>(value: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, segment| match value {
        Value::Object(members) => members.get_mut(segment),
        Value::Array(list) => list.get_mut(index(segment)?),
        _ => None,
    })
}

fn add(value: &mut Value, path: &[String], new: Value) -> Result<()> {
    let Some((last, parents)) = path.split_last() else {
        *value = new;
        return Ok(());
    };
    match find(value, parents) {
        Some(Value::Object(members)) => drop(members.insert(last.clone(), new)),
        Some(Value::Array(list)) => {
            let at = if last == "-" { Some(list.len()) } else { index(last) };
            let at = at.filter(|at| *at <= list.len()).ok_or(Fault::Mismatch)?;
            list.insert(at, new);
        }
        _ => return Err(Fault::Mismatch),
    }
    Ok(())
}

fn remove(value: &mut Value, path: &[String]) -> Result<Value> {
    let Some((last, parents)) = path.split_last() else {
        return Ok(std::mem::take(value));
    };
    match find(value, parents) {
        Some(Value::Object(members)) => members.remove(last).ok_or(Fault::Mismatch),
        Some(Value::Array(list)) => {
            let at = index(last).filter(|at| *at < list.len()).ok_or(Fault::Mismatch)?;
            Ok(list.remove(at))
        }
        _ => Err(Fault::Mismatch),
    }
}

/// An index into an array: digits without a zero in front.
fn index(segment: &str) -> Option<usize> {
    let digits = segment.bytes().all(|byte| byte.is_ascii_digit()) && !segment.is_empty();
    if digits && (segment == "0" || !segment.starts_with('0')) { segment.parse().ok() } else { None }
}

#[test]
fn a_patch_applies_as_a_whole_or_not_at_all() {
    use serde_json::json;
    let state = json!({"a": [1, 2], "b": {"c/d": null}});
    let cases = [
        (json!([{"op": "add", "path": "/a/-", "value": 3}]), Ok(json!({"a": [1, 2, 3], "b": {"c/d": null}}))),
        (json!([{"op": "remove", "path": "/b/c~1d"}]), Ok(json!({"a": [1, 2], "b": {}}))),
        (json!([{"op": "move", "from": "/a/0", "path": "/a/1"}]), Ok(json!({"a": [2, 1], "b": {"c/d": null}}))),
        (json!([{"op": "copy", "from": "/b", "path": "/a"}]), Ok(json!({"a": {"c/d": null}, "b": {"c/d": null}}))),
        (json!([{"op": "replace", "path": "", "value": 0}, {"op": "test", "path": "", "value": 0}]), Ok(json!(0))),
        (json!([{"op": "vendor"}]), Ok(state.clone())),
        (json!([{"op": "add", "path": "/x", "value": 1}, {"op": "remove", "path": "/y"}]), Err(Fault::Mismatch)),
        (json!([{"op": "add", "path": "/a/01", "value": 1}]), Err(Fault::Mismatch)),
        (json!([{"op": "move", "from": "/b", "path": "/b/c"}]), Err(Fault::Mismatch)),
        (json!([{"op": "test", "path": "/a/0", "value": 2}]), Err(Fault::Mismatch)),
    ];
    for (patch, expected) in cases {
        assert_eq!(patched(&state, &patch), expected, "{patch}");
    }
    for patch in [json!({}), json!([{"op": "add", "path": "/x"}]), json!([{"op": "remove", "path": "x"}])] {
        assert!(matches!(patched(&state, &patch), Err(Fault::Malformed(_))), "{patch}");
    }
}
