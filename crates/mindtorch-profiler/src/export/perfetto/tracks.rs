//! Tracks: what processes, threads, devices, streams and counters are called, and in which order they are shown.

use super::field::{counter, packet, process, thread, track};
use super::proto::Buffer;
use super::sequence::Sequence;
use crate::recorder::Device;
use crate::trace::Trace;
use rustc_hash::FxHashMap;

pub(super) struct Tracks {
    /// The number that was given last. They are small, since events that are not on their sequence's track have them.
    last: u64,
    pub(super) window: u64,
    process: u64,
    /// By row of the thread.
    pub(super) threads: Vec<u64>,
    devices: FxHashMap<u16, u64>,
    memory: FxHashMap<Device, u64>,
    /// By name.
    counters: FxHashMap<u32, u64>,
}

/// What is said of a track beside its number and name.
enum Kind<'a> {
    Process {
        pid: u32,
        name: &'a str,
    },
    Thread {
        pid: u32,
        os_id: u64,
        name: &'a str,
    },
    Bytes,
    Number,
    /// A device, whose streams have ranks.
    Device,
    /// One that is shown in the order of ranks.
    Ranked(u32),
    Plain,
}

impl Tracks {
    pub(super) fn new() -> Self {
        let (threads, devices, memory, counters) = Default::default();
        let (window, process) = (1, 2);
        Self { last: process, window, process, threads, devices, memory, counters }
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The tracks of the window, the process and its threads.
    pub(super) fn write_threads(&mut self, out: &mut Buffer, sequence: &Sequence<'_>, trace: &Trace, name: &str) {
        let pid = trace.header.pid;
        write(out, sequence, self.window, None, "PyTorch Profiler", &Kind::Plain);
        write(out, sequence, self.process, None, "", &Kind::Process { pid, name });
        // The system reuses the numbers of threads that have ended. Those are other tracks, or their spans would be inside
        // each other; recordings of one thread that were joined are on one.
        let mut of_thread: FxHashMap<(u64, u32), u64> = FxHashMap::default();
        let mut first_of_id: FxHashMap<u64, u64> = FxHashMap::default();
        for row in &trace.threads {
            if let Some(&known) = of_thread.get(&(row.os_id, row.number)) {
                self.threads.push(known);
                continue;
            }
            let label = format!("thread {} ({})", row.os_id, row.name.as_deref().unwrap_or(name));
            let number = self.next();
            if let Some(&first) = first_of_id.get(&row.os_id) {
                write(out, sequence, number, Some(first), &label, &Kind::Plain);
            } else {
                let kind = Kind::Thread { pid, os_id: row.os_id, name: &label };
                write(out, sequence, number, Some(self.process), "", &kind);
                first_of_id.insert(row.os_id, number);
            }
            of_thread.insert((row.os_id, row.number), number);
            self.threads.push(number);
        }
    }

    /// The track of a stream, below that of its device.
    pub(super) fn stream(
        &mut self,
        out: &mut Buffer,
        sequence: &Sequence<'_>,
        accelerator: &str,
        (device, stream): (u16, u32),
    ) -> u64 {
        let number = self.next();
        let of_device = match self.devices.get(&device) {
            Some(&known) => known,
            None => {
                let number = self.next();
                write(out, sequence, number, None, &format!("{accelerator} {device}"), &Kind::Device);
                self.devices.insert(device, number);
                number
            }
        };
        write(out, sequence, number, Some(of_device), &format!("stream {stream}"), &Kind::Ranked(stream));
        number
    }

    /// A further track of a thread or a stream.
    pub(super) fn lane(&mut self, out: &mut Buffer, sequence: &Sequence<'_>, of: u64) -> u64 {
        let number = self.next();
        write(out, sequence, number, Some(of), "overlapping", &Kind::Plain);
        number
    }

    /// The track of the bytes in use on a device.
    pub(super) fn memory(
        &mut self,
        out: &mut Buffer,
        sequence: &Sequence<'_>,
        accelerator: &str,
        device: Device,
    ) -> u64 {
        if let Some(&known) = self.memory.get(&device) {
            return known;
        }
        let number = self.next();
        let (parent, name) = match device {
            Device::Cpu => (self.process, "CPU memory".to_owned()),
            Device::Npu(index) => (self.process, format!("{accelerator} {index} memory")),
        };
        write(out, sequence, number, Some(parent), &name, &Kind::Bytes);
        self.memory.insert(device, number);
        number
    }

    /// The track of a counter of the program.
    pub(super) fn counter(&mut self, out: &mut Buffer, sequence: &Sequence<'_>, trace: &Trace, name: u32) -> u64 {
        if let Some(&known) = self.counters.get(&name) {
            return known;
        }
        let number = self.next();
        write(out, sequence, number, Some(self.process), trace.name(name), &Kind::Number);
        self.counters.insert(name, number);
        number
    }
}

/// Writes what a track is, in a packet.
fn write(out: &mut Buffer, sequence: &Sequence<'_>, uuid: u64, parent: Option<u64>, name: &str, kind: &Kind<'_>) {
    let of_packet = sequence.begin_packet(out);
    let described = out.begin(packet::TRACK_DESCRIPTOR);
    out.number(track::UUID, uuid);
    if let Some(parent) = parent {
        out.number(track::PARENT_UUID, parent);
    }
    if !name.is_empty() {
        out.text(track::NAME, name);
    }
    match *kind {
        Kind::Process { pid, name } => {
            let of_process = out.begin(track::PROCESS);
            out.number(process::PID, u64::from(pid));
            out.text(process::PROCESS_NAME, name);
            out.text(process::PROCESS_LABELS, "CPU");
            out.end(of_process);
        }
        Kind::Thread { pid, os_id, name } => {
            let of_thread = out.begin(track::THREAD);
            out.number(thread::PID, u64::from(pid));
            out.number(thread::TID, os_id);
            out.text(thread::THREAD_NAME, name);
            if let Ok(index) = i32::try_from(os_id) {
                out.signed(thread::LEGACY_SORT_INDEX, i64::from(index));
            }
            out.end(of_thread);
        }
        Kind::Bytes => {
            let of_counter = out.begin(track::COUNTER);
            out.number(counter::UNIT, counter::BYTES);
            out.end(of_counter);
        }
        Kind::Number => {
            let of_counter = out.begin(track::COUNTER);
            out.end(of_counter);
        }
        Kind::Device => out.number(track::CHILD_ORDERING, track::EXPLICIT),
        Kind::Ranked(rank) => out.number(track::SIBLING_ORDER_RANK, u64::from(rank) & 0x7fff_ffff),
        Kind::Plain => {}
    }
    out.end(described);
    out.end(of_packet);
}
