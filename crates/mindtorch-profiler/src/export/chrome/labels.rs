//! Metadata events: what processes, devices, threads and streams are called, and in which order they are shown.

use super::ChromeWriter;
use rustc_hash::FxHashSet;
use std::io;

/// Devices are shown below all processes.
const FIRST_DEVICE: u32 = 5_000_000;

impl ChromeWriter<'_, '_> {
    pub(super) fn write_labels(&mut self, process: &str) -> io::Result<()> {
        let trace = self.trace;
        let pid = trace.header.pid;
        self.write_process(pid, process, "CPU", pid);
        // The system reuses the numbers of threads that have ended; a viewer shows one row for all of them.
        let mut seen = FxHashSet::default();
        for thread in trace.threads.iter().filter(|thread| seen.insert(thread.os_id)) {
            let name = thread.name.as_deref().unwrap_or(process);
            self.write_thread(pid, thread.os_id, &format!("thread {} ({name})", thread.os_id));
            self.json.checkpoint()?;
        }
        let streams: FxHashSet<(u16, u32)> = trace.device.iter().map(|row| (row.device, row.stream)).collect();
        let mut streams: Vec<(u16, u32)> = streams.into_iter().collect();
        streams.sort_unstable();
        for of_device in streams.chunk_by(|one, other| one.0 == other.0) {
            let device = u32::from(of_device[0].0);
            let label = format!("{} {device}", self.accelerator.label);
            self.write_process(device, process, &label, FIRST_DEVICE + device);
            for &(_, stream) in of_device {
                // With torch's blank at the end.
                self.write_thread(device, u64::from(stream), &format!("stream {stream} "));
            }
            self.json.checkpoint()?;
        }
        Ok(())
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
