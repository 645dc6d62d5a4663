//! Metadata events: what processes, devices, threads and streams are called, and in which order they are shown.

use super::ChromeWriter;
use super::numbers::{process_of_device, process_of_rank};
use rustc_hash::FxHashSet;
use std::io;

/// Devices are shown below all processes.
const FIRST_DEVICE: u32 = 5_000_000;

/// A process of the file with its threads and devices.
pub(super) struct Group<'a> {
    /// What the process is called.
    pub(super) name: &'a str,
    /// The rank that it is; none if the file is of one process.
    pub(super) rank: Option<u32>,
}

impl ChromeWriter<'_, '_> {
    /// All labels of a file with this trace alone.
    pub(super) fn write_labels(&mut self, process: &str) -> io::Result<()> {
        let ranks = self.trace.ranks();
        if ranks.is_empty() {
            return self.write_group(&Group { name: process, rank: None });
        }
        ranks.iter().try_for_each(|row| self.write_group(&Group { name: &row.name, rank: Some(row.rank) }))
    }

    pub(super) fn write_group(&mut self, group: &Group<'_>) -> io::Result<()> {
        let trace = self.trace;
        let pid = group.rank.map_or(trace.header.pid, process_of_rank);
        self.write_process(pid, group.name, "CPU", pid);
        if let Some(rank) = group.rank {
            self.write_rank(pid, rank, None);
        }
        // The system reuses the numbers of threads that have ended; a viewer shows one row for all of them.
        let mut seen = FxHashSet::default();
        for (row, thread) in trace.threads.iter().enumerate() {
            if self.numbers.process(row) != pid || !seen.insert(thread.os_id) {
                continue;
            }
            let own = thread.name.as_deref();
            let label = match own.or_else(|| group.rank.is_none().then_some(group.name)) {
                Some(name) => format!("thread {} ({name})", thread.os_id),
                None => format!("thread {}", thread.os_id),
            };
            self.write_thread(pid, thread.os_id, &label);
            self.json.checkpoint()?;
        }
        self.write_devices(group)
    }

    fn write_devices(&mut self, group: &Group<'_>) -> io::Result<()> {
        let trace = self.trace;
        let streams: FxHashSet<(u16, u32)> = trace.device.iter().map(|row| (row.device, row.stream)).collect();
        let mut streams: Vec<(u16, u32)> = streams.into_iter().collect();
        streams.sort_unstable();
        for of_device in streams.chunk_by(|one, other| one.0 == other.0) {
            let (pid, device) = self.numbers.device(trace, of_device[0].0);
            let label = format!("{} {device}", self.accelerator.label);
            match group.rank {
                None => self.write_process(pid, group.name, &label, FIRST_DEVICE + pid),
                Some(rank) if process_of_device(rank, device) == pid => {
                    self.write_process(pid, &format!("rank {rank} {label}"), &label, pid);
                    self.write_rank(pid, rank, Some(device));
                }
                Some(_) => continue,
            }
            for &(_, stream) in of_device {
                // With torch's blank at the end.
                self.write_thread(pid, u64::from(stream), &format!("stream {stream} "));
            }
            self.json.checkpoint()?;
        }
        Ok(())
    }

    /// For those who read the file: which rank a process is, and which device of it.
    fn write_rank(&mut self, pid: u32, rank: u32, device: Option<u16>) {
        self.begin_label("process_rank", pid, 0, "rank");
        self.json.number(rank.into());
        if let Some(device) = device {
            self.json.raw(",\"device\":");
            self.json.number(device.into());
        }
        self.json.raw("}},\n");
    }

    fn write_process(&mut self, pid: u32, name: &str, label: &str, sort_index: u32) {
        self.write_label("process_name", pid, 0, ("name", name));
        self.write_label("process_labels", pid, 0, ("labels", label));
        self.write_sort_index("process_sort_index", pid, 0, u64::from(sort_index));
    }

    fn write_thread(&mut self, pid: u32, tid: u64, name: &str) {
        self.write_label("thread_name", pid, tid, ("name", name));
        self.write_sort_index("thread_sort_index", pid, tid, tid);
    }

    fn write_label(&mut self, what: &str, pid: u32, tid: u64, (key, text): (&str, &str)) {
        self.begin_label(what, pid, tid, key);
        self.json.text(text);
        self.json.raw("}},\n");
    }

    fn write_sort_index(&mut self, what: &str, pid: u32, tid: u64, index: u64) {
        self.begin_label(what, pid, tid, "sort_index");
        self.json.number(index);
        self.json.raw("}},\n");
    }

    fn begin_label(&mut self, what: &str, pid: u32, tid: u64, key: &str) {
        self.json.raw("{\"ph\":\"M\",\"name\":");
        self.json.text(what);
        self.time(0);
        self.place(pid, tid);
        self.json.raw(",\"args\":{");
        self.json.text(key);
        self.json.raw(":");
    }
}

/// The file name of this program.
pub(in crate::export) fn program_name() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    Some(program.file_name()?.to_string_lossy().into_owned())
}

/// The name of this machine.
#[expect(unsafe_code, reason = "the standard library does not know the host's name")]
pub(in crate::export) fn host_name() -> String {
    // One byte more than is offered, so that a name that fills the buffer still ends in a zero.
    let mut name = [0u8; 257];
    // SAFETY: the buffer is valid for writes of the length that is given, and nothing else is touched.
    let failed = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } != 0;
    let length = name.iter().position(|&byte| byte == 0).unwrap_or(0);
    if failed || length == 0 {
        return "localhost".to_owned();
    }
    String::from_utf8_lossy(&name[..length]).into_owned()
}
