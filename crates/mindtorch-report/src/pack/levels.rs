//! Levels of detail: what to draw when a pixel is longer than most events.
//!
//! At a level with the quantum `q`, neighbours in a lane that are shorter than `q` and begin in the same stretch of `q`
//! nanoseconds are one block, which is drawn with the name that took most of it. A block is so many events of its lane in a
//! row; every event of the lane is in one, so a block needs no more than how many it has and which stands for it.

use super::column::{Column, PackedColumn};
use serde::Serialize;

/// How much coarser each level is than the one before.
const RATIO: u64 = 4;
/// The finest quantum. No program does anything in less.
const FINEST_NS: u64 = 16;
/// A level is kept if it has so much less than the one before, in percent.
const KEPT_BELOW_PERCENT: usize = 60;
/// When all lanes together have this few blocks, all of them can be drawn.
const FEW: usize = 2_000;

/// What the levels are made of.
pub(crate) struct Drawn<'a> {
    pub(crate) start: &'a [u64],
    pub(crate) duration: &'a [u64],
    pub(crate) name: &'a [u32],
    /// The events of all lanes, lane after lane, each in the order of time.
    pub(crate) events: &'a [u32],
    /// Where each lane begins in `events`, and where the last ends.
    pub(crate) lanes: &'a [u32],
}

/// One level.
#[derive(Debug, Serialize)]
pub(crate) struct Level {
    pub(crate) quantum_ns: u64,
    /// Where each lane's blocks begin, and where the last's end.
    pub(crate) lanes: Vec<u32>,
    /// How many events each block has.
    #[serde(skip)]
    pub(crate) counts: PackedColumn,
    /// Which of them stands for it.
    #[serde(skip)]
    pub(crate) tops: PackedColumn,
}

/// The levels, the finest first. The events themselves are the level before.
pub(crate) fn levels(drawn: &Drawn<'_>) -> Vec<Level> {
    let mut levels = Vec::new();
    let mut blocks = drawn.events.len();
    let mut quantum_ns = FINEST_NS;
    let longest = (0..drawn.start.len()).map(|event| drawn.start[event] + drawn.duration[event]).max().unwrap_or(0);
    let mut merger = Merger::new(drawn);
    while blocks > FEW && quantum_ns < longest {
        if merger.count(quantum_ns) * 100 <= blocks * KEPT_BELOW_PERCENT {
            let level = merger.level(quantum_ns);
            blocks = level.counts.count;
            levels.push(level);
        }
        quantum_ns *= RATIO;
    }
    levels
}

/// A block: events of a lane, as places in `Drawn::events`.
struct Block {
    first: usize,
    end: usize,
}

struct Merger<'a> {
    drawn: &'a Drawn<'a>,
    /// By name: the time that it took in the block at hand. All 0 between blocks.
    times: Vec<u64>,
}

impl<'a> Merger<'a> {
    fn new(drawn: &'a Drawn<'a>) -> Self {
        let names = drawn.name.iter().max().map_or(0, |&name| name as usize + 1);
        Self { drawn, times: vec![0; names] }
    }

    /// How many blocks a level would have.
    fn count(&self, quantum_ns: u64) -> usize {
        self.drawn.lanes.windows(2).map(|lane| blocks(self.drawn, lane, quantum_ns).count()).sum()
    }

    fn level(&mut self, quantum_ns: u64) -> Level {
        let (mut counts, mut tops) = (Column::default(), Column::default());
        let mut lanes = vec![0];
        for lane in self.drawn.lanes.windows(2) {
            for block in blocks(self.drawn, lane, quantum_ns) {
                counts.push((block.end - block.first) as u64);
                tops.push(self.top(&block) as u64);
            }
            lanes.push(counts.len() as u32);
        }
        Level { quantum_ns, lanes, counts: counts.pack(), tops: tops.pack() }
    }

