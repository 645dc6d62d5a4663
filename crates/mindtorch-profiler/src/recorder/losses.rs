//! What a recording does not have.

use std::fmt;
use std::sync::Arc;

/// What a recording does not have, and why. A recording that has everything has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Losses {
    /// Events that could not be recorded: those of a thread while it is torn down, or in the middle of recording.
    pub unrecorded: u64,
    /// Events that were dropped to stay within [`SessionBuilder::max_bytes`](crate::SessionBuilder::max_bytes), by the number
    /// of their thread; 0 stands for threads beyond the first 256.
    pub dropped: Vec<(u32, u64)>,
    /// Events, at most, of the parts that went to a file and could not be read back.
    pub unreadable: u64,
    /// Why recording ended before the session did.
    pub stopped: Option<Arc<str>>,
}

/// A program may have had any number of threads by the time it ends: of so many each has a count of its own.
const MOST_THREADS: usize = 256;
/// No thread has this number: it stands for all others.
const OTHER_THREADS: u32 = 0;

impl Losses {
    /// The number of events that are not there, as far as it is known: nobody counts what happens after recording ended.
    pub fn events(&self) -> u64 {
        let dropped = self.dropped.iter().fold(0, |sum: u64, (_, events)| sum.saturating_add(*events));
        self.unrecorded.saturating_add(self.unreadable).saturating_add(dropped)
    }

    /// Counts events of a thread that were dropped.
    pub(crate) fn drop_events(&mut self, thread: u32, events: u64) {
        if events == 0 {
            return;
        }
        match self.dropped.iter().position(|(known, _)| *known == thread) {
            Some(at) => self.dropped[at].1 = self.dropped[at].1.saturating_add(events),
            None if self.dropped.len() < MOST_THREADS || thread == OTHER_THREADS => self.dropped.push((thread, events)),
            None => self.drop_events(OTHER_THREADS, events),
        }
    }

    /// Those of both.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        self.unrecorded += other.unrecorded;
        self.unreadable += other.unreadable;
        other.dropped.iter().for_each(|&(thread, events)| self.drop_events(thread, events));
        self.stopped = self.stopped.or_else(|| other.stopped.clone());
        self
    }

    /// The dropped events as a JSON object: thread numbers, and how many.
    pub(crate) fn dropped_json(&self) -> String {
        let members: Vec<_> = self.dropped.iter().map(|(thread, events)| format!("\"{thread}\":{events}")).collect();
        format!("{{{}}}", members.join(","))
    }

    /// Takes back what [`Self::dropped_json`] gave. What is not of that form is ignored.
    pub(crate) fn read_dropped_json(json: &str) -> Vec<(u32, u64)> {
        let members = json.trim().trim_start_matches('{').trim_end_matches('}').split(',');
        let member = |member: &str| {
            let (thread, events) = member.split_once(':')?;
            Some((thread.trim().trim_matches('"').parse().ok()?, events.trim().parse().ok()?))
        };
        members.filter_map(member).collect()
    }
}

/// As the footer of a table: a line for what was lost, and one for an early end.
impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.events() > 0 {
            write!(f, "Events lost: {}", self.events())?;
            let mut separator = " (dropped to stay within max_bytes: ";
            for (thread, events) in &self.dropped {
                match *thread {
                    OTHER_THREADS => write!(f, "{separator}{events} of other threads")?,
                    thread => write!(f, "{separator}{events} of thread {thread}")?,
                }
                separator = ", ";
            }
            writeln!(f, "{}", if self.dropped.is_empty() { "" } else { ")" })?;
        }
        match &self.stopped {
            Some(why) => writeln!(f, "Recording ended early: {why}"),
            None => Ok(()),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_survives_as_json() {
        let mut losses = Losses::default();
        for (thread, events) in [(1, 3), (70, u64::MAX / 2), (1, 4)] {
            losses.drop_events(thread, events);
        }
        assert_eq!(Losses::read_dropped_json(&losses.dropped_json()), [(1, 7), (70, u64::MAX / 2)]);
        assert_eq!(Losses::read_dropped_json("{}"), []);
        assert_eq!(Losses::read_dropped_json("{\"a\": 1, \"2\": -1, \"3\": 4}"), [(3, 4)]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes and runs no unsafe code")]
    fn the_footer_says_how_many_of_whom_and_why() {
        let mut many = Losses::default();
        (1..1000).for_each(|thread| many.drop_events(thread, 1));
        assert_eq!((many.events(), many.dropped.len()), (999, 257));
        assert!(many.to_string().ends_with(", 743 of other threads)\n"));
        let mut losses = Losses { unrecorded: 2, ..Losses::default() };
        assert_eq!(losses.to_string(), "Events lost: 2\n");
        losses.drop_events(1, 5);
        losses.drop_events(3, 1);
        losses.stopped = Some("the disk is full".into());
        let footer = "Events lost: 8 (dropped to stay within max_bytes: 5 of thread 1, 1 of thread 3)\n\
                      Recording ended early: the disk is full\n";
        assert_eq!(losses.to_string(), footer);
        assert_eq!(Losses::default().to_string(), "");
    }
}
