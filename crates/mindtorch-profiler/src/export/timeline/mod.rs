//! Memory timelines as files: torch's two forms of JSON, and a page.

mod page;
mod points;

use super::file;
use super::json::JsonWriter;
use crate::error::Error;
use crate::trace::{MemoryAction, MemoryCategory, MemoryTimeline};
use points::Group;
use std::io::{self, Write};
use std::path::Path;

/// What a file says of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineForm<'a> {
    /// How much there was of each category, over time.
    Plain,
    /// What happened to each block.
    Raw,
    /// A page that shows both.
    Page {
        /// What it says above; without one, of which device it is.
        title: Option<&'a str>,
    },
}

impl TimelineForm<'_> {
    /// The form that a file's name asks for.
    fn of(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        if name.ends_with(".html") {
            Self::Page { title: None }
        } else if name.ends_with("raw.json") {
            Self::Raw
        } else {
            Self::Plain
        }
    }
}

impl MemoryTimeline<'_> {
    /// When how many bytes of each category were in use, in the order of [`MemoryCategory::ALL`]: after each change, or if
    /// that is more than `most` times, when it was least and most in each of equally many changes. The peak is always there.
    pub fn points(&self, most: usize) -> Vec<(u64, [i64; MemoryCategory::ALL.len()])> {
        points::to_show(self, self.peak().map_or(0, |peak| peak.events), most)
    }

    /// Writes the timeline in the form that the name asks for: `.html` is a page, `.raw.json` and `.raw.json.gz` are
    /// [raw](Self::write_raw_json), anything else is [plain](Self::write_json). What ends in `.gz` is compressed.
    ///
    /// # Errors
    /// When the system refuses the file. What was there before is then still there.
    pub fn export(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        self.export_as(path, TimelineForm::of(path))
    }

    /// Writes the timeline in this form, whatever the name is; compressed if it ends in `.gz`.
    ///
    /// # Errors
    /// As for [`MemoryTimeline::export`].
    pub fn export_as(&self, path: impl AsRef<Path>, form: TimelineForm<'_>) -> Result<(), Error> {
        file::write(path.as_ref(), |out| match form {
            TimelineForm::Plain => self.write_json(out),
            TimelineForm::Raw => self.write_raw_json(out),
            TimelineForm::Page { title } => self.write_html(out, title),
        })
    }

    /// Writes how many bytes there were of each category, as a list of times and a list of sizes.
    ///
    /// Times are microseconds since the epoch, rounded down; what happens within one is one entry. Sizes are a 0 and then the
    /// bytes of the categories in the order of [`MemoryCategory::ALL`](crate::MemoryCategory::ALL). What was there before the
    /// recording comes first, at the time of what happened first.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write_json(&self, mut out: impl Write) -> io::Result<()> {
        let mut json = JsonWriter::new(&mut out);
        let (start, beginning) = (self.trace.start_epoch_ns(), self.beginning());
        let first_ns = self.events().get(beginning).map_or(0, |event| event.at_ns);
        let group = |at: usize| {
            let at_ns = if at < beginning { first_ns } else { self.events()[at].at_ns };
            (at < beginning, (start + at_ns) / 1000)
        };
        json.raw("[[");
        for (number, Group { key: (_, at_us), .. }) in points::grouped(self, &group).enumerate() {
            json.raw(if number > 0 { ", " } else { "" });
            json.int(at_us);
            json.checkpoint()?;
        }
        json.raw("], [");
        for (number, Group { sizes, .. }) in points::grouped(self, &group).enumerate() {
            json.raw(if number > 0 { ", [0" } else { "[0" });
            for bytes in sizes {
                json.raw(", ");
                json.int(bytes);
            }
            json.raw("]");
            json.checkpoint()?;
        }
        json.raw("]]");
        json.finish()
    }

    /// Writes what happened to blocks, as a list of entries of four numbers: nanoseconds since the epoch, or -1 for what was
    /// there before the recording; the [`MemoryAction`]; bytes, negative if they are fewer afterwards; the category, as an
    /// index into [`MemoryCategory::ALL`](crate::MemoryCategory::ALL). A change is two entries: away from the one category,
    /// and to the other.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write_raw_json(&self, mut out: impl Write) -> io::Result<()> {
        let mut json = JsonWriter::new(&mut out);
        let (start, beginning) = (self.trace.start_epoch_ns(), self.beginning());
        let mut is_first = true;
        json.raw("[");
        for (at, event) in self.events().iter().enumerate() {
            let bytes = self.blocks()[event.block as usize].bytes.cast_signed();
            let away = event.action.takes_away().then_some((-bytes, event.before));
            let to = event.action.adds().then_some((bytes, event.after));
            for (bytes, category) in away.into_iter().chain(to) {
                json.raw(if is_first { "[" } else { ", [" });
                is_first = false;
                if at < beginning {
                    json.raw("-1");
                } else {
                    json.int(start + event.at_ns);
                }
                json.raw(", ");
                json.int(event.action as u8);
                json.raw(", ");
                json.int(bytes);
                json.raw(", ");
                json.int(category as u8);
                json.raw("]");
            }
            json.checkpoint()?;
        }
        json.raw("]");
        json.finish()
    }

    /// Writes a page that shows the timeline, in one file that needs nothing else. Without a title it says of which device.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn write_html(&self, mut out: impl Write, title: Option<&str>) -> io::Result<()> {
        page::write(self, title, &mut out)
    }

    /// How many events are about what was there before the recording.
    fn beginning(&self) -> usize {
        self.events().iter().take_while(|event| event.action == MemoryAction::Preexisting).count()
    }
}
