//! The reading end of a spool. Files may be anything: what cannot be read is an error or [`Damage`](super::Damage), and never more memory
//! than there are bytes in them.

use super::contents::{SpoolBlock, SpoolContents, SpoolThread};
use super::damage::{BlockDamage, Damage, Gap};
use super::entry::{Entry, SpoolCut};
use super::layout::{PREFIX, SpoolFile};
use super::log::read_log;
use super::records::read_records;
use crate::error::Error;
use crate::inputs::elide_deep_lists;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The session directories in `dir`, in order of their names; or `dir` itself, if it is one.
///
/// # Errors
/// When the system refuses to list them.
pub fn sessions(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let has = |file: SpoolFile| dir.join(file.name()).symlink_metadata().is_ok();
    if has(SpoolFile::Log) && has(SpoolFile::Records) {
        return Ok(vec![dir.to_owned()]);
    }
    let refused = |error| Error::file("list", dir, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(refused)? {
        let entry = entry.map_err(refused)?;
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        // A link is none of ours, whatever it leads to.
        if is_ours && entry.file_type().map_err(refused)?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Reads what a session left in its directory. The process that writes it may still be running.
///
/// # Errors
/// When the system refuses, or a file as a whole cannot be read: [`Error::Spool`] says why. Parts that cannot be read are in
/// [`SpoolContents::damage`].
pub fn read(session: &Path) -> Result<SpoolContents, Error> {
    let mut reader = Reader { contents: SpoolContents::default(), threads: BTreeMap::new() };
    reader.contents.path = session.to_owned();
    let (records, path) = open(session, SpoolFile::Records)?;
    let blocks = read_records(&records, &path, &mut reader.contents.damage)?;
    // After the records, so that the log has the names of all that a running process had recorded.
    let (log, path) = open(session, SpoolFile::Log)?;
    let length = log.metadata().map_err(|error| Error::file("read", &path, error))?.len();
    reader.contents.damage.log = read_log(BufReader::new(log), length, &path, |entry| reader.take_entry(entry))?;
    Ok(reader.finish(blocks))
}

/// Opens a file of a session, if it is a file: not a link, which might lead anywhere, nor a pipe, which might never end.
fn open(session: &Path, file: SpoolFile) -> Result<(File, PathBuf), Error> {
    let path = session.join(file.name());
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&path);
    let checked = opened.map_err(name_link).and_then(|opened| match opened.metadata()?.is_file() {
        true => Ok(opened),
        false => Err(io::Error::other("it is not a regular file")),
    });
    match checked {
        Ok(opened) => Ok((opened, path)),
        Err(error) => Err(Error::file("read", &path, error)),
    }
}

fn name_link(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ELOOP) => io::Error::other("it is a symbolic link"),
        _ => error,
    }
}

struct Reader {
    contents: SpoolContents,
    threads: BTreeMap<u32, SpoolThread>,
}

impl Reader {
    fn take_entry(&mut self, entry: Entry<'_>) {
        let contents = &mut self.contents;
        match entry {
            Entry::Begin(begin) => contents.begin = Some(begin),
            Entry::Name { id, text } => drop(contents.names.insert(id, text.into_owned())),
            Entry::Stack { id, frames } => drop(contents.stacks.insert(id, frames.into_owned())),
            Entry::Inputs { id, words } => {
                let elided = elide_deep_lists(&words);
                if elided.is_some() {
                    contents.damage.deep_inputs.push(id);
                }
                contents.inputs.insert(id, elided.unwrap_or_else(|| words.into_owned()));
            }
            Entry::Thread { serial, os_id, name } => {
                let name = name.map(Cow::into_owned);
                self.threads.insert(serial, SpoolThread { serial, os_id, name, blocks: Vec::new() });
            }
            Entry::Settings(settings) => contents.settings = Some(settings.into_owned()),
            Entry::Clock(clock) => contents.clock = Some(clock),
            Entry::Edge(edge) => contents.edges.push(edge),
            Entry::Step(step) => contents.steps.push(step),
            Entry::Carried(span) => contents.carried.push(span),
            Entry::Lost { events } => contents.lost_events = events,
            Entry::Unwritten { entries } => contents.damage.unwritten_entries = entries,
            Entry::End(cut) => contents.end = Some(cut),
        }
    }

    fn finish(mut self, blocks: Vec<SpoolBlock>) -> SpoolContents {
        self.order_carried();
        self.place_blocks(blocks);
        self.find_gaps();
        self.contents.damage.is_ended = self.contents.end.is_some();
        self.contents.threads = self.threads.into_values().collect();
        self.contents
    }

    /// Sorts the spans that were carried in, and leaves the last one of each.
    fn order_carried(&mut self) {
        let carried = &mut self.contents.carried;
        carried.reverse();
        carried.sort_by_key(|span| (span.serial, span.position));
        carried.dedup_by_key(|span| (span.serial, span.position));
    }

    /// Gives the blocks to their threads. One that claims positions of another is left out.
    fn place_blocks(&mut self, mut blocks: Vec<SpoolBlock>) {
        blocks.sort_by_key(|block| (block.serial, block.base));
        let Damage { blocks: damaged, unknown_threads, .. } = &mut self.contents.damage;
        for block in blocks {
            let serial = block.serial;
            let thread = self.threads.entry(serial).or_insert_with(|| {
                unknown_threads.push(serial);
                SpoolThread { serial, ..SpoolThread::default() }
            });
            if thread.blocks.last().is_some_and(|last| block.base < last.end()) {
                let (base, offset, unreadable) = (block.base, block.offset, block.slots.len() as u32);
                damaged.push(BlockDamage { serial, base, offset, kept: 0, unreadable });
            } else {
                thread.blocks.push(block);
            }
        }
    }

    /// Finds what lies between the first cut and the last, or between two blocks, and is in no block.
    fn find_gaps(&mut self) {
        let SpoolContents { edges, end, damage, .. } = &mut self.contents;
        let nowhere = SpoolCut::default();
        let first = edges.first().map(|edge| &edge.cut);
        let last = end.as_ref().or_else(|| edges.last().map(|edge| &edge.cut)).unwrap_or(&nowhere);
        let known = last.positions.iter().map(|&(serial, _)| (serial, &[][..]));
        let mut streams: BTreeMap<u32, &[SpoolBlock]> = known.collect();
        streams.extend(self.threads.iter().map(|(&serial, thread)| (serial, &thread.blocks[..])));
        for (serial, blocks) in streams {
            let from_first = blocks.first().map_or(u64::MAX, |block| block.base);
            let mut next = first.map_or(from_first, |cut| cut.position(serial));
            let ranges = blocks.iter().map(|block| (block.base, block.end()));
            let to = last.position(serial);
            for (base, end) in ranges.chain([(to, to)]) {
                if next < base {
                    damage.gaps.push(Gap { serial, from: next, to: base });
                }
                next = next.max(end);
            }
        }
    }
}
