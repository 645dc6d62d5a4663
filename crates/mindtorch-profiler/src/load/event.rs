//! One event of a file: its fields, and where its arguments stand.

use super::cursor::Stop;
use super::cursor::{Cursor, Kind, Read, Value};
use super::key::{Key, Keys};
use super::verbatim::{Broken, Form, verbatim};

/// An argument of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argument {
    pub(super) key: Key,
    /// Where its key begins.
    pub(super) start: usize,
    pub(super) value: Value,
}

/// An event as it stands in the text. What it does not have is null.
#[derive(Debug, Default)]
pub(super) struct Event {
    /// The only character of its phase, or 0.
    pub(super) phase: u8,
    pub(super) category: Value,
    pub(super) name: Value,
    pub(super) process: Value,
    pub(super) thread: Value,
    pub(super) id: Value,
    /// In nanoseconds.
    pub(super) time: Option<i64>,
    pub(super) duration: Option<i64>,
    pub(super) args: Vec<Argument>,
}

impl Event {
    /// Reads an event, whose brace is here.
    pub(super) fn read(&mut self, cursor: &mut Cursor<'_>, keys: &mut Keys) -> Read<()> {
        cursor.expect(b'{', "an event")?;
        self.clear();
        let mut key = Key::EVENT;
        loop {
            let member = keys.next(cursor, key)?;
            key = member.key;
            match key {
                Key::END => return Ok(()),
                Key::PHASE => {
                    let phase = cursor.value()?;
                    let content = if phase.is_text() { phase.content(cursor.text) } else { &[] };
                    self.phase = if let [phase] = content { *phase } else { 0 };
                }
                Key::CATEGORY => cursor.value_into(&mut self.category)?,
                Key::NAME => cursor.value_into(&mut self.name)?,
                Key::PROCESS => cursor.value_into(&mut self.process)?,
                Key::THREAD => cursor.value_into(&mut self.thread)?,
                Key::ID => cursor.value_into(&mut self.id)?,
                Key::TIME => self.time = cursor.time()?,
                Key::DURATION => self.duration = cursor.time()?,
                Key::ARGS if cursor.peek_past_blanks()? == b'{' => {
                    cursor.at += 1;
                    self.read_args(cursor, keys)?;
                }
                _ => skip(cursor)?,
            }
        }
    }

    fn clear(&mut self) {
        self.phase = 0;
        // One by one: a whole event made anew would be moved.
        for value in [&mut self.category, &mut self.name, &mut self.process, &mut self.thread, &mut self.id] {
            *value = Value::default();
        }
        self.time = None;
        self.duration = None;
        self.args.clear();
    }

    #[inline]
    fn read_args(&mut self, cursor: &mut Cursor<'_>, keys: &mut Keys) -> Read<()> {
        self.args.clear();
        let mut key = Key::ARGUMENTS;
        loop {
            let member = keys.next(cursor, key)?;
            key = member.key;
            if key == Key::END {
                return Ok(());
            }
            self.args.push(Argument { key, start: member.start, value: Value::default() });
            if let Some(argument) = self.args.last_mut() {
                cursor.value_into(&mut argument.value)?;
            }
        }
    }

    /// The argument with this key; of several the last.
    pub(super) fn arg(&self, key: Key) -> Option<&Argument> {
        self.args.iter().rfind(|arg| arg.key == key)
    }

    /// The name, if it is plain.
    pub(super) fn name_is(&self, text: &[u8], name: &[u8]) -> bool {
        self.name.is_text() && self.name.content(text) == name
    }
}

/// Passes over a value that says nothing to us. It is JSON all the same.
#[cold]
fn skip(cursor: &mut Cursor<'_>) -> Read<()> {
    let value = cursor.value()?;
    if value.kind == Kind::Nested
        && let Err(Broken { at, expected }) = verbatim(value.raw(cursor.text), Form::Value)
    {
        cursor.at = value.start + at;
        return Err(Stop::Expected(expected));
    }
    Ok(())
}

impl Argument {
    /// The text from the key to the end of the value.
    pub(super) fn raw<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        text.get(self.start..self.value.end).unwrap_or_default()
    }
}
