//! What the engine costs: a span beside its peers, on and off; threads; and, by the number of events, stopping, building,
//! averaging and writing.
//!
//! `make bench`, or `cargo bench -p mindtorch-benches`. With `-- --quick`, fewer rounds and no 10-million case.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(unsafe_code, reason = "the clocks that are compared with are an intrinsic and a system call")]

use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
use mindtorch_benches::{Case, measure, print_table};
use mindtorch_profiler::tracing_layer::ProfilerLayer;
use mindtorch_profiler::{Inputs, Name, Session, Span, SpanArgs, SpanKind, record_function};
use std::hint::black_box;
use std::io::sink;
use std::path::Path;
use std::time::{Duration, Instant};
use tracing::dispatcher::with_default;
use tracing_subscriber::prelude::*;

/// Spans a batch: what fastrace takes under one root without dropping any.
const BATCH: usize = 4_000;

fn main() {
    let is_quick = std::env::args().any(|arg| arg == "--quick");
    let rounds = if is_quick { 20 } else { 200 };
    describe_machine();
    spans(rounds);
    disabled(rounds);
    threads(rounds / 4);
    let sizes: &[usize] = if is_quick { &[100_000, 1_000_000] } else { &[1_000_000, 10_000_000] };
    for &events in sizes {
        pipeline(events, if is_quick { 3 } else { 7 });
    }
    detailed(1_000_000);
    packets(1_000_000, if is_quick { 3 } else { 7 });
}

fn describe_machine() {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("{} x{}", model.trim_start_matches(['\t', ' ', ':']), cores);
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn read_clock() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 processor and has no effect on memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn read_clock() -> Instant {
    Instant::now()
}

struct NoReport;

impl Reporter for NoReport {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        black_box(spans.len());
    }
}

/// A span while recording, beside two reads of the clock and the peers.
fn spans(rounds: usize) {
    fastrace::set_reporter(NoReport, Config::default());
    let chrome = || {
        let (layer, guard) = tracing_chrome::ChromeLayerBuilder::new().writer(sink()).build();
        (tracing_subscriber::registry().with(layer), guard)
    };
    let (chrome_subscriber, _guard) = chrome();
    let chrome_subscriber = tracing::Dispatch::new(chrome_subscriber);
    let our_subscriber = tracing::Dispatch::new(tracing_subscriber::registry().with(ProfilerLayer::new()));
    let traced = |dispatch: &tracing::Dispatch| {
        with_default(dispatch, || {
            let start = Instant::now();
            for _ in 0..BATCH {
                let _span = tracing::info_span!("work").entered();
            }
            (start.elapsed(), BATCH)
        })
    };

    let mut cases = [
        Case::repeated(
            "two raw clock reads",
            BATCH,
            || (),
            || {
                black_box(read_clock());
                black_box(read_clock());
            },
            drop,
        ),
        Case::repeated(
            "mindtorch-profiler",
            BATCH,
            Session::start,
            || {
                let _span = record_function!("work");
            },
            drop,
        ),
        Case::new("fastrace", || {
            let root = fastrace::Span::root("root", SpanContext::random());
            let _parent = root.set_local_parent();
            let start = Instant::now();
            for _ in 0..BATCH {
                let _span = fastrace::local::LocalSpan::enter_with_local_parent("work");
            }
            (start.elapsed(), BATCH)
        }),
        Case::repeated(
            "puffin",
            BATCH,
            || puffin::set_scopes_on(true),
            || {
                puffin::profile_scope!("work");
            },
            |()| {
                puffin::GlobalProfiler::lock().new_frame();
                puffin::set_scopes_on(false);
            },
        ),
        Case::new("tracing, our layer", || {
            let _session = Session::start();
            traced(&our_subscriber)
        }),
        Case::new("tracing-chrome", || traced(&chrome_subscriber)),
    ];
    let figures = measure(rounds, &mut cases);
    print_table("A span while recording", "ns", &cases, &figures);
}

/// A span that nobody records. The empty loop is what the measuring itself costs.
fn disabled(rounds: usize) {
    let count = 100_000;
    let mut cases = [
        Case::repeated("an empty loop", count, || (), || black_box(()), drop),
        Case::repeated(
            "mindtorch-profiler",
            count,
            || (),
            || {
                let _span = record_function!("work");
                black_box(());
            },
            drop,
        ),
        Case::repeated(
            "puffin",
            count,
            || (),
            || {
                puffin::profile_scope!("work");
                black_box(());
            },
            drop,
        ),
        Case::repeated(
            "fastrace",
            count,
            || (),
            || {
                let _span = fastrace::local::LocalSpan::enter_with_local_parent("work");
                black_box(());
            },
            drop,
        ),
    ];
    let figures = measure(rounds, &mut cases);
    print_table("A span with no session", "ns", &cases, &figures);
}

