//! The bytes of a file in pieces, decompressed if need be.
//!
//! A piece has free space in front, where what was left of the piece before can be put, so that an event which lies in both
//! is whole. Of a file that is more than one piece, the caller's thread reads and decompresses while another parses.

use flate2::read::MultiGzDecoder;
use std::io::{self, Read};

/// How much is read at a time: it is still in the cache when it is parsed.
const LENGTH: usize = 256 * 1024;
/// How much is read at first: many files are small.
const FIRST_LENGTH: usize = 16 * 1024;
/// The free space in front.
const FRONT: usize = 16 * 1024;

/// A piece of the file.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    start: usize,
}

impl Chunk {
    pub(super) fn text(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Forgets the first bytes.
    pub(super) fn drop_front(&mut self, length: usize) {
        self.start += length;
    }

    /// Puts the next piece behind this one, or rather this one in front of it, if it fits. Gives back what is not needed.
    pub(super) fn join(&mut self, mut next: Self) -> Self {
        match next.start.checked_sub(self.text().len()) {
            Some(start) => {
                next.bytes[start..next.start].copy_from_slice(self.text());
                next.start = start;
                std::mem::replace(self, next)
            }
            None => {
                self.bytes.extend_from_slice(next.text());
                next
            }
        }
    }
}

/// How reading went wrong.
#[derive(Debug)]
pub(super) struct ReadFailure {
    pub(super) error: io::Error,
    pub(super) is_gzip: bool,
}

/// Where pieces come from.
pub(super) trait Chunks {
    /// The next piece, or `None` at the end.
    fn next(&mut self) -> Option<Result<Chunk, ReadFailure>>;

    /// Takes back a piece that is no longer needed.
    fn recycle(&mut self, chunk: Chunk);
}

/// Reads pieces.
pub(super) struct Reader<R> {
    source: Source<R>,
    /// How much to read next.
    length: usize,
    is_over: bool,
    /// What went wrong behind the last piece.
    failure: Option<ReadFailure>,
    /// A piece that can be used again.
    spare: Option<Chunk>,
}

/// What was read to see what it is comes first again.
type Whole<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

enum Source<R> {
    Plain(Whole<R>),
    Gzip(Box<MultiGzDecoder<Whole<R>>>),
}

impl<R: Read> Reader<R> {
    pub(super) fn new(mut reader: R) -> io::Result<Self> {
        const GZIP: [u8; 2] = [0x1f, 0x8b];
        let mut first = Vec::with_capacity(GZIP.len());
        reader.by_ref().take(GZIP.len() as u64).read_to_end(&mut first)?;
        let is_gzip = first == GZIP;
        let whole = io::Cursor::new(first).chain(reader);
        let source = if is_gzip { Source::Gzip(Box::new(MultiGzDecoder::new(whole))) } else { Source::Plain(whole) };
        Ok(Self { source, length: FIRST_LENGTH, is_over: false, failure: None, spare: None })
    }

    pub(super) fn is_gzip(&self) -> bool {
        matches!(self.source, Source::Gzip(_))
    }

    /// Whether nothing comes after the pieces that were read.
    pub(super) fn is_over(&self) -> bool {
        self.is_over && self.failure.is_none()
    }
}

impl<R: Read> Chunks for Reader<R> {
    fn next(&mut self) -> Option<Result<Chunk, ReadFailure>> {
        if self.is_over {
            return self.failure.take().map(Err);
        }
        let mut chunk = self.spare.take().unwrap_or_default();
        // Only what is used again is as long already; nothing is zeroed twice.
        chunk.bytes.resize(FRONT + self.length, 0);
        self.length = LENGTH;
        chunk.start = FRONT;
        let mut end = FRONT;
        while end < chunk.bytes.len() {
            let room = &mut chunk.bytes[end..];
            let (read, is_gzip) = match &mut self.source {
                Source::Plain(source) => (source.read(room), false),
                Source::Gzip(source) => (source.read(room), true),
            };
            match read {
                Ok(0) => self.is_over = true,
                Ok(length) => end += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_over = true;
                    self.failure = Some(ReadFailure { error, is_gzip });
                }
            }
            if self.is_over {
                break;
            }
        }
        chunk.bytes.truncate(end);
        if end > FRONT { Some(Ok(chunk)) } else { self.failure.take().map(Err) }
    }

    fn recycle(&mut self, chunk: Chunk) {
        self.spare = Some(chunk);
    }
}
