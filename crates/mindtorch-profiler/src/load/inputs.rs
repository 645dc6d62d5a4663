//! An operator's inputs, from the lists that show them.

use super::cursor::{Cursor, Kind, Read, Stop, Value};
use super::event::Event;
use super::key::Key;
use super::text::unescape;
use crate::inputs::{Inputs, InputsEncoder};

/// The lists of one event.
#[derive(Debug, Default)]
struct Lists {
    types: Vec<String>,
    dims: Vec<Sizes>,
    strides: Vec<Sizes>,
    values: Vec<String>,
}

/// The sizes or strides of one input.
#[derive(Debug, PartialEq)]
enum Sizes {
    /// Of a tensor, or of nothing.
    Of(Vec<i64>),
    /// Of the tensors of a list.
    List(Vec<Vec<i64>>),
}

/// The inputs that an event's arguments show. `None` if they do not fit together, or are nothing that an operator has.
pub(super) fn inputs(event: &Event, text: &[u8]) -> Option<Inputs> {
    let list = |key| event.arg(key).map(|argument| argument.value).filter(|value| value.kind == Kind::Nested);
    let lists = Lists {
        types: strings(&list(Key::INPUT_TYPE)?, text)?,
        dims: sizes(&list(Key::INPUT_DIMS)?, text)?,
        // Older versions of torch write no strides, or no values.
        strides: list(Key::INPUT_STRIDES).map_or(Some(Vec::new()), |value| sizes(&value, text))?,
        values: list(Key::CONCRETE_INPUTS).map_or(Some(Vec::new()), |value| strings(&value, text))?,
    };
    let count = lists.types.len();
    let fits = |length: usize| length == count || length == 0;
    if lists.dims.len() != count || !fits(lists.strides.len()) || !fits(lists.values.len()) {
        return None;
    }
    let mut encoder = Inputs::encode();
    for at in 0..count {
        lists.encode(&mut encoder, at)?;
    }
    Some(encoder.finish())
}

impl Lists {
    fn encode(&self, encoder: &mut InputsEncoder, at: usize) -> Option<()> {
        let dtype = self.types[at].as_str();
        let value = self.values.get(at).map_or("", String::as_str);
        match (&self.dims[at], self.strides.get(at)) {
            (Sizes::Of(dims), Some(Sizes::Of(strides))) if dims.len() == strides.len() => {
                self.encode_one(encoder, dtype, value, dims, strides)
            }
            (Sizes::Of(dims), None) => self.encode_one(encoder, dtype, value, dims, &vec![0; dims.len()]),
            (Sizes::List(dims), strides) if dtype == "TensorList" && value.is_empty() => {
                let strides = match strides {
                    Some(Sizes::List(strides)) if strides.len() == dims.len() => Some(strides),
                    None => None,
                    Some(_) => return None,
                };
                encoder.list_of(dims.len());
                for (at, dims) in dims.iter().enumerate() {
                    let strides = strides.map_or_else(|| vec![0; dims.len()], |strides| strides[at].clone());
                    if strides.len() != dims.len() {
                        return None;
                    }
                    encoder.tensor("", dims, &strides);
                }
                Some(())
            }
            _ => None,
        }
    }

    fn encode_one(
        &self,
        encoder: &mut InputsEncoder,
        dtype: &str,
        value: &str,
        dims: &[i64],
        strides: &[i64],
    ) -> Option<()> {
        let is_list = dtype == "TensorList";
        // A tensor of no dimensions has an element type; what is not a tensor has the name of what it is.
        let is_value = matches!(dtype, "" | "Scalar" | "ScalarList" | "GenericList") || !value.is_empty();
        match (dims.is_empty(), is_list, is_value) {
            (true, true, _) if value.is_empty() => encoder.list_of(0),
            (true, _, true) => encoder.value(dtype, value),
            (_, true, _) => return None,
            (false, _, true) if !value.is_empty() => return None,
            _ => encoder.tensor(dtype, dims, strides),
        };
        Some(())
    }
}

