//! Scopes of the program on devices: as wide as the work that was launched in them.

use super::columns::SpanColumns;
use super::rows::{DeviceKind, DeviceRow};
use crate::recorder::SpanKind;
use rustc_hash::FxHashMap;

/// The scopes that work was launched in, each on each stream where it was, in the order of their first work. Work is of the
/// innermost scope around the call that launched it, and the scope a nanosecond wider on both sides, as torch has it: viewers
/// show what is as wide as the other beside it.
pub(super) fn device_annotations(spans: &SpanColumns, device: &[DeviceRow]) -> Vec<DeviceRow> {
    let mut annotations: Vec<DeviceRow> = Vec::new();
    let mut places: FxHashMap<(u32, u16, u32), usize> = FxHashMap::default();
    for work in device.iter().filter(|work| !matches!(work.kind, DeviceKind::Annotation | DeviceKind::Sync)) {
        let Some(scope) = work.launched_by.and_then(|launch| scope_around(spans, launch)) else { continue };
        let (start, end) = (work.start.saturating_sub(1), work.end + 1);
        let at = *places.entry((scope, work.device, work.stream)).or_insert(annotations.len());
        if let Some(annotation) = annotations.get_mut(at) {
            annotation.start = annotation.start.min(start);
            annotation.end = annotation.end.max(end);
            annotation.is_cut |= work.is_cut;
        } else {
            let (kind, name) = (DeviceKind::Annotation, spans.name[scope as usize]);
            let launched_by = Some(scope);
            annotations.push(DeviceRow { kind, name, start, end, bytes: 0, launched_by, extra: 0, ..*work });
        }
    }
    annotations
}

fn scope_around(spans: &SpanColumns, row: u32) -> Option<u32> {
    let around = std::iter::successors(Some(row), |&row| spans.parent.get(row as usize).copied());
    around.take_while(|&row| (row as usize) < spans.len()).find(|&row| spans.kind[row as usize] == SpanKind::Annotation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;
    use std::path::Path;

    /// The scopes that torch's profiler found on a GPU are those that are made of its work.
    #[test]
    fn scopes_on_devices_are_those_of_torch() {
        for file in ["gpu_plain.json.gz", "gpu_full.json.gz"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/torch").join(file);
            let trace = Trace::load(&path).expect("it is a trace");
            let shown =
                |row: &DeviceRow| (row.stream, row.launched_by, row.start, row.end, trace.name(row.name).to_owned());
            let mut made: Vec<_> = device_annotations(&trace.spans, &trace.device).iter().map(shown).collect();
            let is_scope = |row: &&DeviceRow| row.kind == DeviceKind::Annotation;
            let mut found: Vec<_> = trace.device.iter().filter(is_scope).map(shown).collect();
            made.sort();
            found.sort();
            assert_eq!(made, found);
            assert!(found.len() >= 8);
        }
    }
}
