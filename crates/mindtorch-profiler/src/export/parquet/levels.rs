//! Levels: how the format tells nulls, and where lists begin.
//!
//! A column has an entry for each value, and for each place where there could be one and is none. The *definition* of an
//! entry says how much of what could be missing, from the outside in, is there; its *repetition*, which of the lists around
//! it goes on, 0 for none: a new row.

use crate::export::columns::{Column, Field, Flags, Ints, Kind, Texts, Validity};

/// The entries of a column.
pub(super) struct Levels<'a> {
    pub(super) definitions: Vec<i16>,
    pub(super) repetitions: Vec<i16>,
    /// The definition of an entry that has a value.
    pub(super) deepest: i16,
    /// How many lists are around a value.
    pub(super) lists: i16,
    /// For the entries that have one, in order: where the value is.
    pub(super) rows: Vec<u32>,
    pub(super) leaf: Leaf<'a>,
}

/// Values that are no lists.
pub(super) enum Leaf<'a> {
    Ints(&'a Ints<'a>),
    Floats(&'a [f64]),
    Flags(&'a Flags),
    Symbols(&'a [u32], &'a Texts),
    Texts(&'a Texts),
    Nulls,
}

/// A place where a value may be.
#[derive(Clone, Copy)]
struct Entry {
    definition: i16,
    repetition: i16,
    /// Where its value is, as far as there is one.
    row: Option<u32>,
}

impl<'a> Levels<'a> {
    pub(super) fn of(field: &Field, column: &'a Column<'a>, rows: usize) -> Self {
        let mut entries: Vec<Entry> =
            (0..rows as u32).map(|row| Entry { definition: 0, repetition: 0, row: Some(row) }).collect();
        let (mut field, mut column) = (*field, column);
        let (mut deepest, mut lists) = (0, 0);
        loop {
            if field.is_nullable {
                deepest += 1;
                define(&mut entries, column);
            }
            let Kind::List(item) = field.kind else { break };
            (deepest, lists) = (deepest + 1, lists + 1);
            if let Column::Lists(offsets, _, items) = column {
                entries = unfold(&entries, offsets, lists);
                column = items;
            }
            field = *item;
        }
        Self {
            definitions: entries.iter().map(|entry| entry.definition).collect(),
            repetitions: entries.iter().map(|entry| entry.repetition).collect(),
            deepest,
            lists,
            rows: entries.iter().filter_map(|entry| entry.row).collect(),
            leaf: leaf(column),
        }
    }
}

fn leaf<'a>(column: &'a Column<'a>) -> Leaf<'a> {
    match column {
        Column::Ints(ints, _) => Leaf::Ints(ints),
        Column::Floats(values, _) => Leaf::Floats(values),
        Column::Flags(flags, _) => Leaf::Flags(flags),
        Column::Symbols(codes, _, texts) => Leaf::Symbols(codes, texts),
        Column::Texts(texts, _) => Leaf::Texts(texts),
        Column::Lists(..) | Column::Nulls => Leaf::Nulls,
    }
}

/// Marks the entries that are not null at this depth.
fn define(entries: &mut [Entry], column: &Column<'_>) {
    let is_valid = |validity: &Validity, row: u32| validity.get(row as usize);
    for entry in entries {
        entry.row = entry.row.filter(|&row| match column {
            Column::Ints(_, validity)
            | Column::Floats(_, validity)
            | Column::Flags(_, validity)
            | Column::Symbols(_, validity, _)
            | Column::Texts(_, validity)
            | Column::Lists(_, validity, _) => is_valid(validity, row),
            Column::Nulls => false,
        });
        entry.definition += i16::from(entry.row.is_some());
    }
}

/// The entries of lists in the place of the lists. An empty one stays as an entry without a value.
fn unfold(entries: &[Entry], offsets: &[i32], depth: i16) -> Vec<Entry> {
    let mut unfolded = Vec::with_capacity(entries.len());
    for entry in entries {
        let items = entry.row.map_or(0..0, |row| offsets[row as usize] as u32..offsets[row as usize + 1] as u32);
        if items.is_empty() {
            unfolded.push(Entry { row: None, ..*entry });
        }
        for (at, item) in items.enumerate() {
            let repetition = if at == 0 { entry.repetition } else { depth };
            unfolded.push(Entry { definition: entry.definition + 1, repetition, row: Some(item) });
        }
    }
    unfolded
}
