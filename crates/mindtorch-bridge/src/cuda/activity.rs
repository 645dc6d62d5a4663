//! What a GPU has done, from CUPTI's records.

#![expect(unsafe_code, reason = "a kernel's name is a pointer in its record")]

use super::layout::{self, KIND, NONE, Record, copy, kernel, kind, peer_copy, set, wait};
use super::occupancy::{Launch, Processor};
use super::words;
use mindtorch_profiler::{DeviceWork, Name};
use rustc_hash::FxHashMap;
use std::ffi::{CStr, c_char};
use std::fmt::Write;

/// Work of a GPU, as the recorder wants it but for the clock, and who asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Activity {
    pub(super) work: DeviceWork,
    pub(super) name: Name,
    pub(super) device: u16,
    pub(super) stream: u16,
    /// By the clock that CUPTI was given.
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) bytes: u64,
    /// The number of the call that asked for it.
    pub(super) call: u32,
    pub(super) extra: Name,
}

/// Reads records, and knows what it has read: the same kernels run again and again.
#[derive(Debug, Default)]
pub(super) struct Reader {
    processors: Vec<Processor>,
    kernels: FxHashMap<Box<CStr>, Name>,
    launches: FxHashMap<KernelArgs, Name>,
    texts: FxHashMap<[u32; 4], Name>,
    /// Of which GPU a context is: waits do not say.
    devices: FxHashMap<u32, u16>,
}

/// What there is to say of a kernel, besides its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct KernelArgs {
    device: u32,
    context: u32,
    launch: Launch,
    graph: u32,
    graph_node: u64,
}

impl Reader {
    pub(super) fn new(processors: &[Processor]) -> Self {
        Self { processors: processors.to_vec(), ..Self::default() }
    }

    /// What a record tells; nothing if it is of another kind, or of work whose times are not known.
    ///
    /// # Safety
    /// The name that a kernel's record points to, if any, is a string.
    pub(super) unsafe fn read(&mut self, record: Record<'_>) -> Option<Activity> {
        let activity = match record.u32(KIND) {
            // SAFETY: by the caller.
            kind::KERNEL => unsafe { self.kernel(record) },
            kind::COPY => self.copy(record, None),
            kind::PEER_COPY => {
                let [from, to] = [peer_copy::SOURCE_DEVICE, peer_copy::TARGET_DEVICE].map(|at| record.u32(at));
                self.copy(record, Some((from, to)))
            }
            kind::SET => self.set(record),
            kind::WAIT => self.wait(record),
            _ => return None,
        };
        (activity.start != 0 && activity.end >= activity.start).then_some(activity)
    }

    /// # Safety
    /// As for [`Self::read`].
    unsafe fn kernel(&mut self, record: Record<'_>) -> Activity {
        let name = record.u64(kernel::NAME) as usize as *const c_char;
        let args = KernelArgs {
            device: record.u32(kernel::DEVICE),
            context: record.u32(kernel::CONTEXT),
            launch: Launch {
                grid: record.three(kernel::GRID),
                block: record.three(kernel::BLOCK),
                registers: record.u16(kernel::REGISTERS),
                shared_memory: record
                    .u32(kernel::STATIC_SHARED_MEMORY)
                    .saturating_add(record.u32(kernel::DYNAMIC_SHARED_MEMORY)),
            },
            graph: record.u32(kernel::GRAPH),
            graph_node: record.u64(kernel::GRAPH_NODE),
        };
        self.devices.insert(args.context, narrow(args.device));
        Activity {
            work: DeviceWork::Kernel,
            // SAFETY: by the caller.
            name: unsafe { self.kernel_name(name) },
            device: narrow(args.device),
            stream: narrow(record.u32(kernel::STREAM)),
            start: record.u64(kernel::START),
            end: record.u64(kernel::END),
            bytes: 0,
            call: record.u32(kernel::CORRELATION),
            extra: self.kernel_args(&args),
        }
    }

    /// # Safety
    /// It is a string, or null.
    unsafe fn kernel_name(&mut self, name: *const c_char) -> Name {
        if name.is_null() {
            return Name::new("<unknown>");
        }
        // SAFETY: by the caller.
        let name = unsafe { CStr::from_ptr(name) };
        if let Some(known) = self.kernels.get(name) {
            return *known;
        }
        let shown = Name::new(&words::demangled(name));
        self.kernels.insert(name.into(), shown);
        shown
    }

