//! What can be recorded.

use super::record::RecordKind;
use super::role::MemoryRole;
use crate::capture::Capture;
use crate::clock::TickScale;
use crate::inputs::Inputs;
use crate::names::{Name, Stack};

/// What a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpanKind {
    /// An operator: `aten::mm`.
    Op,
    /// A node of the backward pass: `MulBackward0`.
    Backward,
    /// A part of the program that its author named.
    Annotation,
    /// A call into a device's runtime, such as a launch.
    Runtime,
    /// A function of an interpreted language: its frame is part of the stack of all that it contains.
    Function,
}

impl SpanKind {
    /// The activity that collects it.
    #[inline]
    pub(crate) fn needs(self) -> Capture {
        match self {
            Self::Runtime => Capture::DEVICE,
            Self::Function => Capture::FUNCTIONS,
            Self::Op | Self::Backward | Self::Annotation => Capture::CPU,
        }
    }

    #[inline]
    pub(crate) fn record_kind(self) -> RecordKind {
        match self {
            Self::Op => RecordKind::Op,
            Self::Backward => RecordKind::Backward,
            Self::Annotation => RecordKind::Annotation,
            Self::Runtime => RecordKind::Runtime,
            Self::Function => RecordKind::Function,
        }
    }

    /// The inverse of [`Self::record_kind`], for the kinds of record that are spans.
    pub(crate) fn of_record(kind: RecordKind) -> Option<Self> {
        match kind {
            RecordKind::Op => Some(Self::Op),
            RecordKind::Backward => Some(Self::Backward),
            RecordKind::Annotation => Some(Self::Annotation),
            RecordKind::Runtime => Some(Self::Runtime),
            RecordKind::Function => Some(Self::Function),
            _ => None,
        }
    }
}

/// What is known of a span when it begins.
///
/// ```
/// use mindtorch_profiler::{Inputs, Name, SpanArgs, SpanKind};
/// let args = SpanArgs::new(SpanKind::Op, Name::new("aten::mm"))
///     .inputs(Inputs::encode().tensor("float", &[4, 4], &[4, 1]).finish())
///     .sequence(7)
///     .flops(128);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SpanArgs {
    pub(crate) kind: SpanKind,
    pub(crate) name: Name,
    pub(crate) inputs: Inputs,
    pub(crate) stack: Stack,
    pub(crate) overload: Name,
    /// One higher; 0 is none.
    pub(crate) sequence_plus_one: u64,
    pub(crate) details: Option<SpanDetails>,
}

/// What few spans have. A span with any of it takes a second slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanDetails {
    pub(crate) forward_thread: u32,
    pub(crate) flops: u64,
    pub(crate) note: Name,
    /// The task that it is part of; 0 is none.
    pub(crate) context: u32,
    pub(crate) record_function: u32,
    pub(crate) is_script: bool,
}

impl SpanArgs {
    /// A span with a name and nothing else.
    #[inline]
    pub fn new(kind: SpanKind, name: Name) -> Self {
        let (inputs, stack, overload) = (Inputs::NONE, Stack::NONE, Name(0));
        Self { kind, name, inputs, stack, overload, sequence_plus_one: 0, details: None }
    }

    /// The operator's inputs.
    #[inline]
    pub fn inputs(mut self, inputs: Inputs) -> Self {
        self.inputs = inputs;
        self
    }

    /// Where in the source the span began.
    pub fn stack(mut self, stack: Stack) -> Self {
        self.stack = stack;
        self
    }

    /// For a [`SpanKind::Function`]: the line of its caller that called it, and, if it is a call of a module, the number of
    /// that module among those of its class, from 0.
    #[inline]
    pub fn call(mut self, line: u32, module: Option<u32>) -> Self {
        self.inputs = Inputs(line);
        self.stack = Stack(module.map_or(0, |module| module + 1));
        self
    }

    /// The autograd sequence number, which links a forward operator to its backward node.
    #[inline]
    pub fn sequence(mut self, sequence: u64) -> Self {
        self.sequence_plus_one = sequence.saturating_add(1);
        self
    }

    /// The number of the thread that ran the forward operator of this backward node; 0 is none.
    #[inline]
    pub fn forward_thread(mut self, thread: u32) -> Self {
        self.details().forward_thread = thread;
        self
    }

    /// The floating-point operations that the operator will do.
    #[inline]
    pub fn flops(mut self, flops: u64) -> Self {
        self.details().flops = flops;
        self
    }

    /// A text to show with the span.
    pub fn note(mut self, note: Name) -> Self {
        self.details().note = note;
        self
    }

    /// The operator's overload: `Tensor` of `aten::add.Tensor`.
    #[inline]
    pub fn overload(mut self, overload: Name) -> Self {
        self.overload = overload;
        self
    }

    /// For a [`SpanKind::Runtime`]: what else traces show of the call, as members of a JSON object, such as `"cbid":211`.
    #[inline]
    pub fn extra(mut self, members: Name) -> Self {
        // Calls have no overloads, of which they have the place.
        self.overload = members;
        self
    }

    pub(crate) fn context(mut self, context: u32) -> Self {
        self.details().context = context;
        self
    }

    /// The number by which another log of the program, such as an execution trace, knows the span; 0 is none.
    pub fn record_function(mut self, id: u32) -> Self {
        self.details().record_function = id;
        self
    }

    /// Whether it is a function of TorchScript, and not one operator.
    #[inline]
    pub fn script(mut self, is_script: bool) -> Self {
        if is_script {
            self.details().is_script = true;
        }
        self
    }

