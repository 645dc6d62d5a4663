//! Lanes: the tracks that the spans of a thread are on, so that on each of them they nest.
//!
//! A track shows spans as a stack: what begins while another is open is inside it, and what ends is the innermost. So the
//! first lane is for spans that are inside their parent and nothing else. One that is not, since it overlaps another
//! without nesting or ended on another thread, begins a lane of its own, and what it contains is there with it. The parent
//! that a viewer shows is then always the parent of the trace, or none.

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
    /// The same for the other lanes.
    others: Vec<Vec<Open>>,
    /// When what is open on other lanes ends, its row and its lane: the next on top, and of those that end together the
    /// innermost.
    ends: BinaryHeap<(Reverse<u64>, u32, u32)>,
    /// What was opened on other lanes: rows, which rise, and lanes. What was closed is taken out from time to time.
    places: Vec<(u32, u32)>,
    /// Other lanes with nothing on them.
    free: Vec<u32>,
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

    fn other_lane_inside(&mut self, parent: Option<u32>, end: u64) -> u32 {
        let lane = parent.and_then(|parent| {
            let lane = self.lane_of(parent)?;
            let top = self.others[lane as usize - 1].last()?;
            (top.row == parent && top.end >= end).then_some(lane)
        });
        lane.unwrap_or_else(|| self.free_lane())
    }

    /// The lane of a row, if it was opened on another than the first.
    fn lane_of(&self, row: u32) -> Option<u32> {
        let found = self.places.binary_search_by_key(&row, |&(row, _)| row).ok()?;
        Some(self.places[found].1)
    }

    /// A lane with nothing on it that is not the first.
    pub(super) fn free_lane(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.others.push(Vec::new());
            self.others.len() as u32
        })
    }

    /// Opens a span on the lane that was chosen for it.
    #[inline(always)]
    pub(super) fn open(&mut self, open: Open) {
        // Field by field, not as one: what was just stored in small parts cannot quickly be loaded in large ones.
        let Open { row, end, lane, is_shown, function } = open;
        if lane == 0 {
            self.main.push(Open { row, end, lane: 0, is_shown, function });
        } else {
            self.open_other(Open { row, end, lane, is_shown, function });
        }
    }

    #[inline(never)]
    fn open_other(&mut self, open: Open) {
        self.others[open.lane as usize - 1].push(open);
        self.ends.push((Reverse(open.end), open.row, open.lane));
        if self.places.len() > 16 + 2 * self.ends.len() {
            let lanes = &self.others;
            let is_open = |row: u32, lane: u32| lanes[lane as usize - 1].binary_search_by_key(&row, |open| open.row);
            self.places.retain(|&(row, lane)| is_open(row, lane).is_ok());
        }
        self.places.push((open.row, open.lane));
    }

    /// Closes the next span that has ended by `now`, in the order of their ends.
    #[inline]
    pub(super) fn close(&mut self, now: u64) -> Option<Open> {
        let of_main = self.main.last().map_or(u64::MAX, |top| top.end);
        match self.ends.peek() {
            Some(&(Reverse(end), _, _)) if end <= now && end < of_main => self.close_other(),
            _ => self.main.pop_if(|top| top.end <= now),
        }
    }

    fn close_other(&mut self) -> Option<Open> {
        let (_, _, lane) = self.ends.pop()?;
        let of_lane = &mut self.others[lane as usize - 1];
        let open = of_lane.pop();
        if of_lane.is_empty() {
            self.free.push(lane);
        }
        open
    }

    /// The innermost span of the first lane.
    pub(super) fn innermost(&self) -> Option<&Open> {
        self.main.last()
    }

    /// The span in this row, if it is open.
    pub(super) fn find(&self, row: u32) -> Option<&Open> {
        if let Some(top) = self.main.last().filter(|top| top.row == row) {
            return Some(top);
        }
        let lane = self.lane_of(row).map_or(&self.main, |lane| &self.others[lane as usize - 1]);
        Some(&lane[lane.binary_search_by_key(&row, |open| open.row).ok()?])
    }

    /// Forgets the lanes of a thread, on which everything has ended.
    pub(super) fn clear(&mut self) {
        self.others.clear();
        self.places.clear();
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
