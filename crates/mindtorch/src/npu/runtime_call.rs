//! The calls into the accelerator's runtime, as traces show them: by the names that CUDA has for them. Programs that read
//! traces know launches and copies by these names and no others.

use mindtorch_profiler::{Calibration, Capture, EventCost, Name, Span, SpanArgs, SpanKind, capture};

/// A call that a host makes: a span, if anyone collects such.
#[derive(Clone, Copy, Debug)]
pub(super) enum RuntimeCall {
    Malloc,
    Free,
    LaunchKernel,
    MemcpyAsync,
    EventRecord,
    EventQuery,
    EventSynchronize,
    StreamWaitEvent,
    StreamQuery,
    StreamSynchronize,
    DeviceSynchronize,
}

impl RuntimeCall {
    /// Begins the call. With no profiler it costs a load and a branch.
    #[inline]
    pub(super) fn begin(self) -> Span {
        if (capture() & Capture::ACTIVITIES).is_empty() { Span::none() } else { self.record() }
    }

    #[cold]
    fn record(self) -> Span {
        Span::begin(&SpanArgs::new(SpanKind::Runtime, Name::new(self.name())))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Malloc => "cudaMalloc",
            Self::Free => "cudaFree",
            Self::LaunchKernel => "cudaLaunchKernel",
            Self::MemcpyAsync => "cudaMemcpyAsync",
            Self::EventRecord => "cudaEventRecord",
            Self::EventQuery => "cudaEventQuery",
            Self::EventSynchronize => "cudaEventSynchronize",
            Self::StreamWaitEvent => "cudaStreamWaitEvent",
            Self::StreamQuery => "cudaStreamQuery",
            Self::StreamSynchronize => "cudaStreamSynchronize",
            Self::DeviceSynchronize => "cudaDeviceSynchronize",
        }
    }
}

/// What recording a call costs.
pub(crate) fn cost_of_a_call(calibration: &Calibration) -> EventCost {
    if !calibration.collects(Capture::DEVICE) {
        return EventCost::default();
    }
    calibration.cost(|| drop(RuntimeCall::LaunchKernel.begin()))
}