    #[inline]
    fn details(&mut self) -> &mut SpanDetails {
        self.details.get_or_insert(SpanDetails {
            forward_thread: 0,
            flops: 0,
            note: Name(0),
            context: 0,
            record_function: 0,
            is_script: false,
        })
    }
}

/// Identifies a span while it is recorded: the device work that it launches refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId(u64);

impl SpanId {
    const POSITION_BITS: u32 = 36;

    /// Thread serial numbers are below 2^28 and positions below 2^36 for longer than anyone will wait. There is no thread
    /// 0, so 0 is no span.
    pub(crate) fn new(thread: u32, position: u64) -> Self {
        Self(u64::from(thread) << Self::POSITION_BITS | position)
    }

    /// The id as a number, for a table of such. Never 0.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The inverse of [`Self::bits`]; 0 is none.
    pub fn from_bits(bits: u64) -> Option<Self> {
        (bits != 0).then_some(Self(bits))
    }

    pub(crate) fn thread(self) -> u32 {
        (self.0 >> Self::POSITION_BITS) as u32
    }

    pub(crate) fn position(self) -> u64 {
        self.0 & ((1 << Self::POSITION_BITS) - 1)
    }
}

/// Where memory is, or work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Device {
    /// The host.
    Cpu,
    /// The accelerator with this number.
    Npu(u16),
}

impl Device {
    pub(crate) fn index(self) -> u16 {
        match self {
            Self::Cpu => 0,
            Self::Npu(index) => index,
        }
    }

    pub(crate) fn kind_bits(self) -> u32 {
        u32::from(self != Self::Cpu)
    }

    pub(crate) fn from_bits(kind: u32, index: u16) -> Self {
        if kind == 0 { Self::Cpu } else { Self::Npu(index) }
    }

    /// The activity whose sessions see the device's memory.
    pub(crate) fn activity(self) -> Capture {
        if self == Self::Cpu { Capture::CPU } else { Capture::DEVICE }
    }
}

/// An allocation or a free.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Where the block starts.
    pub address: u64,
    /// Its size: positive when allocated, negative when freed.
    pub bytes: i64,
    /// The device that it is on.
    pub device: Device,
    /// Bytes in use on the device after this.
    pub allocated: i64,
    /// Bytes that the device's allocator holds, in use or not; 0 if it holds none back.
    pub reserved: u64,
    /// Where in the source it happened.
    pub stack: Stack,
    /// What it is for, as far as that is known when it is allocated or freed.
    pub role: MemoryRole,
}

impl Memory {
    /// The host's, of which no more is known.
    #[inline(always)]
    pub(crate) fn of_host(address: u64, bytes: i64, allocated: i64) -> Self {
        let (device, stack, role) = (Device::Cpu, Stack::NONE, MemoryRole::Unknown);
        Self { address, bytes, device, allocated, reserved: 0, stack, role }
    }
}

/// Something that became known of a block of memory: that it is there, what it is for, that its contents changed.
#[derive(Clone, Copy, Debug)]
pub struct MemoryUse {
    /// Where the block starts.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// The device that it is on.
    pub device: Device,
    /// What it is for.
    pub role: MemoryRole,
    /// Whether its contents change.
    pub is_written: bool,
}

/// A point in time while recording, from [`Recorder::now`](super::Recorder::now) or
/// [`Recorder::ticks_at`](super::Recorder::ticks_at).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticks(pub(crate) u64);

/// A translation between a recorder's ticks and nanoseconds since the epoch, from
/// [`Recorder::time_scale`](super::Recorder::time_scale). It stays what it is, and is exact there and back, while the
/// recorder learns what a tick is worth.
#[derive(Clone, Copy, Debug)]
pub struct TimeScale(pub(super) TickScale);

impl TimeScale {
    /// The time, in nanoseconds since the epoch.
    #[inline]
    pub fn epoch_ns(&self, at: Ticks) -> u64 {
        self.0.epoch_ns(at.0)
    }

    /// The inverse of [`Self::epoch_ns`].
    pub fn ticks(&self, epoch_ns: u64) -> Ticks {
        Ticks(self.0.ticks(epoch_ns))
    }
}

/// What a device has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeviceWork {
    /// It computed.
    #[default]
    Kernel,
    /// It moved memory.
    Copy,
    /// It filled memory.
    Set,
    /// It waited.
    Sync,
}

impl DeviceWork {
    pub(crate) fn record_kind(self) -> RecordKind {
        match self {
            Self::Kernel => RecordKind::Kernel,
            Self::Copy => RecordKind::Copy,
            Self::Set => RecordKind::Set,
            Self::Sync => RecordKind::Sync,
        }
    }
}

/// Work that a device has done: a kernel or a copy.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSpan {
    /// The kernel's name.
    pub name: Name,
    /// The number of the accelerator.
    pub device: u16,
    /// The stream that it ran on.
    pub stream: u16,
    /// When it began.
    pub begin: Ticks,
    /// When it ended.
    pub end: Ticks,
    /// What it was.
    pub work: DeviceWork,
    /// Bytes moved or filled.
    pub bytes: u64,
    /// The span that launched it.
    pub launched_by: Option<SpanId>,
    /// What else traces show of it: members of a JSON object, such as `"grid":[1,1,1],"block":[256,1,1]`.
    pub extra: Name,
}

impl DeviceSpan {
    /// A kernel that nobody is known to have launched, on the first stream of the first accelerator.
    pub fn kernel(name: Name, begin: Ticks, end: Ticks) -> Self {
        let (work, extra) = (DeviceWork::Kernel, Name::EMPTY);
        Self { name, device: 0, stream: 0, begin, end, work, bytes: 0, launched_by: None, extra }
    }
}
