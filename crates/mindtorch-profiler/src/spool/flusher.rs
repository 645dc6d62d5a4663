//! Who writes a spool to the disk, where a power cut does not take it. Threads that record do not wait for that.

use super::writer::{Spool, SpoolProgress};
use crate::quiet::Quiet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// What a power cut may take of a recording, by its length.
const PERIOD: Duration = Duration::from_secs(1);

/// A thread that writes what is new of a spool to the disk once a second, and for the last time when this is dropped. A forked
/// child has no such thread, and needs none.
#[derive(Debug)]
pub(crate) struct Flusher {
    turns: Turns,
    refused: Arc<OnceLock<String>>,
}

impl Flusher {
    /// `None` if the system has no thread to give. It writes files by itself too, in its own time.
    pub(crate) fn start(spool: &Arc<Spool>) -> Option<Self> {
        let (spool, refused) = (Arc::clone(spool), Arc::<OnceLock<String>>::default());
        let found = Arc::clone(&refused);
        let mut on_disk = OnDisk::default();
        let flush = move || {
            if let Err(error) = on_disk.catch_up(&spool) {
                found.get_or_init(|| format!("cannot write it to the disk: {error}"));
            }
        };
        Some(Self { turns: Turns::start(PERIOD, flush).ok()?, refused })
    }

    /// Writes what is left, soon, and nothing after that.
    pub(crate) fn finish(&self) {
        self.turns.finish();
    }

    /// What the system said when it could not be written for the first time.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.refused.get().cloned()
    }
}

/// How much of a spool is on the disk.
#[derive(Debug, Default)]
struct OnDisk(Option<SpoolProgress>);

impl OnDisk {
    /// Writes what is new, if anything is. Returns whether it was.
    fn catch_up(&mut self, spool: &Spool) -> io::Result<bool> {
        // Before it is written: what comes meanwhile may be on the disk, or not.
        let progress = spool.progress();
        let is_new = self.0 != Some(progress);
        if is_new {
            spool.sync()?;
            self.0 = Some(progress);
        }
        Ok(is_new)
    }
}

/// A thread that does something every now and then. There is nobody who waits for it, and no lock, which a forked child might
/// find taken.
#[derive(Debug)]
struct Turns {
    is_over: Arc<AtomicBool>,
    thread: Thread,
}

impl Turns {
    fn start(period: Duration, mut turn: impl FnMut() + Send + 'static) -> io::Result<Self> {
        let _quiet = Quiet::new();
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        let run = move || {
            let _quiet = Quiet::new();
            refuse_signals();
            loop {
                let is_last = wait(period, &told);
                turn();
                if is_last {
                    break;
                }
            }
        };
        let thread = thread::Builder::new().name("mindtorch spool".to_owned()).spawn(run)?;
        Ok(Self { is_over, thread: thread.thread().clone() })
    }

    fn finish(&self) {
        self.is_over.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Waits for so long, or until it is over. Returns whether it is.
fn wait(period: Duration, is_over: &AtomicBool) -> bool {
    let until = Instant::now() + period;
    while !is_over.load(Ordering::Acquire) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::park_timeout(left);
    }
    true
}

/// Signals are the program's, and end what its own threads wait for.
#[expect(unsafe_code, reason = "the standard library has no signals")]
fn refuse_signals() {
    let mut all = std::mem::MaybeUninit::uninit();
    // SAFETY: the set is filled before it is used, and only what this thread takes is changed.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::Entry;
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn only_what_is_new_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool::create(directory.path()).unwrap();
        let mut on_disk = OnDisk::default();
        let mut was_new = || [on_disk.catch_up(&spool).unwrap(), on_disk.catch_up(&spool).unwrap()];
        assert_eq!(was_new(), [true, false]);
        spool.log(Entry::Lost { events: 1 });
        assert_eq!(was_new(), [true, false]);
        let block = spool.block(1, 0, 2).unwrap();
        assert_eq!(was_new(), [true, false]);
        block.slots()[1][2].store(7, Ordering::Relaxed);
        assert_eq!(was_new(), [true, false]);
        block.seal(2, 0);
        assert_eq!(was_new(), [true, false]);
    }

    #[test]
    fn turns_come_again_and_the_last_one_comes_after_the_end() {
        let (sender, turns) = mpsc::channel();
        let (end, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let seen = Arc::clone(&end);
        let often = Turns::start(Duration::from_millis(1), move || sender.send(seen.load(Ordering::SeqCst)).unwrap());
        let often = often.unwrap();
        assert_eq!([turns.recv(), turns.recv()], [Ok(false), Ok(false)]);
        end.store(true, Ordering::SeqCst);
        drop(often);
        assert_eq!(turns.iter().last(), Some(true));
        // One that has long to wait ends at once.
        let told = Arc::clone(&ended);
        let (sender, turns) = mpsc::channel();
        let seldom = Turns::start(Duration::from_secs(1 << 20), move || {
            told.store(true, Ordering::SeqCst);
            sender.send(()).unwrap();
        });
        drop(seldom);
        assert_eq!((turns.iter().count(), ended.load(Ordering::SeqCst)), (1, true));
    }
}
