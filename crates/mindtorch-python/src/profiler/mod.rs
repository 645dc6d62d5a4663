//! The profiler, as Python sees it.
//!
//! A [`session::Session`] is a recording; its [`results::Results`] are an immutable trace; [`event_rows::EventRows`] and
//! [`average_rows::AverageRows`] answer for one row at a time. What looks like torch's objects is made of them in Python,
//! when someone touches it.

mod average_rows;
mod context_manager;
mod data_frame;
mod event_rows;
mod event_values;
mod exports;
mod filter;
mod garbage;
mod inputs;
mod manual_clock;
mod memory_timeline;
mod operator_scope;
mod overhead;
mod record_function;
mod results;
mod session;
mod table;
mod target;
mod tasks;
mod unrecorded;
mod view;

pub(crate) use average_rows::AverageRows;
pub(crate) use data_frame::PyDataFrame;
pub(crate) use event_rows::EventRows;
pub(crate) use garbage::note_collection;
pub(crate) use manual_clock::{PyManualClock, use_manual_clock};
pub(crate) use memory_timeline::{note_optimizer_state, note_parameter};
pub(crate) use operator_scope::OperatorScope;
pub(crate) use record_function::RecordFunction;
pub(crate) use results::Results;
pub(crate) use session::{Session, is_memory_recorded, is_recording};
pub(crate) use table::render_table;
pub(crate) use target::{raised, write_pieces};
pub(crate) use tasks::without_lock;

use pyo3::prelude::*;

/// Prepares what needs the interpreter.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    target::register();
    tasks::register();
    context_manager::register(py)
}
