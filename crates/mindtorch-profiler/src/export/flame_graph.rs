//! Flame graphs: one SVG picture, which a browser shows, zooms and searches.

use super::folded::{self, StackMetric};
use super::path_tree::{Frames, PathTree};
use crate::trace::Trace;
use inferno::flamegraph::{self, Options};
use std::io::{self, Write};

/// What takes a smaller part of the whole than this is narrower than a tenth of a pixel, and is drawn as part of what is
/// around it. So the picture stays small for any number of stacks.
const SMALLEST_PART: u64 = 20_000;

/// A flame graph that is about to be drawn.
pub(super) struct FlameGraph {
    tree: PathTree,
    metric: StackMetric,
}

impl FlameGraph {
    /// The picture of a trace; none if nothing took time.
    pub(super) fn of(trace: &Trace, metric: StackMetric) -> Option<Self> {
        // Where functions are spans, the spans around an operator say all that its stack says, and the scopes as well.
        let frames = if trace.has_functions() { Frames::Spans } else { Frames::Source };
        let mut tree = PathTree::of(trace, metric, frames, on_one_line);
        let total = tree.total_ns();
        tree.merge_below(total / SMALLEST_PART);
        (total > 0).then_some(Self { tree, metric })
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut lines = Vec::new();
        folded::write_lines(&self.tree, &mut lines)?;
        let mut options = Options::default();
        options.title = title(self.metric);
        options.count_name = "µs".to_owned();
        // A frame has the same colour in every picture.
        options.hash = true;
        flamegraph::from_reader(&mut options, lines.as_slice(), out)
    }
}

fn title(metric: StackMetric) -> String {
    let metric = metric.to_string();
    let mut letters = metric.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A frame without what separates frames and lines. Its blanks look the same and are others: a number behind a common one
/// at the end of a frame would be taken for a count.
fn on_one_line(frame: &str) -> String {
    let is_separator = |c: char| c == ';' || c.is_control();
    if frame.is_empty() { "_".to_owned() } else { frame.replace(is_separator, "_").replace(' ', "\u{a0}") }
}
