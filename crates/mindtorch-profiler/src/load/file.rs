//! The file as a whole: a head and a list of events, or the list alone.

use super::chunks::{Chunk, Chunks, ReadFailure};
use super::collector::Collector;
use super::cursor::{Cursor, Read, Stop};
use super::error::LoadError;
use super::event::Event;
use super::key::Keys;
use super::verbatim::Broken;
use crate::trace::Trace;

/// One event or one key of the head is at most this long, so that a file which is one endless string fills no memory.
const LONGEST: usize = 256 << 20;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    /// A key of the head. Whether it is the first.
    Head {
        is_first: bool,
    },
    /// An event. Whether it is the first.
    Events {
        is_first: bool,
    },
    /// Nothing.
    End,
}

/// Reads a file piece by piece.
#[derive(Debug)]
pub(super) struct FileReader {
    state: State,
    /// The file is the list of events.
    is_list: bool,
    has_events: bool,
    event: Event,
    keys: Keys,
    collector: Collector,
}

impl Default for FileReader {
    fn default() -> Self {
        Self {
            state: State::Start,
            is_list: false,
            has_events: false,
            event: Event::default(),
            keys: Keys::default(),
            collector: Collector::default(),
        }
    }
}

impl FileReader {
    /// Reads all pieces.
    pub(super) fn read(mut self, chunks: &mut impl Chunks) -> Result<Trace, LoadError> {
        // Where in the text the present piece begins.
        let mut base = 0u64;
        let mut chunk = Chunk::default();
        let mut wanted = 1;
        loop {
            let end = fill(&mut chunk, chunks, wanted);
            let text = chunk.text();
            let mut cursor = Cursor::new(text, 0);
            let mut done = 0;
            let stop = loop {
                match self.step(&mut cursor) {
                    Ok(()) => done = cursor.at,
                    Err(stop) => break stop,
                }
            };
            if let Stop::Expected(expected) = stop {
                let what = self.unexpected(text, cursor.at, expected);
                return Err(self.fail(base + cursor.at as u64, what));
            }
            match end {
                End::Of(None) => return self.end(base, text, done),
                End::Of(Some(failure)) => return Err(self.fail(base + text.len() as u64, reading_failed(&failure))),
                End::NotYet => {}
            }
            // An event that is not whole is read from its beginning. It is to be twice as long then: so it is not read
            // once for every piece of it.
            let rest = text.len() - done;
            if rest > LONGEST {
                let what = format!("an event is longer than {LONGEST} bytes");
                return Err(self.fail(base + done as u64, what));
            }
            wanted = 2 * rest + 1;
            base += done as u64;
            chunk.drop_front(done);
        }
    }

    /// Reads the next key of the head or event.
    #[inline]
    fn step(&mut self, cursor: &mut Cursor<'_>) -> Read<()> {
        match self.state {
            State::Events { is_first } => self.read_event(cursor, is_first),
            State::Start => self.start(cursor),
            State::Head { is_first } => self.read_head(cursor, is_first),
            State::End => {
                cursor.peek_past_blanks()?;
                Err(Stop::Expected("the end of the file"))
            }
        }
    }

