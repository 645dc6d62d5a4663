//! Work divided among threads.
//!
//! Waking a thread takes microseconds, so that work is divided only where each piece is worth it: the caller says how
//! many items make a piece.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Range;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

static POOL: LazyLock<RwLock<Arc<Pool>>> = LazyLock::new(|| RwLock::new(Arc::new(Pool::new(default_threads()))));

struct Pool {
    threads: usize,
    /// None where one thread does all the work: the caller's.
    pool: Option<ThreadPool>,
}

impl Pool {
    fn new(threads: usize) -> Self {
        let name = |index| format!("mindtorch worker {index}");
        // A machine that gives no more threads still computes, with the one it has.
        let pool = (threads > 1).then(|| ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build().ok());
        let pool = pool.flatten();
        Self { threads: if pool.is_some() { threads } else { 1 }, pool }
    }
}

fn default_threads() -> usize {
    let asked = std::env::var("OMP_NUM_THREADS").ok().and_then(|text| text.trim().parse().ok());
    asked.filter(|&threads| threads > 0).unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

fn pool() -> Arc<Pool> {
    Arc::clone(&POOL.read().unwrap_or_else(PoisonError::into_inner))
}

/// How many threads large operations use.
pub fn num_threads() -> usize {
    pool().threads
}

/// Makes large operations use so many threads. Work in progress ends with the threads that it began with.
pub fn set_num_threads(threads: usize) {
    if num_threads() != threads {
        let new = Arc::new(Pool::new(threads.max(1)));
        *POOL.write().unwrap_or_else(PoisonError::into_inner) = new;
    }
}

/// Runs `work` where rayon's parallel iterators use the pool, if `items` are at least two pieces of `grain`. `work` is told
/// how many threads there are for it: with one, it must do everything itself.
pub(crate) fn within_pool<R: Send>(items: usize, grain: usize, work: impl FnOnce(usize) -> R + Send) -> R {
    if items < grain.saturating_mul(2) {
        return work(1);
    }
    let pool = pool();
    match &pool.pool {
        Some(threads) => threads.install(|| work(pool.threads)),
        None => work(1),
    }
}

/// Calls `work` with ranges that together are `0..items`, each of at least `grain` items, in parallel.
pub(crate) fn for_ranges(items: usize, grain: usize, work: impl Fn(Range<usize>) + Sync) {
    if items == 0 {
        return;
    }
    within_pool(items, grain, |threads| {
        let pieces = threads.min(items / grain.max(1)).max(1);
        if pieces == 1 {
            return work(0..items);
        }
        rayon::scope(|scope| {
            for piece in 1..pieces {
                let work = &work;
                scope.spawn(move |_| work(items * piece / pieces..items * (piece + 1) / pieces));
            }
            work(0..items / pieces);
        });
    });
}

/// Divides `out` into rows of `width` numbers and calls `work` with the number of the first row and the rows, in parallel,
/// at least `grain` rows at a time.
pub(crate) fn for_rows<T: Send>(out: &mut [T], width: usize, grain: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    if out.is_empty() {
        return;
    }
    let rows = out.len() / width;
    within_pool(rows, grain, |threads| {
        let pieces = threads.min(rows / grain.max(1)).max(1);
        if pieces == 1 {
            return work(0, out);
        }
        let per_piece = rows.div_ceil(pieces);
        rayon::scope(|scope| {
            for (piece, rows) in out.chunks_mut(per_piece * width).enumerate() {
                let work = &work;
                scope.spawn(move |_| work(piece * per_piece, rows));
            }
        });
    });
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
