//! Work divided among threads.
//!
//! Even a thread that is awake takes a microsecond to get at its work, so that work is divided only where each piece is
//! worth it: the caller says how many items make a piece.

use super::team::Team;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

static TEAM: LazyLock<RwLock<Arc<Team>>> = LazyLock::new(|| RwLock::new(Arc::new(Team::new(default_threads()))));

fn default_threads() -> usize {
    let asked = std::env::var("OMP_NUM_THREADS").ok().and_then(|text| text.trim().parse().ok());
    asked.filter(|&threads| threads > 0).unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

fn team() -> Arc<Team> {
    Arc::clone(&TEAM.read().unwrap_or_else(PoisonError::into_inner))
}

/// How many threads large operations use.
pub fn num_threads() -> usize {
    team().threads()
}

/// Makes large operations use so many threads. Work in progress ends with the threads that it began with.
pub fn set_num_threads(threads: usize) {
    if num_threads() != threads {
        let new = Arc::new(Team::new(threads.max(1)));
        *TEAM.write().unwrap_or_else(PoisonError::into_inner) = new;
    }
}

/// How many pieces of at least `grain` items to make, at most one a thread.
fn pieces(items: usize, grain: usize) -> usize {
    let grain = grain.max(1);
    if items < grain.saturating_mul(2) {
        return 1;
    }
    num_threads().min(items / grain).max(1)
}

/// Calls `work` with each number below `pieces`, in parallel; with 0 on this thread, so that who calls again and again finds
/// the same part of the memory in the same cache.
pub(super) fn divide(pieces: usize, work: &(dyn Fn(usize) + Sync)) {
    if pieces > 1 {
        team().run(pieces, work);
    } else {
        (0..pieces).for_each(work);
    }
}

/// Calls `work` with ranges that together are `0..items`, each of at least `grain` items, in parallel.
pub(crate) fn for_ranges(items: usize, grain: usize, work: impl Fn(Range<usize>) + Sync) {
    let pieces = pieces(items, grain);
    if pieces == 1 {
        if items > 0 {
            work(0..items);
        }
        return;
    }
    divide(pieces, &|piece| work(items * piece / pieces..items * (piece + 1) / pieces));
}

/// Divides `out` into rows of `width` numbers and calls `work` with the number of the first row and the rows, in parallel,
/// at least `grain` rows at a time.
pub(crate) fn for_rows<T: Send>(out: &mut [T], width: usize, grain: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    if out.is_empty() {
        return;
    }
    let rows = out.len() / width;
    let pieces = pieces(rows, grain);
    if pieces == 1 {
        return work(0, out);
    }
    let per_piece = rows.div_ceil(pieces);
    let parts: Vec<Mutex<&mut [T]>> = out.chunks_mut(per_piece * width).map(Mutex::new).collect();
    // Nobody else has a part's lock: it is there to hand the part to its thread.
    divide(parts.len(), &|piece| {
        work(piece * per_piece, &mut parts[piece].lock().unwrap_or_else(PoisonError::into_inner));
    });
}

/// Calls both, `right` on another thread if there is one. `left` stays on this one, so that who calls again and again finds
/// the same part of the memory in the same cache.
pub(crate) fn join<'a>(left: &'a mut (dyn FnMut() + Send + 'a), right: &'a mut (dyn FnMut() + Send + 'a)) {
    // Each is called once: the locks hand them to their threads.
    let both = [Mutex::new(left), Mutex::new(right)];
    divide(2, &|side| both[side].lock().unwrap_or_else(PoisonError::into_inner)());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_item_is_visited_once() {
        for (items, grain) in [(0, 1), (1, 1), (7, 1), (7, 3), (1000, 10), (5, 100)] {
            let visits: Vec<AtomicUsize> = (0..items).map(|_| AtomicUsize::new(0)).collect();
            for_ranges(items, grain, |range| {
                for item in range {
                    visits[item].fetch_add(1, Ordering::Relaxed);
                }
            });
            assert!(visits.iter().all(|visits| visits.load(Ordering::Relaxed) == 1), "{items} by {grain}");
        }
    }

    #[test]
    fn every_row_is_given_with_its_number() {
        let mut out = vec![0; 3 * 101];
        for_rows(&mut out, 3, 2, |first, rows| {
            for (index, row) in rows.chunks_mut(3).enumerate() {
                row.fill(first + index);
            }
        });
        assert!(out.chunks(3).enumerate().all(|(row, numbers)| numbers.iter().all(|&number| number == row)));
    }
}
