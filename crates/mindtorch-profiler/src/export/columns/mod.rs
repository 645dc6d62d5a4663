//! Events and averages as tables of columns, in batches that are made on demand: what Arrow and Parquet are written from.

mod averages;
mod dictionary;
mod event_numbers;
mod events;
mod inputs;
mod names;
mod values;

pub(super) use averages::AverageFrame;
pub(super) use dictionary::Texts;
pub(super) use events::EventFrame;
pub(super) use values::{Flags, Validity};

use std::borrow::Cow;
use std::sync::Arc;

/// A batch has at most so many rows.
pub(super) const BATCH_ROWS: usize = 65_536;

/// A batch with texts and lists of so many bytes ends there, however few rows it has.
const BATCH_BYTES: usize = 16 << 20;

/// A table.
pub(super) trait Frame: Send + Sync {
    /// What the columns are.
    fn fields(&self) -> &'static [Field];

    /// What is said of the whole table: keys and values.
    fn metadata(&self) -> Vec<(&'static str, String)>;

    /// How many rows there are.
    fn len(&self) -> usize;

    /// The rows from `start` on, as many as make a batch. There is at least one unless `start` is the end.
    fn batch(&self, start: usize) -> Batch<'_>;
}

/// What a column is called, and what it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) is_nullable: bool,
}

/// What a column has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// 64-bit integers.
    Int,
    /// 64-bit floats.
    Float,
    Flag,
    /// Texts, few of them distinct.
    Symbol,
    /// Texts.
    Text,
    /// Lists of something.
    List(&'static Field),
}

impl Field {
    const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, is_nullable: false }
    }

    const fn nullable(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, is_nullable: true }
    }
}

/// Some rows of a table.
pub(super) struct Batch<'a> {
    pub(super) rows: usize,
    /// One for each field.
    pub(super) columns: Vec<Column<'a>>,
}

/// Some rows of a column. What has the layout of the trace's own columns is borrowed from them.
pub(super) enum Column<'a> {
    Ints(Ints<'a>, Validity),
    Floats(Vec<f64>, Validity),
    Flags(Flags, Validity),
    Symbols(Cow<'a, [u32]>, Validity, Arc<Texts>),
    Texts(Texts, Validity),
    /// The items of row `i` are those from the offset at `i` to the next.
    Lists(Vec<i32>, Validity, Box<Column<'a>>),
    /// Nothing in any row.
    Nulls,
}

/// Integers. The trace has times without a sign, which have the same bits: they are fewer than 2^63 nanoseconds.
pub(super) enum Ints<'a> {
    Made(Vec<i64>),
    OfTrace(&'a [u64]),
}
