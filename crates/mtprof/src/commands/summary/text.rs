//! A summary, for people.

use super::OfFile;
use crate::commands::names::short;
use crate::console::Paint;
use mindtorch_analysis::{
    DeviceTime, Gap, HostTime, MemoryPart, MemoryPeak, Ranked, Recorded, StackTime, StepTimes, Summary, Thread,
};
use mindtorch_profiler::{format_memory, format_time};
use std::fmt::{self, Write as _};

/// How many frames of a stack are shown.
const FRAMES: usize = 4;
/// How many parts of the host's time in a gap are shown.
const PARTS: usize = 3;

/// One file after the other; of several, a line each behind them.
pub(super) fn of_files(files: &[OfFile], paint: Paint) -> String {
    let mut text = Text { out: String::new(), paint };
    for (number, of_file) in files.iter().enumerate() {
        if number > 0 {
            text.out.push('\n');
        }
        text.file(of_file);
    }
    if files.len() > 1 {
        text.comparison(files);
    }
    text.out
}

struct Text {
    out: String,
    paint: Paint,
}

impl Text {
    fn line(&mut self, line: fmt::Arguments<'_>) {
        // A String takes everything.
        let _ = writeln!(self.out, "{line}");
    }

    fn section(&mut self, heading: &str) {
        let heading = self.paint.heading(heading);
        self.line(format_args!("\n{heading}"));
    }

    fn file(&mut self, of_file: &OfFile) {
        let summary = &of_file.summary;
        self.recorded(&of_file.file, &summary.recorded);
        if let Some(steps) = &summary.steps {
            self.steps(steps);
        }
        if let Some(table) = &of_file.table {
            self.line(format_args!("\n{}", table.trim_end()));
        }
        self.ranked("Operators by self CPU time", &summary.operators_by_host_time);
        self.ranked("Operators by self device time", &summary.operators_by_device_time);
        self.ranked("Device work by time", &summary.kernels);
        self.stacks(&summary.stacks);
        self.memory(&summary.memory);
        self.idle(summary);
    }

    fn recorded(&mut self, file: &str, recorded: &Recorded) {
        let title = format!("{file}: {} of process {}", time(recorded.duration_ns), recorded.pid);
        let title = self.paint.heading(&title);
        self.line(format_args!("{title}"));
        let Recorded { spans, threads, device_events, memory_events, counter_values, .. } = recorded;
        let mut parts = vec![format!("{} on {}", counted(*spans, "span"), counted(threads.len(), "thread"))];
        if *device_events > 0 {
            let numbers: Vec<String> = recorded.devices.iter().map(ToString::to_string).collect();
            parts.push(format!(
                "{} on {} {}",
                counted(*device_events, "device event"),
                recorded.accelerator,
                numbers.join(", ")
            ));
        }
        if *memory_events > 0 {
            parts.push(counted(*memory_events, "memory event"));
        }
        if *counter_values > 0 {
            parts.push(counted(*counter_values, "counter value"));
        }
        if !recorded.with.is_empty() {
            parts.push(format!("with {}", recorded.with.join(", ")));
        }
        self.line(format_args!("{}", parts.join("; ")));
        if recorded.lost_events > 0 {
            self.line(format_args!("{} events were lost", recorded.lost_events));
        }
        if let Some(why) = &recorded.ended_early {
            self.line(format_args!("the recording ended early: {why}"));
        }
        if recorded.skipped_events > 0 {
            self.line(format_args!("{} events of the file have no place in a trace", recorded.skipped_events));
        }
    }

    fn steps(&mut self, steps: &StepTimes) {
        self.section("Steps");
        let StepTimes { count, least_ns, most_ns, .. } = steps;
        let [lower, median, upper] =
            [steps.lower_quartile_ns, steps.median_ns, steps.upper_quartile_ns].map(|ns| format_time(ns / 1e3));
        let (least, most) = (time(*least_ns), time(*most_ns));
        self.line(format_args!(
            "{}: median {median}, quartiles {lower} and {upper}, from {least} to {most}",
            counted(*count, "step")
        ));
        for step in &steps.outliers {
            self.line(format_args!("outlier: step {} took {}", step.number, time(step.duration_ns())));
        }
    }

    fn ranked(&mut self, heading: &str, ranked: &[Ranked]) {
        if ranked.is_empty() {
            return;
        }
        self.section(heading);
        for Ranked { name, count, self_ns, share } in ranked {
            self.line(format_args!("{} {:>12} {count:>8}x  {}", percent(*share), time(*self_ns), short(name)));
        }
    }

    fn stacks(&mut self, stacks: &[StackTime]) {
        if stacks.is_empty() {
            return;
        }
        self.section("Stacks by self CPU time of their operators");
        for StackTime { frames, count, self_ns, share } in stacks {
            let mut shown = frames.iter().take(FRAMES);
            let first = shown.next().map_or("", String::as_str);
            self.line(format_args!("{} {:>12} {count:>8}x  {first}", percent(*share), time(*self_ns)));
            for frame in shown {
                self.line(format_args!("{:34}{frame}", ""));
            }
            if frames.len() > FRAMES {
                self.line(format_args!("{:34}and {} more", "", frames.len() - FRAMES));
            }
        }
    }