/// The items of a list that is known to have matching brackets. `None` if it is not quite a list.
fn items<T>(cursor: &mut Cursor<'_>, item: impl Fn(&mut Cursor<'_>) -> Read<T>) -> Read<Vec<T>> {
    const A_LIST: &str = "a list of an operator's inputs";
    cursor.expect(b'[', A_LIST)?;
    let mut found = Vec::new();
    if cursor.peek_past_blanks()? == b']' {
        cursor.at += 1;
        return Ok(found);
    }
    loop {
        found.push(item(cursor)?);
        match cursor.peek_past_blanks()? {
            b',' => cursor.at += 1,
            b']' => {
                cursor.at += 1;
                return Ok(found);
            }
            _ => return Err(Stop::Expected(A_LIST)),
        }
    }
}

fn string(cursor: &mut Cursor<'_>) -> Read<String> {
    let value = cursor.value()?;
    match value.kind {
        Kind::Text { is_escaped } => Ok(unescape(value.content(cursor.text), is_escaped).into_owned()),
        _ => Err(Stop::Expected("a string")),
    }
}

fn number(cursor: &mut Cursor<'_>) -> Read<i64> {
    cursor.value()?.signed().ok_or(Stop::Expected("a whole number"))
}

fn size_list(cursor: &mut Cursor<'_>) -> Read<Sizes> {
    cursor.peek_past_blanks()?;
    let start = *cursor;
    match items(cursor, number) {
        Ok(numbers) => Ok(Sizes::Of(numbers)),
        Err(_) => {
            *cursor = start;
            Ok(Sizes::List(items(cursor, |cursor| items(cursor, number))?))
        }
    }
}

fn strings(value: &Value, text: &[u8]) -> Option<Vec<String>> {
    items(&mut Cursor::new(value.raw(text), 0), string).ok()
}

fn sizes(value: &Value, text: &[u8]) -> Option<Vec<Sizes>> {
    items(&mut Cursor::new(value.raw(text), 0), size_list).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Input;
    use crate::load::key::Keys;

    fn read(args: &str) -> Option<Vec<Input>> {
        let text = format!("{{\"args\": {{{args}}}}}{}", " ".repeat(32));
        let mut event = Event::default();
        event.read(&mut Cursor::new(text.as_bytes(), 0), &mut Keys::default()).unwrap();
        inputs(&event, text.as_bytes()).map(|inputs| inputs.decode())
    }

    fn value(dtype: &str, text: &str) -> Input {
        Input::Value { dtype: dtype.into(), text: text.into() }
    }

    #[test]
    fn inputs_are_tensors_lists_and_values() {
        let read = read(
            r#""Concrete Inputs": ["", "", "", "1", "[4, 3]", ""],
               "Input type": ["float", "TensorList", "long int", "Scalar", "ScalarList", ""],
               "Input Strides": [[3, 1], [[1], []], [], [], [], []],
               "Input Dims": [[2, 3], [[4], []], [], [], [], []]"#,
        );
        let list = vec![Input::tensor("", &[4], &[1]), Input::tensor("", &[], &[])];
        let expected = [
            Input::tensor("float", &[2, 3], &[3, 1]),
            Input::TensorList(list),
            Input::tensor("long int", &[], &[]),
            value("Scalar", "1"),
            value("ScalarList", "[4, 3]"),
            value("", ""),
        ];
        assert_eq!(read.as_deref(), Some(&expected[..]));
    }

    #[test]
    fn older_files_have_shapes_and_types_only() {
        let read = read(r#""Input Dims": [[2], []], "Input type": ["float", "Scalar"]"#);
        assert_eq!(read.as_deref(), Some(&[Input::tensor("float", &[2], &[0]), value("Scalar", "")][..]));
    }

    #[test]
    fn lists_that_do_not_fit_together_are_no_inputs() {
        for args in [
            r#""Input Dims": [[2]]"#,
            r#""Input Dims": [[2]], "Input type": []"#,
            r#""Input Dims": [[2]], "Input type": ["float"], "Input Strides": [[1, 2]]"#,
            r#""Input Dims": [[2.5]], "Input type": ["float"]"#,
            r#""Input Dims": [[[2]]], "Input type": ["float"]"#,
            r#""Input Dims": [[[[2]]]], "Input type": ["TensorList"]"#,
            r#""Input Dims": 7, "Input type": ["float"]"#,
            r#""Input Dims": [[2]], "Input type": ["float"], "Concrete Inputs": ["5"]"#,
            r#""Input Dims": [2], "Input type": ["float"]"#,
        ] {
            assert_eq!(read(args), None, "{args}");
        }
    }
}