    fn start(&mut self, cursor: &mut Cursor<'_>) -> Read<()> {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        if cursor.text.starts_with(BYTE_ORDER_MARK) && cursor.at == 0 {
            cursor.at = BYTE_ORDER_MARK.len();
        }
        match cursor.peek_past_blanks()? {
            b'{' => self.state = State::Head { is_first: true },
            b'[' => {
                (self.state, self.is_list, self.has_events) = (State::Events { is_first: true }, true, true);
            }
            _ => return Err(Stop::Expected("`{` or `[`: this is not a Chrome trace")),
        }
        cursor.at += 1;
        Ok(())
    }

    fn read_head(&mut self, cursor: &mut Cursor<'_>, is_first: bool) -> Read<()> {
        let mut byte = cursor.peek_past_blanks()?;
        if byte == b'}' {
            if !self.has_events {
                return Err(Stop::Expected("`traceEvents`: this is not a Chrome trace"));
            }
            cursor.at += 1;
            self.state = State::End;
            return Ok(());
        }
        if !is_first {
            cursor.expect(b',', "`,` or `}`")?;
            byte = cursor.peek_past_blanks()?;
        }
        if byte != b'"' {
            return Err(Stop::Expected(if is_first { "a key or `}`" } else { "a key" }));
        }
        let key = cursor.string()?;
        cursor.expect(b':', "`:`")?;
        let next = cursor.peek_past_blanks()?;
        if key.content(cursor.text) == b"traceEvents" {
            if next != b'[' {
                return Err(Stop::Expected("a list of events"));
            }
            cursor.at += 1;
            self.has_events = true;
            self.state = State::Events { is_first: true };
            return Ok(());
        }
        let value = cursor.value()?;
        if let Err(Broken { at, expected }) = self.collector.head.add(&key, &value, cursor.text) {
            cursor.at = value.start + at;
            return Err(Stop::Expected(expected));
        }
        self.state = State::Head { is_first: false };
        Ok(())
    }

    #[inline]
    fn read_event(&mut self, cursor: &mut Cursor<'_>, is_first: bool) -> Read<()> {
        let byte = cursor.peek_past_blanks()?;
        if byte == b']' {
            cursor.at += 1;
            self.state = if self.is_list { State::End } else { State::Head { is_first: false } };
            return Ok(());
        }
        if !is_first {
            cursor.expect(b',', "`,` or `]`")?;
        }
        self.event.read(cursor, &mut self.keys)?;
        if let Err(Broken { at, expected }) = self.collector.add(&self.event, cursor.text) {
            cursor.at = at;
            return Err(Stop::Expected(expected));
        }
        self.state = State::Events { is_first: false };
        Ok(())
    }

    /// The text is over.
    fn end(self, base: u64, text: &[u8], done: usize) -> Result<Trace, LoadError> {
        let rest = text[done..].trim_ascii();
        let begins_event = !rest.strip_prefix(b",").unwrap_or(rest).trim_ascii().is_empty();
        // Programs that may be killed leave the bracket out, and the format lets them.
        let is_open_list = self.is_list && matches!(self.state, State::Events { .. }) && !begins_event;
        if self.state == State::End || is_open_list {
            return self.finish(base + text.len() as u64);
        }
        let what = match self.state {
            State::Start if base == 0 && rest.is_empty() => "the file is empty: this is not a Chrome trace",
            State::Start | State::Head { .. } if !self.has_events => "the text ends before `traceEvents`",
            State::Start | State::Head { .. } => "the text ends before its last `}`",
            State::Events { .. } if !begins_event => "the text ends before the `]` of the events",
            State::Events { .. } => "the text ends within an event",
            State::End => "the text has ended",
        };
        Err(self.fail(base + text.len() as u64, what.to_owned()))
    }

    fn unexpected(&self, text: &[u8], at: usize, expected: &str) -> String {
        let found = match text.get(at) {
            Some(byte @ 0x20..0x7f) => format!("`{}`", char::from(*byte)),
            Some(byte) => format!("the byte {byte:#04x}"),
            None => "the end".to_owned(),
        };
        let whole = if matches!(self.state, State::Events { .. }) { "among the events, " } else { "" };
        format!("{whole}expected {expected}, found {found}")
    }

    fn finish(self, offset: u64) -> Result<Trace, LoadError> {
        self.collector.finish().map_err(|_| too_far_apart(offset))
    }

    /// The error, with what was read before it.
    fn fail(self, offset: u64, what: String) -> LoadError {
        let partial = if self.collector.is_empty() { None } else { self.collector.finish().ok() };
        LoadError::new(offset, what, partial)
    }
}

/// Whether there is more text.
enum End {
    NotYet,
    /// It is over, or it could not be read on.
    Of(Option<ReadFailure>),
}

/// Reads pieces behind what is there until there is as much as is wanted.
fn fill(chunk: &mut Chunk, chunks: &mut impl Chunks, wanted: usize) -> End {
    while chunk.text().len() < wanted {
        match chunks.next() {
            None => return End::Of(None),
            Some(Err(failure)) => return End::Of(Some(failure)),
            Some(Ok(next)) => {
                let used = chunk.join(next);
                chunks.recycle(used);
            }
        }
    }
    End::NotYet
}

fn too_far_apart(offset: u64) -> LoadError {
    LoadError::new(offset, "the times of the events are centuries apart".to_owned(), None)
}

fn reading_failed(failure: &ReadFailure) -> String {
    let ReadFailure { error, is_gzip } = failure;
    if *is_gzip { format!("the gzip data is broken or cut off: {error}") } else { format!("reading failed: {error}") }
}
