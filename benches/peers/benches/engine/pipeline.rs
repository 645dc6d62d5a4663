//! What happens to a recording, by the number of its events: stopping, building, averaging and writing.

use mindtorch_profiler::{Inputs, Name, Session, Span, SpanArgs, SpanKind};
use std::hint::black_box;
use std::io::sink;
use std::path::Path;
use std::time::{Duration, Instant};

/// Measures each part some rounds: a thousand names, nesting to depth 8.
pub(crate) fn pipeline(events: usize, rounds: usize) {
    let names: Vec<String> = (0..1000).map(|i| format!("operator::number_{i}")).collect();
    let record = || {
        let session = Session::start();
        let mut depth = Vec::new();
        for event in 0..events {
            depth.truncate(event % 8);
            depth.push(Span::enter(&names[event % names.len()]));
        }
        drop(depth);
        session
    };
    let directory = tempfile::tempdir().expect("there is a place for files");
    let [plain, compressed] = ["trace.json", "trace.json.gz"].map(|name| directory.path().join(name));
    let mut totals = Totals::default();
    for round in 0..=rounds {
        let session = record();
        let started = Instant::now();
        let recording = session.finish();
        let stop = started.elapsed();
        let recorded_bytes = recording.memory_held();
        let started = Instant::now();
        let trace = recording.into_trace();
        let build = started.elapsed();
        let averages = time(|| black_box(trace.key_averages().rows().len()));
        let table = time(|| black_box(trace.key_averages().to_string().len()));
        // The first time also works out what later exports share; the traces are new ones, so this is the first.
        let chrome = time(|| trace.write_chrome_trace(sink(), "bench").expect("a sink takes everything"));
        let [plain, compressed] = [&plain, &compressed]
            .map(|path| time(|| trace.export_chrome_trace(path).expect("the directory takes files")));
        if round > 0 {
            totals.add([stop, build, averages, table, chrome, plain, compressed]);
        }
        totals.bytes = (recorded_bytes, trace.memory_held());
        totals.estimated_bytes = trace.chrome_trace().estimated_bytes();
    }
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    totals.file_bytes = (size(&plain), size(&compressed));
    totals.print(events);
}

/// The memory of operators with shapes, a sequence number and flops.
pub(crate) fn detailed(events: usize) {
    let session = Session::builder().record_shapes(true).with_flops(true).start();
    let inputs = Inputs::encode().tensor("float", &[64, 64], &[64, 1]).tensor("float", &[64, 64], &[64, 1]).finish();
    let args = SpanArgs::new(SpanKind::Op, Name::new("aten::mm")).inputs(inputs).flops(524_288);
    for sequence in 0..events as u64 {
        let _span = Span::begin(&args.sequence(sequence));
    }
    let recording = session.finish();
    let recorded = recording.memory_held();
    let trace = recording.into_trace();
    println!("\n{events} operators with shapes, sequence number and flops");
    println!("  recorded, held        {:>8.2} bytes an event", recorded as f64 / events as f64);
    println!("  as a trace, held      {:>8.2} bytes an event", trace.memory_held() as f64 / events as f64);
}

/// How long something takes.
pub(crate) fn time<T>(run: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    black_box(run());
    started.elapsed()
}

#[derive(Default)]
struct Totals {
    samples: [Vec<Duration>; 7],
    bytes: (usize, usize),
    /// Plain and compressed.
    file_bytes: (u64, u64),
    estimated_bytes: u64,
}

impl Totals {
    fn add(&mut self, durations: [Duration; 7]) {
        for (samples, duration) in self.samples.iter_mut().zip(durations) {
            samples.push(duration);
        }
    }

    fn print(&mut self, events: usize) {
        println!("\n{events} events");
        let labels = [
            "stop",
            "build the trace",
            "averages",
            "averages and table",
            "Chrome JSON, to a sink",
            "Chrome JSON, to a file",
            "Chrome JSON, to a .gz",
        ];
        for (label, samples) in labels.iter().zip(&mut self.samples) {
            samples.sort();
            let (low, median, high) = (samples[0], samples[samples.len() / 2], samples[samples.len() - 1]);
            let an_event = |time: Duration| time.as_nanos() as f64 / events as f64;
            println!(
                "  {label:22}  {:>8.2} ns an event  ({:.1} to {:.1})   {:.1} us in all",
                an_event(median),
                an_event(low),
                an_event(high),
                median.as_nanos() as f64 / 1e3
            );
        }
        let median = |at: usize| self.samples[at][self.samples[at].len() / 2].as_nanos() as f64;
        let (text, compressed) = (self.file_bytes.0 as f64, self.file_bytes.1 as f64);
        println!(
            "  Chrome JSON             {:>8.2} GB/s to a sink, {:.2} to a file; a .gz takes {:.2} times as long",
            text / median(4),
            text / median(5),
            median(6) / median(5)
        );
        println!(
            "  Chrome JSON             {:>8.1} MB, estimated {:.1}; as a .gz {:.1}",
            text / 1e6,
            self.estimated_bytes as f64 / 1e6,
            compressed / 1e6
        );
        println!("  recorded, held          {:>8.2} bytes an event", self.bytes.0 as f64 / events as f64);
        println!("  as a trace, held        {:>8.2} bytes an event", self.bytes.1 as f64 / events as f64);
    }
}
