//! Lanes: the tracks that the spans of a thread are on, so that on each of them they nest.
//!
//! A track shows spans as a stack: what begins while another is open is inside it, and what ends is the innermost. So the
//! first lane is for spans that are inside their parent and nothing else. One that is not, since it overlaps another
//! without nesting or ended on another thread, begins a lane of its own, and what it contains is there with it. The parent
//! that a viewer shows is then always the parent of the trace, or none.

use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A span that has begun and not yet ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) row: u32,
    pub(super) end: u64,
    pub(super) lane: u32,
    /// Whether it is in the file.
    pub(super) is_shown: bool,
    /// The innermost function, itself or around it.
    pub(super) function: Function,
}

/// A function, by its number, from 1, and its row. Number 0 is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Function {
    pub(super) number: u32,
    pub(super) row: u32,
}

#[derive(Default)]
pub(super) struct Lanes {
    /// What is open on the first lane, the innermost last. The rows rise, and the ends do not.
    main: Vec<Open>,
    /// When what is open on other lanes ends, and its row: the next on top, and of those that end together the innermost.
    ends: BinaryHeap<(Reverse<u64>, u32)>,
    /// What is open on other lanes, and the row that it is inside there.
    others: FxHashMap<u32, (Open, Option<u32>)>,
    /// By lane, from the second: the innermost that is open.
    tops: Vec<Option<u32>>,
    /// Other lanes with nothing on them, the first on top.
    free: BinaryHeap<Reverse<u32>>,
}

impl Lanes {
    /// The lane for a span inside `parent` that begins now. `None`: nothing contains it.
    #[inline]
    pub(super) fn lane_inside(&mut self, parent: Option<u32>, end: u64) -> u32 {
        let is_on_main = match (self.main.last(), parent) {
            (Some(top), Some(parent)) => top.row == parent && top.end >= end,
            (None, None) => true,
            _ => false,
        };
        if is_on_main { 0 } else { self.other_lane_inside(parent, end) }
    }

    #[cold]
    fn other_lane_inside(&mut self, parent: Option<u32>, end: u64) -> u32 {
        let around = parent.and_then(|parent| self.others.get(&parent)).map(|(open, _)| *open);
        let is_innermost = |open: &Open| open.end >= end && self.tops[open.lane as usize - 1] == Some(open.row);
        match around.filter(is_innermost) {
            Some(open) => open.lane,
            None => self.free_lane(),
        }
    }

    /// A lane with nothing on it that is not the first.
    pub(super) fn free_lane(&mut self) -> u32 {
        match self.free.pop() {
            Some(Reverse(lane)) => lane,
            None => {
                self.tops.push(None);
                self.tops.len() as u32
            }
        }
    }

    /// Opens a span on the lane that was chosen for it.
    #[inline]
    pub(super) fn open(&mut self, open: Open) {
        if open.lane == 0 {
            self.main.push(open);
        } else {
            let inside = self.tops[open.lane as usize - 1].replace(open.row);
            self.ends.push((Reverse(open.end), open.row));
            self.others.insert(open.row, (open, inside));
        }
    }

    /// Closes the next span that has ended by `now`, in the order of their ends.
    #[inline]
    pub(super) fn close(&mut self, now: u64) -> Option<Open> {
        let of_main = self.main.last().map_or(u64::MAX, |top| top.end);
        if !self.ends.is_empty() && self.ends.peek().is_some_and(|&(Reverse(end), _)| end <= now && end < of_main) {
            return self.close_other();
        }
        self.main.pop_if(|top| top.end <= now)
    }

    #[cold]
    fn close_other(&mut self) -> Option<Open> {
        let (_, row) = self.ends.pop()?;
        let (open, inside) = self.others.remove(&row)?;
        self.tops[open.lane as usize - 1] = inside;
        if inside.is_none() {
            self.free.push(Reverse(open.lane));
        }
        Some(open)
    }

    /// The innermost span of the first lane.
    pub(super) fn innermost(&self) -> Option<&Open> {
        self.main.last()
    }

    /// The span in this row, if it is open.
    pub(super) fn find(&self, row: u32) -> Option<&Open> {
        match self.main.last() {
            Some(top) if top.row == row => Some(top),
            _ => match self.main.binary_search_by_key(&row, |open| open.row) {
                Ok(found) => Some(&self.main[found]),
                Err(_) => self.others.get(&row).map(|(open, _)| open),
            },
        }
    }

    /// Forgets the lanes of a thread, on which everything has ended.
    pub(super) fn clear(&mut self) {
        self.tops.clear();
        self.free.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Function = Function { number: 0, row: 0 };

    /// The lanes of spans, given as start, end and parent, and the order of their ends.
    fn lanes(spans: &[(u64, u64, Option<u32>)]) -> (Vec<u32>, Vec<u32>) {
        let (mut lanes, mut ended) = (Lanes::default(), Vec::new());
        let mut chosen = Vec::new();
        for (row, &(start, end, parent)) in (0..).zip(spans) {
            ended.extend(std::iter::from_fn(|| lanes.close(start)).map(|open| open.row));
            let lane = lanes.lane_inside(parent, end);
            lanes.open(Open { row, end, lane, is_shown: true, function: NONE });
            chosen.push(lane);
        }
        ended.extend(std::iter::from_fn(|| lanes.close(u64::MAX)).map(|open| open.row));
        (chosen, ended)
    }

    #[test]
    fn spans_that_nest_are_on_one_lane() {
        let spans = [(0, 9, None), (0, 9, Some(0)), (3, 3, Some(1)), (3, 9, Some(1)), (9, 9, None)];
        assert_eq!(lanes(&spans), (vec![0; 5], vec![2, 3, 1, 0, 4]));
    }

    #[test]
    fn spans_that_overlap_have_lanes_of_their_own_with_what_they_contain() {
        let spans = [(0, 5, None), (2, 8, None), (3, 4, Some(1)), (6, 7, Some(1)), (9, 12, None), (10, 13, None)];
        assert_eq!(lanes(&spans), (vec![0, 1, 1, 1, 0, 1], vec![2, 0, 3, 1, 4, 5]));
    }

    #[test]
    fn first_in_first_out_takes_a_lane_each_and_no_time() {
        let count = 100_000;
        let spans: Vec<_> = (0..count).map(|at| (at, at + count, None)).collect();
        let (chosen, ended) = lanes(&spans);
        assert!(chosen.into_iter().eq(0..count as u32) && ended.into_iter().eq(0..count as u32));
    }
}