    fn kernel_args(&mut self, args: &KernelArgs) -> Name {
        let processor = self.processors.get(args.device as usize).copied().unwrap_or_default();
        *self.launches.entry(*args).or_insert_with(|| Name::new(&kernel_json(args, &processor)))
    }

    fn copy(&mut self, record: Record<'_>, devices: Option<(u32, u32)>) -> Activity {
        let kinds = [copy::COPY_KIND, copy::SOURCE_KIND, copy::TARGET_KIND].map(|at| record.u8(at));
        let [direction, from, to] = kinds;
        let name =
            self.text([kind::COPY, direction.into(), from.into(), to.into()], || words::copy(direction, from, to));
        let at = if devices.is_some() { peer_copy::CORRELATION } else { copy::CORRELATION };
        let mut activity = Activity { name, call: record.u32(at), ..self.moved(DeviceWork::Copy, record) };
        if let Some((from, to)) = devices {
            let context = record.u32(copy::CONTEXT);
            activity.extra = self.text([kind::PEER_COPY, context, from, to], || {
                format!("\"context\":{context},\"fromDevice\":{from},\"toDevice\":{to}")
            });
        }
        activity
    }

    fn set(&mut self, record: Record<'_>) -> Activity {
        let memory = record.u16(set::MEMORY_KIND);
        let name = self.text([kind::SET, memory.into(), 0, 0], || words::set(memory));
        Activity { name, call: record.u32(copy::CORRELATION), ..self.moved(DeviceWork::Set, record) }
    }

    /// What copies and sets have in common.
    fn moved(&mut self, work: DeviceWork, record: Record<'_>) -> Activity {
        let (device, context) = (narrow(record.u32(copy::DEVICE)), record.u32(copy::CONTEXT));
        self.devices.insert(context, device);
        Activity {
            work,
            name: Name::EMPTY,
            device,
            stream: narrow(record.u32(copy::STREAM)),
            start: record.u64(copy::START),
            end: record.u64(copy::END),
            bytes: record.u64(copy::BYTES),
            call: 0,
            extra: self.text([0, context, 0, 0], || format!("\"context\":{context}")),
        }
    }

    fn wait(&mut self, record: Record<'_>) -> Activity {
        let [what, context, stream, event] =
            [wait::TYPE, wait::CONTEXT, wait::STREAM, wait::EVENT].map(|at| record.u32(at));
        let name = words::wait(what);
        let extra = || {
            let mut json = format!("\"context\":{context},\"cuda_sync_kind\":\"{name}\"");
            if event != NONE {
                let _ = write!(json, ",\"wait_on_cuda_event_id\":{event}");
            }
            json
        };
        Activity {
            work: DeviceWork::Sync,
            name: self.text([kind::WAIT, what, 0, 0], || name.to_owned()),
            device: self.devices.get(&context).copied().unwrap_or(0),
            stream: if stream == layout::NONE { 0 } else { narrow(stream) },
            start: record.u64(wait::START),
            end: record.u64(wait::END),
            bytes: 0,
            call: record.u32(wait::CORRELATION),
            extra: Name::new(&extra()),
        }
    }

    fn text(&mut self, key: [u32; 4], make: impl FnOnce() -> String) -> Name {
        *self.texts.entry(key).or_insert_with(|| Name::new(&make()))
    }
}

/// The members that torch has in a kernel's arguments, but for those that every device's work has.
fn kernel_json(args: &KernelArgs, processor: &Processor) -> String {
    let KernelArgs { context, launch, graph, graph_node, .. } = args;
    let mut json = format!(
        "\"queued\":0,\"context\":{context},\"registers per thread\":{},\"shared memory\":{}",
        launch.registers, launch.shared_memory,
    );
    if let Some(blocks) = processor.blocks_per_multiprocessor(launch) {
        let _ = write!(json, ",\"blocks per SM\":{blocks:.6}");
    }
    if let Some(warps) = processor.warps_per_multiprocessor(launch) {
        let _ = write!(json, ",\"warps per SM\":{warps:.6}");
    }
    let [[x, y, z], [width, height, depth]] = [launch.grid, launch.block];
    let _ = write!(json, ",\"grid\":[{x},{y},{z}],\"block\":[{width},{height},{depth}]");
    if let Some(percent) = processor.occupancy_percent(launch) {
        let _ = write!(json, ",\"est. achieved occupancy %\":{percent}");
    }
    if *graph != 0 || *graph_node != 0 {
        let _ = write!(json, ",\"graph id\":{graph},\"graph node id\":{graph_node}");
    }
    json
}

/// A number of a device or a stream. There are not so many that it would not fit.
fn narrow(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
