//! Reading on one thread what another parses.

use super::chunks::{Chunk, Chunks, ReadFailure, Reader};
use super::error::LoadError;
use super::file::FileReader;
use crate::quiet::Quiet;
use crate::trace::Trace;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Pieces that may wait to be parsed.
const AHEAD: usize = 4;

/// Reads a trace. A file of one piece is parsed right here; of a longer one, a second thread parses while this one reads, since
/// what is read from may belong to this thread.
pub(super) fn read(source: impl Read) -> io::Result<Result<Trace, LoadError>> {
    let mut reader = Reader::new(source)?;
    let first = reader.next();
    if first.is_none() || reader.is_over() {
        return Ok(FileReader::default().read(&mut Replay { first, rest: &mut reader }));
    }
    let (filled, to_parse) = sync_channel(AHEAD);
    let (used, to_fill) = channel();
    thread::scope(|scope| {
        let parser = thread::Builder::new().name("trace parser".to_owned()).spawn_scoped(scope, move || {
            let _quiet = Quiet::new();
            FileReader::default().read(&mut Received { filled: to_parse, used })
        });
        let Ok(parser) = parser else {
            return Ok(FileReader::default().read(&mut Replay { first, rest: &mut reader }));
        };
        pass_on(first, &mut reader, &filled, &to_fill);
        drop(filled);
        Ok(parser.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Reads pieces and passes them on until there are no more, or nobody takes them.
fn pass_on<R: Read>(
    first: Option<Result<Chunk, ReadFailure>>,
    reader: &mut Reader<R>,
    filled: &SyncSender<Result<Chunk, ReadFailure>>,
    to_fill: &Receiver<Chunk>,
) {
    let mut next = first;
    while let Some(chunk) = next {
        if filled.send(chunk).is_err() {
            return;
        }
        if let Ok(spare) = to_fill.try_recv() {
            reader.recycle(spare);
        }
        next = reader.next();
    }
}

/// Pieces that another thread reads.
struct Received {
    filled: Receiver<Result<Chunk, ReadFailure>>,
    used: Sender<Chunk>,
}

impl Chunks for Received {
    fn next(&mut self) -> Option<Result<Chunk, ReadFailure>> {
        self.filled.recv().ok()
    }

    fn recycle(&mut self, chunk: Chunk) {
        // The reader may be done.
        let _ = self.used.send(chunk);
    }
}

/// A piece that was read already, and those behind it.
struct Replay<'a, R> {
    first: Option<Result<Chunk, ReadFailure>>,
    rest: &'a mut Reader<R>,
}

impl<R: Read> Chunks for Replay<'_, R> {
    fn next(&mut self) -> Option<Result<Chunk, ReadFailure>> {
        self.first.take().or_else(|| self.rest.next())
    }

    fn recycle(&mut self, chunk: Chunk) {
        self.rest.recycle(chunk);
    }
}
