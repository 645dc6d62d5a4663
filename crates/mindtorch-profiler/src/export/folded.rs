//! Folded stacks: the times of a trace by path, a line each, for flame graphs.

use super::path_tree::{Frames, PathTree};
use crate::error::Error;
use crate::trace::Trace;
use std::fmt;
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

/// In the words of a title.
impl fmt::Display for StackMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SelfCpuTime => "self CPU time",
            Self::SelfDeviceTime => "self device time",
        })
    }
}

pub(super) fn write(trace: &Trace, metric: StackMetric, out: &mut dyn Write) -> io::Result<()> {
    write_lines(&PathTree::of(trace, metric, Frames::Source, without_blanks), out)
}

/// Writes a line for each path that took time: its frames from the outermost joined by `;`, a space, and microseconds.
pub(super) fn write_lines(tree: &PathTree, out: &mut dyn Write) -> io::Result<()> {
    let frames = tree.frames();
    let mut line: Vec<u8> = Vec::new();
    let mut buffer = io::BufWriter::with_capacity(64 * 1024, out);
    // Where each frame of the line ends: the next line begins with some of them.
    let mut ends: Vec<usize> = Vec::new();
    tree.visit(|path, ns| {
        ends.truncate(path.len() - 1);
        line.truncate(ends.last().copied().unwrap_or(0));
        if !line.is_empty() {
            line.push(b';');
        }
        let last = path.last().map_or("", |&frame| frames[frame as usize]);
        line.extend_from_slice(last.as_bytes());
        ends.push(line.len());
        if ns > 0 {
            buffer.write_all(&line)?;
            writeln!(buffer, " {}", (ns.saturating_add(500) / 1000).max(1))?;
        }
        Ok(())
    })?;
    buffer.flush()
}

/// A frame without what separates frames and lines, and without blanks, at which some readers end it.
fn without_blanks(frame: &str) -> String {
    let is_separator = |c| matches!(c, ' ' | ';' | '\t' | '\n' | '\r');
    if frame.is_empty() { "_".to_owned() } else { frame.replace(is_separator, "_") }
}
