//! Points of a timeline: what there was of each category after all that happened at one time.

use crate::trace::{MemoryTimeline, Sizes};

/// What there is after the events that have one key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<K> {
    pub(super) key: K,
    pub(super) sizes: Sizes,
}

/// The sizes after each run of events with the same key; `key` gets an event's number.
pub(super) fn grouped<'a, K: PartialEq + Copy>(
    timeline: &'a MemoryTimeline<'_>,
    key: &'a impl Fn(usize) -> K,
) -> impl Iterator<Item = Group<K>> + 'a {
    let count = timeline.events().len();
    timeline.sizes().enumerate().filter_map(move |(at, (_, sizes))| {
        let own = key(at);
        let is_last = at + 1 == count || key(at + 1) != own;
        is_last.then_some(Group { key: own, sizes })
    })
}

/// The points to show, in the order of time: all, or of each stretch of time that in which least and that in which most was
/// in use, `most` at most. The peak is among them.
pub(super) fn to_show(timeline: &MemoryTimeline<'_>, peak_events: usize, most: usize) -> Vec<(u64, Sizes)> {
    let events = timeline.events();
    let at = |event: usize| events[event].at_ns;
    // A peak that lasts no time is still the peak: it stands for its nanosecond.
    let peak = timeline.sizes().nth(peak_events.saturating_sub(1)).map(|(event, sizes)| (event.at_ns, sizes));
    let with_peak = |group: Group<u64>| match peak {
        Some((at, sizes)) if at == group.key => (group.key, sizes),
        _ => (group.key, group.sizes),
    };
    let points = || grouped(timeline, &at).map(with_peak);
    let count = points().count();
    if count <= most {
        return points().collect();
    }
    let stretch = count.div_ceil((most / 2).max(2) - 1);
    let total = |sizes: &Sizes| sizes.iter().sum::<i64>();
    let mut shown = Vec::with_capacity(most);
    let mut least_and_most: Option<[(usize, (u64, Sizes)); 2]> = None;
    for (number, point) in points().enumerate() {
        let [least, greatest] = least_and_most.get_or_insert([(number, point); 2]);
        if total(&point.1) < total(&least.1.1) {
            *least = (number, point);
        }
        if total(&point.1) > total(&greatest.1.1) {
            *greatest = (number, point);
        }
        if (number + 1) % stretch == 0 || number + 1 == count {
            let mut found = [*least, *greatest];
            found.sort_by_key(|(number, _)| *number);
            shown.push(found[0].1);
            if found[1].0 != found[0].0 {
                shown.push(found[1].1);
            }
            least_and_most = None;
        }
    }
    // The last one says what there is from then on.
    if let Some(last) = points().last().filter(|last| shown.last() != Some(last)) {
        shown.push(last);
    }
    shown
}