/// Threads recording at once: the processor time that each spends on an event, so that waiting for a core is not counted.
/// Threads that share a core's resources slow each other down without sharing anything else; the clock shows by how much.
fn threads(rounds: usize) {
    let run = |threads: usize, event: fn()| {
        // The same in all, so that the recording is of one size.
        let per_thread = 400_000 / threads;
        let session = Session::start();
        let took = std::thread::scope(|scope| {
            let work = || {
                let started = thread_time();
                for _ in 0..per_thread {
                    event();
                }
                thread_time() - started
            };
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().map(|worker| worker.join().expect("the work does not panic")).sum()
        });
        drop(session);
        (took, threads * per_thread)
    };
    let span = || drop(record_function!("work"));
    let clock = || {
        black_box(read_clock());
        black_box(read_clock());
    };
    let mut cases = [
        Case::new("1 thread", || run(1, span)),
        Case::new("2 threads", || run(2, span)),
        Case::new("4 threads", || run(4, span)),
        Case::new("two raw clock reads, 1 thread", || run(1, clock)),
        Case::new("two raw clock reads, 2 threads", || run(2, clock)),
        Case::new("two raw clock reads, 4 threads", || run(4, clock)),
    ];
    let figures = measure(rounds, &mut cases);
    print_table("Threads recording at once, processor time a span", "ns", &cases, &figures);
}

/// The processor time that this thread has used.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local of the right type, and the clock exists on every system that this runs on.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// What happens to a recording: a thousand names, nesting to depth 8.
fn pipeline(events: usize, rounds: usize) {
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
fn detailed(events: usize) {
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

fn time<T>(run: impl FnOnce() -> T) -> Duration {
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

/// Counts what is written.
#[derive(Default)]
struct Count(u64);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Perfetto's own format beside the Chrome trace, in time and size: plain spans that nest to depth 8, and operators with
/// shapes.
fn packets(events: usize, rounds: usize) {
    let names: Vec<String> = (0..1000).map(|i| format!("operator::number_{i}")).collect();
    let session = Session::start();
    let mut depth = Vec::new();
    for event in 0..events {
        // One by one, since a vector would end the outermost first.
        while depth.len() > event % 8 {
            depth.pop();
        }
        depth.push(Span::enter(&names[event % names.len()]));
    }
    while depth.pop().is_some() {}
    compare_exports("plain spans", &session.stop(), events, rounds);
    let session = Session::builder().record_shapes(true).start();
    let sizes = |size: i64| Inputs::encode().tensor("float", &[64, size], &[size, 1]).value("Scalar", "1").finish();
    let inputs: Vec<Inputs> = (0..200).map(sizes).collect();
    for event in 0..events {
        let args = SpanArgs::new(SpanKind::Op, Name::new(&names[event % names.len()]));
        let _span = Span::begin(&args.inputs(inputs[event % inputs.len()]));
    }
    compare_exports("operators with shapes", &session.stop(), events, rounds);
}

fn compare_exports(what: &str, trace: &mindtorch_profiler::Trace, events: usize, rounds: usize) {
    let mut cases = [
        Case::new("Chrome JSON", || {
            (time(|| trace.write_chrome_trace(sink(), "bench").expect("a sink takes everything")), events)
        }),
        Case::new("Perfetto packets", || {
            (time(|| trace.perfetto_trace().write(sink()).expect("a sink takes everything")), events)
        }),
    ];
    let figures = measure(rounds, &mut cases);
    print_table(&format!("Exporting {events} {what}"), "ns", &cases, &figures);
    let (mut json, mut packets) = (Count::default(), Count::default());
    trace.write_chrome_trace(&mut json, "bench").expect("counting takes everything");
    trace.perfetto_trace().write(&mut packets).expect("counting takes everything");
    let an_event = |count: &Count| count.0 as f64 / events as f64;
    let ratio = json.0 as f64 / packets.0 as f64;
    println!("  bytes an event: {:.1} and {:.1}, a {ratio:.1}th", an_event(&json), an_event(&packets));
}
