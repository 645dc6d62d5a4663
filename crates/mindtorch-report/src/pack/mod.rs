//! Traces as numbers and texts that a page can hold.

mod column;
mod counters;
mod events;
mod lanes;
mod levels;
mod memory;
mod texts;

pub(crate) use column::{PackedColumn, deflate};
pub(crate) use counters::{CounterRow, Counters};
pub(crate) use events::{Events, Placed, Row};
pub(crate) use levels::Level;
pub(crate) use memory::{MemoryRows, category_names, memory_rows};
pub(crate) use texts::{Kind, NameRow, Texts};
