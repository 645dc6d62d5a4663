//! Lanes: where in its row an event is drawn, so that no two lie on one another.

/// The lanes of one row, while its events are placed in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    /// Until when each is taken.
    ends: Vec<u64>,
}

impl Lanes {
    /// The first lane from `lowest` on that is free at `start`; it is taken until `end`.
    ///
    /// What nests lies directly below what is around it. What overlaps without nesting, as tasks do that take turns, goes
    /// further down.
    pub(crate) fn place(&mut self, lowest: usize, start: u64, end: u64) -> usize {
        let free = (lowest..self.ends.len()).find(|&lane| self.ends[lane] <= start);
        let lane = free.unwrap_or_else(|| lowest.max(self.ends.len()));
        if lane >= self.ends.len() {
            self.ends.resize(lane + 1, 0);
        }
        self.ends[lane] = end;
        lane
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nests_lies_below_and_what_overlaps_further_down() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.place(0, 0, 100), 0);
        assert_eq!(lanes.place(1, 0, 40), 1);
        // It touches the one before, and does not overlap it.
        assert_eq!(lanes.place(1, 40, 60), 1);
        assert_eq!(lanes.place(1, 50, 80), 2);
        assert_eq!(lanes.place(0, 90, 120), 1);
        assert_eq!(lanes.count(), 3);
    }
}
