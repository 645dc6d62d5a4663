//! Perfetto's own format beside the Chrome trace.

use crate::pipeline::time;
use mindtorch_benches::{Case, Table};
use mindtorch_profiler::{Inputs, Name, Session, Span, SpanArgs, SpanKind, Trace};
use std::io::sink;

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

/// In time and size: plain spans that nest to depth 8, and operators with shapes.
pub(crate) fn packets(events: usize, rounds: usize) -> [Table; 2] {
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
    let plain = compare("plain spans", &session.stop(), events, rounds);
    let session = Session::builder().record_shapes(true).start();
    let sizes = |size: i64| Inputs::encode().tensor("float", &[64, size], &[size, 1]).value("Scalar", "1").finish();
    let inputs: Vec<Inputs> = (0..200).map(sizes).collect();
    for event in 0..events {
        let args = SpanArgs::new(SpanKind::Op, Name::new(&names[event % names.len()]));
        let _span = Span::begin(&args.inputs(inputs[event % inputs.len()]));
    }
    [plain, compare("operators with shapes", &session.stop(), events, rounds)]
}

fn compare(what: &str, trace: &Trace, events: usize, rounds: usize) -> Table {
    let mut cases = [
        Case::new("Chrome JSON", || {
            (time(|| trace.write_chrome_trace(sink(), "bench").expect("a sink takes everything")), events)
        }),
        Case::new("Perfetto packets", || {
            (time(|| trace.perfetto_trace().write(sink()).expect("a sink takes everything")), events)
        }),
    ];
    let table = Table::measure(&format!("Exporting {events} {what}"), rounds, &mut cases);
    table.print();
    let (mut json, mut packets) = (Count::default(), Count::default());
    trace.write_chrome_trace(&mut json, "bench").expect("counting takes everything");
    trace.perfetto_trace().write(&mut packets).expect("counting takes everything");
    let an_event = |count: &Count| count.0 as f64 / events as f64;
    let ratio = json.0 as f64 / packets.0 as f64;
    println!("  bytes an event: {:.1} and {:.1}, a {ratio:.1}th", an_event(&json), an_event(&packets));
    table
}
