//! Which span launched which device work.

use super::build::{SpansToCome, TraceBuilder};
use super::records::for_each_record;
use crate::column::Column;
use crate::recorder::{SpanId, Stream};

impl TraceBuilder {
    /// Finds the rows of the spans that launched device work.
    pub(super) fn resolve_launches(&mut self, streams: &[Stream]) {
        let mut launches: Column<(SpanId, usize)> =
            self.launches.iter().enumerate().filter_map(|(at, launch)| Some(((*launch)?, at))).collect();
        launches.sort_unstable_by_key(|(id, _)| id.bits());
        for of_thread in launches.chunk_by(|(one, _), (other, _)| one.thread() == other.thread()) {
            let serial = of_thread[0].0.thread();
            // A thread whose spans the window does not see has no row.
            let Ok(thread) = self.threads.binary_search_by_key(&serial, |thread| thread.number) else { continue };
            let Ok(stream) = streams.binary_search_by_key(&serial, |stream| stream.log.serial) else { continue };
            let positions = self.positions_of_rows(&streams[stream], self.threads[thread].spans.start);
            for &(id, at) in of_thread {
                if let Ok(found) = positions.binary_search_by_key(&id.position(), |&(position, _)| position) {
                    let row = positions[found].1;
                    let device = &mut self.device[at];
                    device.launched_by = Some(row as u32);
                    let took = device.end - device.start;
                    let owner = self.spans.owner_of_launch(row);
                    *self.spans.device_ns.own.entry(owner) += took;
                    self.spans.set_device(owner, device.device);
                }
            }
        }
    }

    /// The stream position and the row of each span of a thread, in order of position.
    fn positions_of_rows(&self, stream: &Stream, first_row: usize) -> Column<(u64, usize)> {
        let mut own = SpansToCome(self.own_spans.get(&stream.log.serial).map_or(&[], Vec::as_slice));
        let mut row = first_row;
        let mut positions = Column::new();
        for at in self.carried_of(&stream.log) {
            positions.push((self.contents.carried[at].position(), row));
            row += 1;
        }
        let left_out = self.contents.settings.left_out;
        for_each_record(stream, &self.contents.edges, |position, _, head, words, _| {
            if left_out.contains(head.kind) {
                return;
            }
            if head.kind.tells_when() {
                while own.begun_by(words[0]).is_some() {
                    row += 1;
                }
            }
            if head.kind.is_span() {
                positions.push((position, row));
                row += 1;
            }
        });
        positions
    }
}