    /// The first event, counted from the block's beginning, of the name that took most of its time.
    fn top(&mut self, block: &Block) -> usize {
        let drawn = self.drawn;
        let events = &drawn.events[block.first..block.end];
        if events.len() == 1 {
            return 0;
        }
        for &event in events {
            // One more, so that of names that take no time the most frequent is chosen.
            self.times[drawn.name[event as usize] as usize] += drawn.duration[event as usize] + 1;
        }
        let mut top = (0, 0);
        for (place, &event) in events.iter().enumerate() {
            // The name's later events find 0.
            let time = std::mem::take(&mut self.times[drawn.name[event as usize] as usize]);
            if time > top.0 {
                top = (time, place);
            }
        }
        top.1
    }
}

/// The blocks of one lane, which is given as its begin and end in `Drawn::events`.
fn blocks<'a>(drawn: &'a Drawn<'_>, lane: &[u32], quantum_ns: u64) -> impl Iterator<Item = Block> + 'a {
    let mut next = lane[0] as usize;
    let end = lane[1] as usize;
    let stretch = move |place: usize| {
        let event = drawn.events[place] as usize;
        (drawn.duration[event] < quantum_ns).then(|| drawn.start[event] / quantum_ns)
    };
    std::iter::from_fn(move || {
        if next == end {
            return None;
        }
        let (first, own) = (next, stretch(next));
        next += 1;
        while own.is_some() && next < end && stretch(next) == own {
            next += 1;
        }
        Some(Block { first, end: next })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(events: &[(u64, u64, u32)], quantum_ns: u64) -> Vec<(usize, usize)> {
        let start: Vec<u64> = events.iter().map(|event| event.0).collect();
        let duration: Vec<u64> = events.iter().map(|event| event.1).collect();
        let name: Vec<u32> = events.iter().map(|event| event.2).collect();
        let order: Vec<u32> = (0..events.len() as u32).collect();
        let lanes = [0, events.len() as u32];
        let drawn = Drawn { start: &start, duration: &duration, name: &name, events: &order, lanes: &lanes };
        let mut merger = Merger::new(&drawn);
        blocks(&drawn, &lanes, quantum_ns).map(|block| (block.end - block.first, merger.top(&block))).collect()
    }

    #[test]
    fn small_neighbours_become_one_block_with_the_name_that_took_most() {
        let events = [(0, 3, 7), (10, 2, 8), (20, 2, 8), (30, 500, 7), (540, 1, 7), (640, 1, 7)];
        // The third and the last begin in other stretches than their neighbours, the fourth is long enough by itself.
        assert_eq!(merged(&events, 100), [(3, 1), (1, 0), (1, 0), (1, 0)]);
        assert_eq!(merged(&events, 20), [(2, 0), (1, 0), (1, 0), (1, 0), (1, 0)]);
        assert_eq!(merged(&events, 1000), [(6, 0)]);
        assert_eq!(merged(&events, 1).len(), 6);
    }

    #[test]
    fn names_that_take_no_time_count_by_how_many_they_are() {
        assert_eq!(merged(&[(0, 0, 1), (1, 0, 2), (2, 0, 2)], 10), [(3, 1)]);
    }

    #[test]
    fn every_level_has_all_events_in_much_fewer_blocks() {
        let count = 50_000_u32;
        let start: Vec<u64> = (0..count).map(|event| u64::from(event) * 1_000).collect();
        let duration: Vec<u64> = (0..count).map(|event| u64::from(event % 90) * 11).collect();
        let name: Vec<u32> = (0..count).map(|event| event % 13).collect();
        let events: Vec<u32> =
            (0..count).filter(|event| event % 2 == 0).chain((0..count).filter(|event| event % 2 == 1)).collect();
        let lanes = [0, count / 2, count];
        let drawn = Drawn { start: &start, duration: &duration, name: &name, events: &events, lanes: &lanes };
        let levels = levels(&drawn);
        let mut before = count as usize;
        for level in &levels {
            assert!(level.counts.count * 100 <= before * KEPT_BELOW_PERCENT);
            assert_eq!(level.lanes.last().copied(), Some(level.counts.count as u32));
            before = level.counts.count;
        }
        assert!(levels.len() > 2 && before <= FEW, "{} levels, {before} blocks in the last", levels.len());
    }
}
