//! Stretches of time, and how much of it they cover together.

/// From when to when, in nanoseconds.
pub(crate) type Interval = (u64, u64);

/// The stretches that intervals cover together, in order, none touching the next. Takes them in any order.
pub(crate) fn union(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort_unstable();
    let mut covered: Vec<Interval> = Vec::new();
    for (start, end) in intervals {
        match covered.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => covered.push((start, end)),
        }
    }
    covered
}

/// How long they are together.
pub(crate) fn length(intervals: &[Interval]) -> u64 {
    intervals.iter().map(|(start, end)| end - start).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_or_touches_is_one() {
        let covered = union(vec![(5, 6), (0, 2), (1, 3), (3, 4), (1, 2), (8, 8)]);
        assert_eq!(covered, [(0, 4), (5, 6), (8, 8)]);
        assert_eq!(length(&covered), 5);
    }
}
