//! The words that this program has for categories and arguments. Each has the same number in every sequence.

/// A category of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Category {
    Op = 1,
    Annotation,
    Runtime,
    Function,
    Kernel,
    Copy,
    Set,
    Sync,
    DeviceAnnotation,
    Instant,
    Window,
}

impl Category {
    /// Numbers from here on are for other texts.
    pub(super) const OTHERS: u32 = 32;

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Op => "cpu_op",
            Self::Annotation => "user_annotation",
            // Said with the kind of device, where it is used.
            Self::Runtime => "",
            Self::Function => "python_function",
            Self::Kernel => "kernel",
            Self::Copy => "gpu_memcpy",
            Self::Set => "gpu_memset",
            Self::Sync => "cuda_sync",
            Self::DeviceAnnotation => "gpu_user_annotation",
            Self::Instant => "cpu_instant_event",
            Self::Window => "Trace",
        }
    }
}

/// The name of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Key {
    ExternalId = 1,
    RecordFunctionId,
    EvIdx,
    SequenceNumber,
    FwdThreadId,
    InputDims,
    InputType,
    InputStrides,
    ConcreteInputs,
    CallStack,
    DeviceType,
    Step,
    Correlation,
    Flops,
    Note,
    Finished,
    Cut,
    Async,
    MemoryBefore,
    MemoryAfter,
    MemoryDelta,
    PythonId,
    PythonParentId,
    PythonModuleId,
    CallFrom,
    Device,
    Stream,
    Bytes,
    Bandwidth,
    TotalReserved,
    TotalAllocated,
    MemoryBytes,
    DeviceId,
    MemoryDeviceType,
    Address,
    Extra,
}

impl Key {
    /// Numbers from here on are for other texts.
    pub(super) const OTHERS: u32 = 64;

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::ExternalId => "External id",
            Self::RecordFunctionId => "Record function id",
            Self::EvIdx => "Ev Idx",
            Self::SequenceNumber => "Sequence number",
            Self::FwdThreadId => "Fwd thread id",
            Self::InputDims => "Input Dims",
            Self::InputType => "Input type",
            Self::InputStrides => "Input Strides",
            Self::ConcreteInputs => "Concrete Inputs",
            Self::CallStack => "Call stack",
            Self::DeviceType => "device_type",
            Self::Step => "step",
            Self::Correlation => "correlation",
            Self::Flops => "Flops",
            Self::Note => "note",
            Self::Finished => "finished",
            Self::Cut => "cut",
            Self::Async => "async",
            Self::MemoryBefore => "cpu_memory_allocated_before",
            Self::MemoryAfter => "cpu_memory_allocated_after",
            Self::MemoryDelta => "cpu_memory_allocated_delta",
            Self::PythonId => "Python id",
            Self::PythonParentId => "Python parent id",
            Self::PythonModuleId => "Python module id",
            Self::CallFrom => "CallFrom",
            Self::Device => "device",
            Self::Stream => "stream",
            Self::Bytes => "bytes",
            Self::Bandwidth => "memory bandwidth (GB/s)",
            Self::TotalReserved => "Total Reserved",
            Self::TotalAllocated => "Total Allocated",
            Self::MemoryBytes => "Bytes",
            Self::DeviceId => "Device Id",
            Self::MemoryDeviceType => "Device Type",
            Self::Address => "Addr",
            Self::Extra => "extra",
        }
    }
}
