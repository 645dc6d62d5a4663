//! The times of a trace by path: what folded stacks and flame graphs are made of.
//!
//! A path is a chain of frames. Paths are kept as a tree, each node a frame under a node, so that a path is one number
//! however deep it is. Nothing here recurses, and nothing grows with the product of depth and number.

use super::folded::StackMetric;
use crate::column::Column;
use crate::names::Stack;
use crate::recorder::SpanKind;
use crate::trace::{DeviceKind, Trace};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::io;

const ROOT: u32 = 0;

/// A path has at most this many frames; what is deeper counts as the frame at that depth. A line for each of a hundred
/// thousand nested spans, with the names of all around it, would be a file that nothing can read.
const DEEPEST: u32 = 1000;

/// The paths, numbered from 1; 0 is the root, which has no frame. A node's number is above its parent's.
pub(super) struct PathTree {
    /// How a frame is written.
    text: fn(&str) -> String,
    frame_ids: FxHashMap<String, u32>,
    path_ids: FxHashMap<(u32, u32), u32>,
    parents: Vec<u32>,
    depths: Vec<u32>,
    frames: Vec<u32>,
    ns: Vec<u64>,
}

/// What the frames of a span are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Frames {
    /// Those of the source stack that was captured with it. One without has the frames of the span around it and its own
    /// name.
    Source,
    /// The names of the spans around it and its own.
    #[cfg(feature = "flame-graph")]
    Spans,
}

impl PathTree {
    /// The tree of a trace. Frames are what `text` makes of them; those that it makes alike are one.
    pub(super) fn of(trace: &Trace, metric: StackMetric, frames: Frames, text: fn(&str) -> String) -> Self {
        let mut tree = Self {
            text,
            frame_ids: FxHashMap::default(),
            path_ids: FxHashMap::default(),
            parents: vec![ROOT],
            depths: vec![0],
            frames: vec![0],
            ns: vec![0],
        };
        tree.add(trace, metric, frames);
        tree
    }

    fn add(&mut self, trace: &Trace, metric: StackMetric, frames: Frames) {
        let names: Vec<u32> = trace.names.iter().map(|name| self.frame(name)).collect();
        let mut stacks: FxHashMap<u32, u32> = FxHashMap::default();
        let _store = trace.store.enter();
        let mut paths: Column<u32> = Column::with_capacity(trace.spans.len());
        for row in 0..trace.spans.len() {
            let stack = if frames == Frames::Source { trace.spans.stack.get(row) } else { 0 };
            let path = if stack != 0 {
                let around = *stacks.entry(stack).or_insert_with(|| self.path_of_stack(Stack(stack)));
                // A function's stack is that of its caller.
                let is_function = trace.spans.kind[row] == SpanKind::Function;
                if is_function { self.path(around, names[trace.spans.name[row] as usize]) } else { around }
            } else {
                // A parent comes before what it contains; a span without one is at the root.
                let around = paths.get(trace.spans.parent[row] as usize).copied().unwrap_or(ROOT);
                self.path(around, names[trace.spans.name[row] as usize])
            };
            paths.push(path);
            self.add_time(
                path,
                match metric {
                    StackMetric::SelfCpuTime => trace.spans.self_ns.get(row),
                    StackMetric::SelfDeviceTime => trace.spans.device_ns.own.get(row),
                },
            );
        }
        if metric == StackMetric::SelfDeviceTime {
            // A scope that is shown on a device takes no time there: what was launched in it does.
            let is_work = |kind| kind != DeviceKind::Annotation;
            for device in trace.device.iter().filter(|row| row.launched_by.is_none() && is_work(row.kind)) {
                let path = self.path(ROOT, names[device.name as usize]);
                self.add_time(path, device.end - device.start);
            }
        }
    }

    fn add_time(&mut self, path: u32, ns: u64) {
        let sum = &mut self.ns[path as usize];
        *sum = sum.saturating_add(ns);
    }

    /// The number of a frame.
    fn frame(&mut self, text: &str) -> u32 {
        let next = self.frame_ids.len() as u32;
        *self.frame_ids.entry((self.text)(text)).or_insert(next)
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

    /// The time of all paths.
    pub(super) fn total_ns(&self) -> u64 {
        self.ns.iter().fold(0, |sum, ns| sum.saturating_add(*ns))
    }

    /// Gives the time of paths that lead to less than `least_ns` to the path before them, so that what is left has the same
    /// sums in fewer paths.
    #[cfg(feature = "flame-graph")]
    pub(super) fn merge_below(&mut self, least_ns: u64) {
        let mut totals = self.ns.clone();
        for path in (1..totals.len()).rev() {
            let parent = self.parents[path] as usize;
            totals[parent] = totals[parent].saturating_add(totals[path]);
            if totals[path] < least_ns && parent != ROOT as usize {
                self.ns[parent] = self.ns[parent].saturating_add(std::mem::take(&mut self.ns[path]));
            }
        }
    }

    /// The frames, in the order of their numbers.
    pub(super) fn frames(&self) -> Vec<&str> {
        let mut frames = vec![""; self.frame_ids.len()];
        for (text, &id) in &self.frame_ids {
            frames[id as usize] = text;
        }
        frames
    }

    /// Visits the paths that took time, each before those that it leads to, and those beside each other by name. Tells the
    /// frames of each, from the outermost, and its time; a path of which only a longer one took time has none.
    pub(super) fn visit(&self, mut visit: impl FnMut(&[u32], u64) -> io::Result<()>) -> io::Result<()> {
        let frames = self.frames();
        let mut by_name: Vec<u32> = (0..frames.len() as u32).collect();
        by_name.sort_unstable_by_key(|&frame| frames[frame as usize]);
        let mut ranks = vec![0; frames.len()];
        for (rank, &frame) in by_name.iter().enumerate() {
            ranks[frame as usize] = rank;
        }
        let rank = |path: u32| ranks[self.frames[path as usize] as usize];
        let leads_to_time = self.leads_to_time();
        let mut children: Vec<u32> =
            (1..self.parents.len() as u32).filter(|&path| leads_to_time[path as usize]).collect();
        // The other way round, for the next to be visited is the last on the stack.
        children.sort_unstable_by_key(|&path| (self.parents[path as usize], usize::MAX - rank(path)));
        let children_of = |path: u32| {
            let first = children.partition_point(|&child| self.parents[child as usize] < path);
            let rest = &children[first..];
            &rest[..rest.partition_point(|&child| self.parents[child as usize] == path)]
        };
        let mut here: Vec<u32> = Vec::new();
        let mut ahead: Vec<u32> = children_of(ROOT).to_vec();
        while let Some(path) = ahead.pop() {
            here.truncate(self.depths[path as usize] as usize - 1);
            here.push(self.frames[path as usize]);
            visit(&here, self.ns[path as usize])?;
            ahead.extend_from_slice(children_of(path));
        }
        Ok(())
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
