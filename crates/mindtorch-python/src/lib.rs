//! `mindtorch_v2._core`: the engine, as Python sees it.
//!
//! Thin: a class here holds data of the engine's and answers questions about it. Signatures, defaults and the life of a
//! profiler are in the Python package. The interpreter lock is released wherever the work grows with what was recorded.

mod bindings;
mod command;
mod cuda;
mod error;
mod execution_trace;
mod graph;
mod interop;
mod interpreter;
mod profiler;
mod tensor;
mod torch_bridge;
mod tracer;

/// The native half of `mindtorch_v2`.
///
/// The tracer, the tensors and the accounting of unrecorded operators rely on the interpreter lock for exclusive access.
#[pyo3::pymodule(gil_used = true)]
mod _core {
    use pyo3::pyfunction;

    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::cuda::{cuda_versions, flush_cuda, start_cuda};
    #[pymodule_export]
    use crate::execution_trace::ExecutionTrace;
    #[pymodule_export]
    use crate::profiler::{
        AverageRows, EventRows, OperatorScope, PyDataFrame, PyManualClock, RecordFunction, Results, Session,
        is_memory_recorded, is_recording, note_collection, note_optimizer_state, note_parameter, render_table,
        use_manual_clock, write_pieces,
    };
    #[pymodule_export]
    use crate::tensor::{PyDType, PyDevice, PyGenerator, PyTensor};
    #[pymodule_export]
    use crate::torch_bridge::{
        give_way_to_torch, load_torch_bridge, observe_torch_by_name, sync, torch_bridge, torch_canary,
        torch_versions_by_name, trust_torch_bridge,
    };

    /// The engine is the process's: what a second interpreter would record would be mixed with what the first does.
    #[pyfunction]
    fn _check_interpreter() -> pyo3::PyResult<()> {
        crate::interpreter::check()
    }

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        crate::interpreter::check()?;
        crate::profiler::register(module.py())?;
        crate::tensor::register_types(module)?;
        crate::tensor::register_construction(module)?;
        crate::graph::register(module)?;
        crate::interop::register(module)?;
        // Last: it says what all of this is called outside.
        crate::bindings::register(module)
    }
}
