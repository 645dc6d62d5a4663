//! The log: what is under way on each thread, and the text of what has ended.

use super::file::TraceFile;
use super::json::push_text;
use super::node::{Node, Scope};
use super::values::{Ids, Values};
use rustc_hash::FxHashMap;
use std::fmt::Write;
use std::io;
use std::time::Instant;

/// Text goes to the file when there is so much of it.
const FULL: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Log {
    /// Tells logs apart: what was begun in one is not ended in another.
    pub(super) generation: u64,
    pub(super) ids: Ids,
    file: TraceFile,
    /// What is not in the file yet.
    text: String,
    threads: FxHashMap<u32, Thread>,
    start_ms: u64,
    start: Instant,
    /// Why text is not in the file. Nothing is recorded after that, until it is.
    failure: Option<io::Error>,
}

#[derive(Debug)]
struct Thread {
    node: u64,
    /// The nodes under way, the innermost last.
    open: Vec<Node>,
}

impl Thread {
    fn innermost(&self) -> u64 {
        self.open.last().map_or(self.node, |node| node.id)
    }
}

impl Log {
    pub(super) fn new(generation: u64, file: TraceFile, time: &str, start_ms: u64) -> Self {
        let mut text = format!("{{\n  \"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": {}, \"time\": ", std::process::id());
        push_text(&mut text, time);
        write!(text, ", \"start_ts\": {start_ms},\n  \"nodes\": [\n").expect("a string takes everything");
        let (ids, threads) = (Ids::new(), FxHashMap::default());
        Self { generation, ids, file, text, threads, start_ms, start: Instant::now(), failure: None }
    }

    /// Begins a node of a thread as a part of what the thread is in. `fill` completes it.
    pub(super) fn begin(
        &mut self,
        thread: u32,
        name: &str,
        scope: Scope,
        fill: impl FnOnce(&mut Node, &mut Self),
    ) -> u64 {
        let parent = self.thread(thread).innermost();
        let mut node = Node::new(self.ids.next(), parent, name.to_owned(), scope, thread);
        fill(&mut node, self);
        let id = node.id;
        self.thread(thread).open.push(node);
        id
    }

    /// What a thread is in; 0 if nothing of it is in the trace.
    pub(super) fn innermost(&self, thread: u32) -> u64 {
        self.threads.get(&thread).map_or(0, Thread::innermost)
    }

    fn thread(&mut self, number: u32) -> &mut Thread {
        let Self { threads, ids, text, .. } = self;
        threads.entry(number).or_insert_with(|| {
            let node = Node::thread(ids.next(), number);
            node.write(text);
            text.push_str(",\n");
            Thread { node: node.id, open: Vec::new() }
        })
    }

    /// Ends a node that was begun on `thread`; it need not be the innermost.
    pub(super) fn end(&mut self, thread: u32, id: u64, outputs: Values) {
        let Some(open) = self.threads.get_mut(&thread).map(|thread| &mut thread.open) else { return };
        let Some(at) = open.iter().rposition(|node| node.id == id) else { return };
        let mut node = open.remove(at);
        node.outputs = outputs;
        if self.failure.is_some() {
            return;
        }
        node.write(&mut self.text);
        self.text.push_str(",\n");
        if self.text.len() >= FULL {
            self.failure = self.write(false).err();
        }
    }

    /// Puts all that there is into the file, which is a whole trace then.
    ///
    /// # Errors
    /// If it cannot be written: then it is kept for the next time. Also if something could not be written before.
    pub(super) fn flush(&mut self, is_last: bool) -> io::Result<()> {
        let written = self.write(is_last);
        self.failure.take().map_or(written, Err)
    }

    fn write(&mut self, is_last: bool) -> io::Result<()> {
        let ending = self.ending();
        self.file.append(&self.text, &ending, is_last)?;
        self.text = String::new();
        Ok(())
    }

    /// The end of the file as of now. What is under way is part of it, so that there is a node for everyone's parent.
    fn ending(&self) -> String {
        let mut text = String::new();
        let mut open: Vec<&Node> = self.threads.values().flat_map(|thread| &thread.open).collect();
        open.sort_unstable_by_key(|node| std::cmp::Reverse(node.id));
        for node in open {
            node.write(&mut text);
            text.push_str(",\n");
        }
        Node::process().write(&mut text);
        let finish = self.start_ms + self.start.elapsed().as_millis() as u64;
        write!(text, "\n  ],\n  \"finish_ts\": {finish}\n}}\n").expect("a string takes everything");
        text
    }
}
