//! Reading on one thread what another parses.

use super::chunks::{Chunk, Chunks, ReadFailure, Reader};
use super::error::LoadError;
use super::file::FileReader;
use crate::quiet::Quiet;
use crate::trace::Trace;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Pieces that may wait to be parsed.
const AHEAD: usize = 4;
/// So many pieces are parsed before it pays to have a thread for it.
const FIRST: usize = 2;

/// Reads a trace. A short file is parsed right here; of a longer one, a second thread parses while this one reads, since
/// what is read from may belong to this thread.
pub(super) fn read(source: impl Read) -> io::Result<Result<Trace, LoadError>> {
    let mut reader = Reader::new(source)?;
    let is_compressed = reader.is_gzip();
    Ok(read_all(&mut reader).map_err(|error| error.compressed(is_compressed)))
}

fn read_all(reader: &mut Reader<impl Read>) -> Result<Trace, LoadError> {
    let mut first = VecDeque::with_capacity(FIRST);
    while first.len() < FIRST
        && let Some(chunk) = reader.next()
    {
        first.push_back(chunk);
    }
    if reader.is_over() {
        return FileReader::default().read(&mut Replay { first, rest: reader });
    }
    let (filled, to_parse) = sync_channel(AHEAD);
    let (used, to_fill) = channel();
    thread::scope(|scope| {
        let parser = thread::Builder::new().name("trace parser".to_owned()).spawn_scoped(scope, move || {
            let _quiet = Quiet::new();
            FileReader::default().read(&mut Received { filled: to_parse, used })
        });
        let Ok(parser) = parser else {
            return FileReader::default().read(&mut Replay { first, rest: reader });
        };
        pass_on(first, reader, &filled, &to_fill);
        drop(filled);
        parser.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Reads pieces and passes them on until there are no more, or nobody takes them.
fn pass_on<R: Read>(
    mut first: VecDeque<Result<Chunk, ReadFailure>>,
    reader: &mut Reader<R>,
    filled: &SyncSender<Result<Chunk, ReadFailure>>,
    to_fill: &Receiver<Chunk>,
) {
    while let Some(chunk) = first.pop_front().or_else(|| reader.next()) {
        if filled.send(chunk).is_err() {
            return;
        }
        if let Ok(spare) = to_fill.try_recv() {
            reader.recycle(spare);
        }
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

/// Pieces that were read already, and those behind them.
struct Replay<'a, R> {
    first: VecDeque<Result<Chunk, ReadFailure>>,
    rest: &'a mut Reader<R>,
}

impl<R: Read> Chunks for Replay<'_, R> {
    fn next(&mut self) -> Option<Result<Chunk, ReadFailure>> {
        self.first.pop_front().or_else(|| self.rest.next())
    }

    fn recycle(&mut self, chunk: Chunk) {
        self.rest.recycle(chunk);
    }
}
