//! What an event is, by its category.

use crate::recorder::SpanKind;
use crate::trace::DeviceKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    /// A span of a thread. Whether it has a category that is not its kind's own.
    Span(SpanKind, bool),
    /// Work of a device.
    Device(DeviceKind),
    /// The recording itself.
    Window,
}

impl Category {
    pub(super) fn of(text: &[u8]) -> Self {
        match text {
            b"cpu_op" => Self::Span(SpanKind::Op, false),
            b"user_annotation" => Self::Span(SpanKind::Annotation, false),
            b"python_function" => Self::Span(SpanKind::Function, false),
            b"cuda_runtime" => Self::Span(SpanKind::Runtime, false),
            b"kernel" => Self::Device(DeviceKind::Kernel),
            b"gpu_memcpy" => Self::Device(DeviceKind::Copy),
            b"gpu_memset" => Self::Device(DeviceKind::Set),
            b"cuda_sync" => Self::Device(DeviceKind::Sync),
            b"gpu_user_annotation" => Self::Device(DeviceKind::Annotation),
            b"Trace" => Self::Window,
            // Torch's own work: it is neither the program's nor an operator.
            b"overhead" => Self::Span(SpanKind::Runtime, true),
            other if other.ends_with(b"_runtime") || other.ends_with(b"_driver") => Self::Span(SpanKind::Runtime, true),
            _ => Self::Span(SpanKind::Annotation, true),
        }
    }
}

/// What the accelerator is called whose runtime has this category.
pub(super) fn accelerator(category: &[u8]) -> Option<&'static str> {
    match category {
        b"cuda_runtime" | b"cuda_driver" | b"cuda_sync" => Some("CUDA"),
        b"xpu_runtime" | b"xpu_driver" => Some("XPU"),
        b"mtia_runtime" | b"mtia_driver" => Some("MTIA"),
        _ => None,
    }
}