    fn memory(&mut self, peaks: &[MemoryPeak]) {
        if peaks.is_empty() {
            return;
        }
        self.section("Memory peaks");
        for peak in peaks {
            let at = time(peak.at_ns);
            self.line(format_args!("{}: {} at {at}", peak.device, size(peak.bytes)));
            let parts = |parts: &[MemoryPart]| {
                let part = |part: &MemoryPart| {
                    let name = part.name.as_deref().unwrap_or("outside of all spans");
                    format!("{} {name}", size(part.bytes))
                };
                parts.iter().map(part).collect::<Vec<_>>().join(", ")
            };
            if !peak.categories.is_empty() {
                self.line(format_args!("  for: {}", parts(&peak.categories)));
            }
            if !peak.allocated_by.is_empty() {
                self.line(format_args!("  allocated by: {}", parts(&peak.allocated_by)));
            }
            if peak.from_before_bytes > 0 {
                self.line(format_args!("  from before the recording: {}", size(peak.from_before_bytes)));
            }
        }
    }

    fn idle(&mut self, summary: &Summary) {
        if summary.devices.is_empty() && summary.main_thread.is_none() {
            return;
        }
        self.section("Busy and idle");
        for device in &summary.devices {
            self.device(&summary.recorded.accelerator, device);
        }
        if let Some(HostTime { thread, duration_ns, in_operators_ns, in_runtime_ns, elsewhere_ns }) =
            &summary.main_thread
        {
            let of = |ns: &u64| format!("{} ({})", time(*ns), percent(share(*ns, *duration_ns)).trim_start());
            self.line(format_args!(
                "{}: {} in operators, {} in calls of the device's runtime outside of them, {} in neither; {} in all",
                thread_name(thread),
                of(in_operators_ns),
                of(in_runtime_ns),
                of(elsewhere_ns),
                time(*duration_ns)
            ));
        }
    }

    fn device(&mut self, accelerator: &str, device: &DeviceTime) {
        let span = device.end_ns - device.start_ns;
        let of = |ns: u64| format!("{} ({})", time(ns), percent(share(ns, span)).trim_start());
        self.line(format_args!(
            "{accelerator} {}: busy for {}, computing for {}, idle for {}; {} from its first work to its last",
            device.device,
            of(device.busy_ns),
            of(device.compute_ns),
            of(device.idle_ns),
            time(span)
        ));
        for gap in &device.gaps {
            self.gap(gap);
        }
    }

    fn gap(&mut self, gap: &Gap) {
        let parts: Vec<String> = gap
            .host
            .iter()
            .take(PARTS)
            .map(|part| format!("{} in {}", time(part.self_ns), short(part.name.as_deref().unwrap_or("no span"))))
            .collect();
        let (length, at) = (time(gap.end_ns - gap.start_ns), time(gap.start_ns));
        let thread = gap.thread.as_ref().map(|thread| format!("; {}: ", thread_name(thread))).unwrap_or_default();
        self.line(format_args!(
            "  idle for {length} at {at}, until {}{thread}{}",
            short(&gap.ended_by),
            parts.join(", ")
        ));
    }

    fn comparison(&mut self, files: &[OfFile]) {
        self.section("All files");
        let columns = ["Duration", "Spans", "Steps", "Median step", "Device busy", "Memory peak"];
        self.line(format_args!("{}  File", columns.map(|column| format!("{column:>12}")).join("")));
        for OfFile { file, summary, .. } in files {
            let steps = summary.steps.as_ref();
            let busy: u64 = summary.devices.iter().map(|device| device.busy_ns).sum();
            let peak = summary.memory.iter().map(|peak| peak.bytes).max();
            let values = [
                time(summary.recorded.duration_ns),
                summary.recorded.spans.to_string(),
                steps.map_or(0, |steps| steps.count).to_string(),
                steps.map_or_else(none, |steps| format_time(steps.median_ns / 1e3)),
                if summary.devices.is_empty() { none() } else { time(busy) },
                peak.map_or_else(none, size),
            ];
            self.line(format_args!("{}  {file}", values.map(|value| format!("{value:>12}")).join("")));
        }
    }
}

/// `1 span`, `2 spans`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn none() -> String {
    "-".to_owned()
}

/// As torch writes it.
fn time(ns: u64) -> String {
    format_time(ns as f64 / 1e3)
}

fn size(bytes: u64) -> String {
    format_memory(bytes.cast_signed())
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn percent(share: f64) -> String {
    format!("{:>6.2}%", share * 100.0)
}

fn thread_name(thread: &Thread) -> String {
    match &thread.name {
        Some(name) => name.clone(),
        None => format!("thread {}", thread.os_id),
    }
}
