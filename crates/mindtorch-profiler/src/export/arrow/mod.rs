//! Arrow's C data interface: tables for all that read it, without a library.
//! <https://arrow.apache.org/docs/format/CDataInterface.html>
//!
//! Structures are handed over with a function that gives them back, which their reader calls, on any thread. What they
//! point to is kept until then.

mod abi;
mod array;
mod schema;
mod stream;

pub use abi::{ArrowArray, ArrowArrayStream, ArrowSchema};

use super::columns::Frame;
use std::sync::Arc;

/// The stream of a table's batches, which are made when the reader asks for them.
pub(super) fn stream(frame: Arc<dyn Frame>) -> ArrowArrayStream {
    stream::new(frame)
}

/// The type of a table's batches.
pub(super) fn schema(frame: &dyn Frame) -> ArrowSchema {
    schema::of_frame(frame)
}
