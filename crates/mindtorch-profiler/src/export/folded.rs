//! Folded stacks: the times of a trace by path, for flame graphs.
//!
//! A path is a chain of frames. Paths are kept as a tree, each node a frame under a node, so that a path is one number
//! however deep it is; a text is made only of paths that took time. Nothing here recurses, and nothing but the text
//! itself grows with the product of depth and number.

use crate::error::Error;
use crate::names::Stack;
use crate::recorder::SpanKind;
use crate::trace::Trace;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Write};
use std::str::FromStr;

/// Which time folded stacks show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StackMetric {
    /// The time of spans without what they contain.
    #[default]
    SelfCpuTime,
    /// The time of the device work that spans launched themselves.
    SelfDeviceTime,
}

impl StackMetric {
    /// The names that torch has for metrics. All but the first are the device's time.
    pub const NAMES: [&'static str; 4] =
        ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"];
}

impl FromStr for StackMetric {
    type Err = Error;

    /// The metric with one of torch's names.
    fn from_str(name: &str) -> Result<Self, Error> {
        match Self::NAMES.iter().position(|known| *known == name) {
            Some(0) => Ok(Self::SelfCpuTime),
            Some(_) => Ok(Self::SelfDeviceTime),
            None => Err(Error::UnknownMetric { given: name.to_owned() }),
        }
    }
}

pub(super) fn write(trace: &Trace, metric: StackMetric, out: &mut dyn Write) -> io::Result<()> {
    let mut tree = PathTree::default();
    let names: Vec<u32> = trace.names.iter().map(|name| tree.frame(name)).collect();
    let mut stacks: FxHashMap<u32, u32> = FxHashMap::default();
    let mut paths: Vec<u32> = Vec::with_capacity(trace.spans.len());
    for row in 0..trace.spans.len() {
        let stack = trace.spans.stack.get(row);
        let path = if stack != 0 {
            let around = *stacks.entry(stack).or_insert_with(|| tree.path_of_stack(Stack(stack)));
            // A function's stack is that of its caller.
            let is_function = trace.spans.kind[row] == SpanKind::Function;
            if is_function { tree.path(around, names[trace.spans.name[row] as usize]) } else { around }
        } else {
            // A parent comes before what it contains; a span without one is at the root.
            let around = paths.get(trace.spans.parent[row] as usize).copied().unwrap_or(ROOT);
            tree.path(around, names[trace.spans.name[row] as usize])
        };
        paths.push(path);
        tree.ns[path as usize] += match metric {
            StackMetric::SelfCpuTime => trace.spans.self_ns.get(row),
            StackMetric::SelfDeviceTime => trace.spans.device_ns.own.get(row),
        };
    }
    if metric == StackMetric::SelfDeviceTime {
        for device in trace.device.iter().filter(|device| device.launched_by.is_none()) {
            let path = tree.path(ROOT, names[device.name as usize]);
            tree.ns[path as usize] += device.end - device.start;
        }
    }
    tree.write(out)
}

const ROOT: u32 = 0;

/// A path has at most this many frames; what is deeper counts as the frame at that depth. A line for each of a hundred
/// thousand nested spans, with the names of all around it, would be a file that nothing can read.
const DEEPEST: u32 = 1000;

/// The paths, numbered from 1; 0 is the root, which has no frame. A node's number is above its parent's.
struct PathTree {
    frame_ids: FxHashMap<String, u32>,
    path_ids: FxHashMap<(u32, u32), u32>,
    parents: Vec<u32>,
    depths: Vec<u32>,
    frames: Vec<u32>,
    ns: Vec<u64>,
}

impl Default for PathTree {
    fn default() -> Self {
        let (frame_ids, path_ids) = (FxHashMap::default(), FxHashMap::default());
        Self { frame_ids, path_ids, parents: vec![ROOT], depths: vec![0], frames: vec![0], ns: vec![0] }
    }
}

impl PathTree {
    /// The number of a frame. Those that look alike in the file are one.
    fn frame(&mut self, text: &str) -> u32 {
        let is_separator = |c| matches!(c, ' ' | ';' | '\t' | '\n' | '\r');
        let clean = if text.is_empty() { "_".to_owned() } else { text.replace(is_separator, "_") };
        let next = self.frame_ids.len() as u32;
        *self.frame_ids.entry(clean).or_insert(next)
    }

    fn path(&mut self, parent: u32, frame: u32) -> u32 {
        let depth = self.depths[parent as usize];
        if depth == DEEPEST {
            return parent;
        }
        match self.path_ids.entry((parent, frame)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.parents.push(parent);
                self.depths.push(depth + 1);
                self.frames.push(frame);
                self.ns.push(0);
                *new.insert(self.parents.len() as u32 - 1)
            }
        }
    }

    fn path_of_stack(&mut self, stack: Stack) -> u32 {
        stack.frames().iter().rev().fold(ROOT, |path, name| {
            let frame = self.frame(&name.text());
            self.path(path, frame)
        })
    }

    /// Writes the paths that took time, each before those that it leads to, and those beside each other by name.
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut texts: Vec<(&str, u32)> = self.frame_ids.iter().map(|(text, &id)| (text.as_str(), id)).collect();
        texts.sort_unstable();
        let mut ranks = vec![0; texts.len()];
        for (rank, &(_, id)) in texts.iter().enumerate() {
            ranks[id as usize] = rank;
        }
        let rank = |path: u32| ranks[self.frames[path as usize] as usize];
        let leads_to_time = self.leads_to_time();
        let mut children: Vec<u32> =
            (1..self.parents.len() as u32).filter(|&path| leads_to_time[path as usize]).collect();
        // The other way round, for the next to be written is the last on the stack.
        children.sort_unstable_by_key(|&path| (self.parents[path as usize], usize::MAX - rank(path)));
        let children_of = |path: u32| {
            let first = children.partition_point(|&child| self.parents[child as usize] < path);
            let rest = &children[first..];
            &rest[..rest.partition_point(|&child| self.parents[child as usize] == path)]
        };
        let mut line: Vec<u8> = Vec::new();
        let mut buffer = io::BufWriter::with_capacity(64 * 1024, out);
        let mut ahead: Vec<(u32, usize)> = children_of(ROOT).iter().map(|&path| (path, 0)).collect();
        while let Some((path, length)) = ahead.pop() {
            line.truncate(length);
            if length > 0 {
                line.push(b';');
            }
            line.extend_from_slice(texts[rank(path)].0.as_bytes());
            let ns = self.ns[path as usize];
            if ns > 0 {
                buffer.write_all(&line)?;
                writeln!(buffer, " {}", ((ns + 500) / 1000).max(1))?;
            }
            ahead.extend(children_of(path).iter().map(|&child| (child, line.len())));
        }
        buffer.flush()
    }

    /// Whether a path or any that begins with it took time.
    fn leads_to_time(&self) -> Vec<bool> {
        let mut leads: Vec<bool> = self.ns.iter().map(|&ns| ns > 0).collect();
        for path in (1..leads.len()).rev() {
            if leads[path] {
                leads[self.parents[path] as usize] = true;
            }
        }
        leads
    }
}
