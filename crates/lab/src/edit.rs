//! Changes of a scenario's text that leave its comments and its order as they are.

use crate::problem::Problem;
use serde_json::Value as Json;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

/// The deepest path. Scenarios need about eight levels.
const DEEPEST: usize = 16;

/// Sets the value at a path, a list of keys with numbers for entries of lists. Null removes it.
pub(crate) fn set(text: &str, path: &[String], value: &Json) -> Result<String, Problem> {
    let wrong = || Problem::new(format!("{} cannot be set", path.join(".")), "change the text instead");
    let mut document: DocumentMut = text.parse().map_err(|_| {
        Problem::new("the text is no TOML", "correct the text first: the message beside it says where")
    })?;
    let Some((last, way)) = path.split_last().filter(|_| path.len() <= DEEPEST) else { return Err(wrong()) };
    let item = way.iter().try_fold(document.as_item_mut(), |at, key| enter(at, key)).ok_or_else(wrong)?;
    match value {
        Json::Null => remove(item, last),
        value => put(item, last, written(value).ok_or_else(wrong)?).ok_or_else(wrong)?,
    }
    Ok(document.to_string())
}

/// The entry of a table or list. A table that is not there is made.
fn enter<'a>(at: &'a mut Item, key: &str) -> Option<&'a mut Item> {
    match at {
        Item::ArrayOfTables(_) | Item::Value(Value::Array(_)) => at.get_mut(key.parse::<usize>().ok()?),
        Item::Value(plain) if !plain.is_inline_table() => {
            // control = "layered" becomes control = { layered = {} }.
            let decor = plain.decor().clone();
            *plain = Value::InlineTable(InlineTable::new());
            *plain.decor_mut() = decor;
            enter(at, key)
        }
        Item::Value(_) => {
            if !at.as_table_like()?.contains_key(key) {
                let made = Item::Value(Value::InlineTable(InlineTable::new()));
                at.as_table_like_mut()?.insert(key, made);
                tidy(at);
            }
            at.as_table_like_mut()?.get_mut(key)
        }
        _ => {
            let table = at.as_table_like_mut()?;
            if !table.contains_key(key) {
                let mut made = Table::new();
                made.set_implicit(true);
                table.insert(key, Item::Table(made));
            }
            table.get_mut(key)
        }
    }
}

fn remove(at: &mut Item, key: &str) {
    if let Some(table) = at.as_table_like_mut() {
        table.remove(key);
    }
    tidy(at);
}

/// Puts a value in its place. What stood beside it, as a comment, stays.
fn put(at: &mut Item, key: &str, mut value: Value) -> Option<()> {
    if let Item::Value(Value::Array(list)) = at {
        let place = list.get_mut(key.parse::<usize>().ok()?)?;
        *value.decor_mut() = place.decor().clone();
        *place = value;
        return Some(());
    }
    if let Item::Value(plain) = at
        && !plain.is_inline_table()
    {
        let decor = plain.decor().clone();
        *plain = Value::InlineTable(InlineTable::new());
        *plain.decor_mut() = decor;
    }
    let table = at.as_table_like_mut()?;
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        _ => {
            table.insert(key, Item::Value(value));
            tidy(at);
        }
    }
    Some(())
}

/// Blanks and commas of an inline table that got or lost an entry.
fn tidy(at: &mut Item) {
    if let Item::Value(Value::InlineTable(table)) = at {
        table.fmt();
        table.iter_mut().for_each(|(_, value)| value.decor_mut().clear());
    }
}

/// A value as TOML.
fn written(value: &Json) -> Option<Value> {
    Some(match value {
        Json::Null => return None,
        Json::Bool(flag) => (*flag).into(),
        Json::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().filter(|it| it.is_finite())?.into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => {
            let items: Option<Vec<Value>> = items.iter().map(written).collect();
            Value::Array(items?.into_iter().collect::<Array>())
        }
        Json::Object(entries) => {
            let mut table = InlineTable::new();
            for (key, value) in entries {
                table.insert(key, written(value)?);
            }
            Value::InlineTable(table)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const TEXT: &str = "# one flow\nduration = \"60 s\"   # a minute\n\n[topology.dumbbell]\n\
        bottleneck = { rate = \"1 Mbit/s\", delay = \"10 ms\" }  # narrow\n\n[[flows]]\ncontrol = \"reno\"\n\n\
        [sweep] # many\n\"flows.0.control\" = [\"reno\", \"cubic\"]\n";

    fn path(path: &[&str]) -> Vec<String> {
        path.iter().map(|&part| part.to_owned()).collect()
    }

    fn changed(keys: &[&str], value: Json) -> String {
        set(TEXT, &path(keys), &value).expect("it can be set")
    }

    #[test]
    fn a_value_changes_and_nothing_else() {
        assert_eq!(changed(&["duration"], json!("9 s")), TEXT.replace("60 s", "9 s"));
        let bottleneck = ["topology", "dumbbell", "bottleneck"];
        let rate = changed(&[&bottleneck[..], &["rate"]].concat(), json!("2 Gbit/s"));
        assert_eq!(rate, TEXT.replace("1 Mbit/s", "2 Gbit/s"));
        let swept = changed(&["sweep", "flows.0.control"], json!(["none"]));
        assert_eq!(swept, TEXT.replace("[\"reno\", \"cubic\"]", "[\"none\"]"));
    }

    #[test]
    fn a_new_value_goes_into_its_table() {
        let queue = changed(&["topology", "dumbbell", "bottleneck", "queue", "droptail"], json!("1 bdp"));
        let table = "{ rate = \"1 Mbit/s\", delay = \"10 ms\", queue = { droptail = \"1 bdp\" } }  # narrow";
        assert!(queue.contains(table), "{queue}");
        let count = changed(&["flows", "0", "count"], json!(3));
        assert!(count.contains("control = \"reno\"\ncount = 3\n"), "{count}");
        let seeds = changed(&["seeds"], json!(5));
        assert!(seeds.starts_with("# one flow\nduration = \"60 s\"   # a minute\nseeds = 5\n"), "{seeds}");
        let beta = changed(&["flows", "0", "control", "layered", "beta"], json!(0.25));
        assert!(beta.contains("control = { layered = { beta = 0.25 } }"), "{beta}");
        let tcp = changed(&["tcp", "stack"], json!("linux"));
        assert!(tcp.contains("[tcp]\nstack = \"linux\""), "{tcp}");
    }

    #[test]
    fn null_removes() {
        let text = changed(&["topology", "dumbbell", "bottleneck", "delay"], Json::Null);
        assert!(text.contains("{ rate = \"1 Mbit/s\" }  # narrow"), "{text}");
        assert_eq!(changed(&["nothing"], Json::Null), TEXT);
    }

    #[test]
    fn what_cannot_be_set_is_said() {
        assert!(set("a = ", &path(&["a"]), &json!(1)).is_err_and(|it| it.message.contains("no TOML")));
        for keys in [&["flows", "7", "count"][..], &["flows", "x", "count"], &["flows", "0"], &[]] {
            assert!(set(TEXT, &path(keys), &json!(1)).is_err(), "{keys:?}");
        }
        assert!(set(TEXT, &vec!["a".to_owned(); 99], &json!(1)).is_err());
    }

    proptest! {
        #[test]
        fn no_change_panics_or_makes_no_toml(keys in prop::collection::vec("[a-z0-9. \"]{0,9}", 0..5), value in "\\PC{0,9}") {
            if let Ok(text) = set(TEXT, &keys, &json!(value)) {
                prop_assert!(text.parse::<DocumentMut>().is_ok(), "{text}");
            }
        }
    }
}
