//! Source stacks, from the texts that show them.

use super::cursor::{Cursor, Kind, Value};
use super::event::Event;
use super::key::Key;
use super::text::unescape;
use crate::names::{Name, Stack};

/// The stack that an event's arguments show. `None` if they show none.
///
/// `Call stack` has the frames as torch writes them, joined by `;`, and `stack` is a list of the same frames in another form.
/// The list tells where frames end if some have a `;` in them.
pub(super) fn stack(event: &Event, text: &[u8]) -> Option<Stack> {
    let listed = event.arg(Key::STACK).and_then(|argument| strings(&argument.value, text));
    let joined = event.arg(Key::CALL_STACK).map(|argument| argument.value);
    let joined = joined.filter(Value::is_text);
    let Some(joined) = joined.map(|value| unescape(value.content(text), value.is_escaped())) else {
        return Some(of_frames(listed?.iter().map(|frame| in_torch_form(frame))));
    };
    let frames: Vec<&str> = joined.split_terminator(';').collect();
    match listed {
        Some(listed) if listed.len() != frames.len() => {
            Some(aligned(&joined, &listed).unwrap_or_else(|| of_frames(frames.into_iter())))
        }
        _ => Some(of_frames(frames.into_iter())),
    }
}

fn of_frames<T: AsRef<str>>(frames: impl Iterator<Item = T>) -> Stack {
    let frames: Vec<Name> = frames.map(|frame| Name::new(frame.as_ref())).collect();
    Stack::new(&frames)
}

/// The frames of `joined`, which end where those of the list do.
fn aligned(joined: &str, listed: &[String]) -> Option<Stack> {
    let mut rest = joined;
    let mut frames = Vec::with_capacity(listed.len());
    for (at, frame) in listed.iter().enumerate() {
        let forms = [in_torch_form(frame), frame.clone()];
        let is_last = at + 1 == listed.len();
        let fits =
            |form: &&String| rest.strip_prefix(form.as_str()).is_some_and(|rest| rest.starts_with(';') != is_last);
        let form = forms.iter().find(fits)?;
        rest = rest.get(form.len() + usize::from(!is_last)..)?;
        frames.push(Name::new(form));
    }
    rest.is_empty().then(|| Stack::new(&frames))
}

/// `file(line): function` for `file:line:function`, and any other text as it is.
fn in_torch_form(frame: &str) -> String {
    let parts = frame.rmatch_indices(':').find_map(|(at, _)| {
        let (file, line) = frame[..at].rsplit_once(':')?;
        let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| (file, line, &frame[at + 1..]))
    });
    parts.map_or_else(|| frame.to_owned(), |(file, line, function)| format!("{file}({line}): {function}"))
}

/// The strings of a list. `None` if it is not one of strings.
fn strings(value: &Value, text: &[u8]) -> Option<Vec<String>> {
    let mut cursor = Cursor::new(value.raw(text), 0);
    cursor.expect(b'[', "a list").ok()?;
    let mut found = Vec::new();
    while cursor.peek_past_blanks().ok()? != b']' {
        if !found.is_empty() {
            cursor.expect(b',', "`,`").ok()?;
        }
        let value = cursor.value().ok()?;
        let Kind::Text { is_escaped } = value.kind else { return None };
        found.push(unescape(value.content(cursor.text), is_escaped).into_owned());
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::key::Keys;

    fn frames(args: &str) -> Option<Vec<String>> {
        let text = format!("{{\"args\": {{{args}}}}}{}", " ".repeat(32));
        let mut event = Event::default();
        event.read(&mut Cursor::new(text.as_bytes(), 0), &mut Keys::default()).unwrap();
        let frames = stack(&event, text.as_bytes())?.frames();
        Some(frames.into_iter().map(|frame| frame.text().to_string()).collect())
    }

    #[test]
    fn frames_are_those_of_torch() {
        let expected = ["a.py(3): f", "main.py(9): <module>"].map(str::to_owned);
        assert_eq!(frames(r#""Call stack": "a.py(3): f;main.py(9): <module>;""#).unwrap(), expected);
        assert_eq!(frames(r#""stack": ["a.py:3:f", "main.py:9:<module>"]"#).unwrap(), expected);
        let both = r#""stack": ["a.py:3:f", "main.py:9:<module>"], "Call stack": "a.py(3): f;main.py(9): <module>""#;
        assert_eq!(frames(both).unwrap(), expected);
    }

    #[test]
    fn the_list_tells_where_frames_end() {
        let both = r#""stack": ["a;b.py:3:f;g", "odd;"], "Call stack": "a;b.py(3): f;g;odd;""#;
        assert_eq!(frames(both).unwrap(), ["a;b.py(3): f;g", "odd;"]);
    }

    #[test]
    fn what_shows_no_stack_has_none() {
        assert_eq!(frames(r#""stack": []"#), Some(Vec::new()));
        assert_eq!(frames(r#""stack": 7"#), None);
        assert_eq!(frames(r#""Call stack": 7"#), None);
    }
}
