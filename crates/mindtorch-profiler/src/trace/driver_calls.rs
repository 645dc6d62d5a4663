//! Calls of a device's driver, which torch tells from those of its runtime.

use super::columns::SpanColumns;
use super::names::TraceNames;
use crate::recorder::SpanKind;

/// Gives the calls of CUDA's driver their category.
pub(super) fn tell_driver_calls(spans: &mut SpanColumns, names: &mut TraceNames) {
    let is_driver: Vec<bool> = names.texts().iter().map(|name| is_of_driver(name)).collect();
    if !is_driver.contains(&true) {
        return;
    }
    let is_call = |row: usize| spans.kind[row] == SpanKind::Runtime && is_driver[spans.name[row] as usize];
    let calls: Vec<usize> = (0..spans.kind.len()).filter(|&row| is_call(row)).collect();
    if calls.is_empty() {
        return;
    }
    let category = names.add_text("cuda_driver".into());
    for row in calls {
        spans.category.set(row, category + 1);
    }
}

/// `cuLaunchKernel` is, and `cudaLaunchKernel` is not.
fn is_of_driver(name: &str) -> bool {
    name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use crate::{ManualClock, Name, Recorder, Session, SpanArgs, SpanKind};

    #[test]
    fn calls_of_the_driver_are_told_from_those_of_the_runtime() {
        let recorder = Recorder::with_manual_clock(&ManualClock::starting_at(1));
        let mut thread = recorder.thread(1, None);
        let session = Session::builder().on(&recorder).start();
        for (kind, name) in [
            (SpanKind::Runtime, "cudaLaunchKernel"),
            (SpanKind::Runtime, "cuLaunchKernel"),
            (SpanKind::Annotation, "cuLaunchKernel"),
            (SpanKind::Runtime, "cu"),
        ] {
            let span = thread.begin(&SpanArgs::new(kind, Name::new(name))).unwrap();
            thread.end(span);
        }
        let trace = session.stop();
        let categories: Vec<_> = trace.spans().map(|span| span.category()).collect();
        assert_eq!(categories, [None, Some("cuda_driver"), None, None]);
        let mut json = Vec::new();
        trace.chrome_trace().write(&mut json).unwrap();
        let json = String::from_utf8(json).unwrap();
        assert_eq!(json.matches("\"cat\":\"cuda_driver\",\"name\":\"cuLaunchKernel\"").count(), 1);
        assert_eq!(json.matches("\"cat\":\"cuda_runtime\"").count(), 2);
    }
}
