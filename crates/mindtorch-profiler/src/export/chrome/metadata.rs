//! The user's metadata, as keys of the file's head.

use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// The keys that the file has of its own.
const RESERVED: [&str; 16] = [
    "schemaVersion",
    "deviceProperties",
    "trace_id",
    "profile_memory",
    "with_stack",
    "record_shapes",
    "with_modules",
    "with_flops",
    "lost_events",
    "dropped_events",
    "recording_ended_early",
    "host_name",
    "displayTimeUnit",
    "baseTimeNanoseconds",
    "traceEvents",
    "traceName",
];

/// What is written for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::export) enum Value<'a> {
    /// A JSON string of this text.
    Text(&'a str),
    /// JSON as it is.
    Json(&'a str),
}

/// The metadata without double keys, in the order in which the keys were first given: what a file said that the trace was
/// read from, what the session was told, and what the export is told. Of several values for a key the last counts.
///
/// A key that the file has itself gets the suffix `_user`, as often as it takes to be one of its own. One that another
/// file had is left out, since this one says the same anew.
pub(in crate::export) fn distinct<'a>(
    of_file: &'a [(String, String)],
    texts: &'a [(String, String)],
    jsons: &'a [(String, String)],
) -> Vec<(Cow<'a, str>, Value<'a>)> {
    let of_file = of_file.iter().filter(|(key, _)| !RESERVED.contains(&key.as_str()));
    let of_file = of_file.map(|(key, value)| (key, Value::Json(value)));
    let texts = texts.iter().map(|(key, value)| (key, Value::Text(value)));
    let jsons = jsons.iter().map(|(key, value)| (key, Value::Json(value)));
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    let mut entries: Vec<(Cow<'_, str>, Value<'_>)> = Vec::new();
    for (key, value) in of_file.chain(texts).chain(jsons) {
        let place = *places.entry(key).or_insert(entries.len());
        if place == entries.len() {
            entries.push((Cow::Borrowed(key), value));
        } else {
            entries[place].1 = value;
        }
    }
    let mut taken: FxHashSet<String> = places.keys().copied().chain(RESERVED).map(str::to_owned).collect();
    for (key, _) in entries.iter_mut().filter(|(key, _)| RESERVED.contains(&&**key)) {
        while taken.contains(&**key) {
            key.to_mut().push_str("_user");
        }
        taken.insert(key.to_string());
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_distinct_and_never_the_files_own() {
        let given = [("b", "1"), ("traceName", "x"), ("a", "2"), ("b", "3"), ("traceName_user", "y")];
        let given = given.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let json = [("a".to_owned(), "[4]".to_owned())];
        let of_file = [("host_name", "\"a\""), ("of_file", "5"), ("b", "6")];
        let of_file = of_file.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let entries = distinct(&of_file, &given, &json);
        let entries: Vec<(&str, Value<'_>)> = entries.iter().map(|(key, value)| (&**key, *value)).collect();
        let text = Value::Text;
        let expected = [
            ("of_file", Value::Json("5")),
            ("b", text("3")),
            ("traceName_user_user", text("x")),
            ("a", Value::Json("[4]")),
            ("traceName_user", text("y")),
        ];
        assert_eq!(entries, expected);
    }
}
