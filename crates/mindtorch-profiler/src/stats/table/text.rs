//! The table as lines of text.

use super::{Column, Layout};
use crate::stats::Average;
use crate::stats::format::tail;
use std::fmt::Write as _;

pub(super) fn write(layout: &Layout<'_>) -> String {
    let columns = &layout.columns;
    let separator: String = columns.iter().map(|column| "-".repeat(column.width) + "  ").collect();
    let ruler = "=".repeat(separator.len() - 2);
    let mut text = String::new();
    for header in layout.headers() {
        push_lines(&mut text, [ruler.as_str(), header]);
    }
    push_lines(&mut text, [separator.as_str()]);
    push_cells(&mut text, columns, |column| column.heading.clone());
    push_lines(&mut text, [separator.as_str()]);
    for row in &layout.rows {
        push_cells(&mut text, columns, |column| (column.cell)(row));
        if layout.has_stacks {
            push_deeper_frames(&mut text, columns, row);
        }
    }
    push_lines(&mut text, [separator.as_str()]);
    text + &layout.footer()
}

fn push_lines<'a>(text: &mut String, lines: impl IntoIterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>) {
    for line in lines {
        text.push_str(line.as_ref());
        text.push('\n');
    }
}

fn push_cells(text: &mut String, columns: &[Column<'_>], cell: impl Fn(&Column<'_>) -> String) {
    for column in columns {
        let (content, width) = (cell(column), column.width);
        let _ = if column.is_left_aligned {
            write!(text, "{content:<width$}  ")
        } else {
            write!(text, "{content:>width$}  ")
        };
    }
    text.push('\n');
}

/// The frames after the first, each on a line of its own under the source column, and an empty line.
fn push_deeper_frames(text: &mut String, columns: &[Column<'_>], row: &Average) {
    let frames = row.stack.iter().skip(1).map(|frame| frame.text());
    for frame in frames.chain([std::sync::Arc::from("")]) {
        push_cells(
            text,
            columns,
            |column| {
                if column.is_left_aligned { tail(&frame, column.width) } else { String::new() }
            },
        );
    }
}
