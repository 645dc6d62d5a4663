//! The shim: loaded once, and asked to observe while someone records.

#![expect(unsafe_code, reason = "a library that is loaded at run time is called through pointers")]

use crate::abi::{ENTRY, Entry, Recorder, Shim, VERSION};
use crate::loader::{Library, function, path_text, text};
use crate::thread::watches_forks;
use crate::{inputs, memory, ops};
use mindtorch_profiler::{Capture, capture};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) static RECORDER: Recorder = Recorder {
    version: VERSION,
    begin_known: ops::begin_known,
    begin_known_node: ops::begin_known_node,
    begin: ops::begin,
    end: ops::end,
    begin_anywhere: ops::begin_anywhere,
    end_anywhere: ops::end_anywhere,
    memory: memory::memory,
};

/// The minor versions of PyTorch that are recorded without a shim, on x86-64 Linux.
///
/// They are those with which `make test-torch` and `make test-torch-versions` run that: PyTorch does not promise the layout and
/// the calling convention that it relies on, so that any other version may differ.
pub const VERSIONS_WITHOUT_SHIM: &[&str] = &["2.6", "2.10", "2.15"];

static BRIDGE: OnceLock<Bridge> = OnceLock::new();

/// What connects PyTorch to the recorder of this process. There is one at most, and it stays.
#[derive(Debug)]
pub struct Bridge {
    shim: &'static Shim,
    torch: String,
    /// Whether what it says was found to be true.
    is_trusted: AtomicBool,
    observing: Mutex<Option<Observing>>,
}

impl std::fmt::Debug for Shim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shim").field("version", &self.version).finish_non_exhaustive()
    }
}

/// What the shim was asked to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Observing {
    handle: u64,
    inputs: bool,
    overloads: bool,
}

/// Why there is no bridge.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The system cannot load the library.
    #[error("cannot load {path}: {why}")]
    Load {
        /// The library.
        path: String,
        /// What the system says.
        why: String,
    },
    /// It is not a shim of this version.
    #[error("{path} is not a bridge for this version of mindtorch_v2")]
    Version {
        /// The library.
        path: String,
    },
    /// There is one for another version of PyTorch.
    #[error("{path} was built for PyTorch {built_for}, and this is {installed}")]
    Torch {
        /// The library.
        path: String,
        /// What it was built for.
        built_for: String,
        /// What is there.
        installed: String,
    },
    /// This version of PyTorch is not recorded without a shim, or none is on this machine.
    #[error(
        "without a compiler, PyTorch {installed} cannot be recorded on {machine}: only {} on x86_64-linux can",
        VERSIONS_WITHOUT_SHIM.join(", ")
    )]
    NeedsShim {
        /// The version of PyTorch.
        installed: String,
        /// The processor and the operating system.
        machine: String,
    },
}

impl BridgeError {
    fn needs_shim(torch: &str) -> Self {
        let machine = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
        Self::NeedsShim { installed: torch.to_owned(), machine }
    }
}

/// Returns true for a release of one of [`VERSIONS_WITHOUT_SHIM`], such as `2.6.0+cpu`. What is built between releases, such as
/// `2.6.0a0+git1234` or `2.6.0.dev20250101`, may differ from them.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn is_tested_release(torch: &str) -> bool {
    let (release, _build) = torch.split_once('+').unwrap_or((torch, ""));
    release.rsplit_once('.').is_some_and(|(minor, patch)| {
        VERSIONS_WITHOUT_SHIM.contains(&minor) && patch.bytes().all(|byte| byte.is_ascii_digit())
    })
}

impl Bridge {
    /// The bridge, if one was loaded and is trusted.
    pub fn get() -> Option<&'static Self> {
        BRIDGE.get().filter(|bridge| bridge.is_trusted())
    }

    /// Loads a shim that was built for this version of PyTorch. It is never unloaded. If there is a bridge, it stays.
    /// Nothing is recorded with it until it is trusted.
    ///
    /// # Errors
    /// If the library cannot be loaded, or is not a shim for this version.
    pub fn load(path: &Path, torch: &str) -> Result<&'static Self, BridgeError> {
        if let Some(bridge) = BRIDGE.get() {
            return Ok(bridge);
        }
        let shown = path.display().to_string();
        let table = open(path).map_err(|why| BridgeError::Load { path: shown.clone(), why })?;
        let Some(shim) = table.filter(|shim| shim.version == VERSION) else {
            return Err(BridgeError::Version { path: shown });
        };
        // SAFETY: a shim's strings are literals.
        let built_for = unsafe { text((shim.torch)()) }.unwrap_or_default();
        if built_for != torch {
            return Err(BridgeError::Torch { path: shown, built_for, installed: torch.to_owned() });
        }
        let type_name = |number: u8| {
            // SAFETY: as above, or none.
            unsafe { text((shim.type_name)(number)) }
        };
        inputs::set_types(&(0..=u8::MAX).map(|number| type_name(number).unwrap_or_default()).collect::<Vec<_>>());
        Ok(Self::init(shim, torch))
    }

    /// Observes PyTorch without a shim, through functions that its library exports: operations have names, kinds, threads
    /// and times, and nothing else. Nothing is recorded with it until it is trusted.
    ///
    /// # Errors
    /// If the version is not one of [`VERSIONS_WITHOUT_SHIM`], the library is not loaded, or exports something else.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub fn without_shim(library: &Path, torch: &str) -> Result<&'static Self, BridgeError> {
        if !is_tested_release(torch) {
            return Err(BridgeError::needs_shim(torch));
        }
        if let Some(bridge) = BRIDGE.get() {
            return Ok(bridge);
        }
        let shim = crate::exported::shim(library, torch)
            .map_err(|why| BridgeError::Load { path: library.display().to_string(), why })?;
        Ok(Self::init(shim, torch))
    }

    /// Fails: the calling convention that this needs is known for x86-64 Linux only.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    pub fn without_shim(_library: &Path, torch: &str) -> Result<&'static Self, BridgeError> {
        Err(BridgeError::needs_shim(torch))
    }

    fn init(shim: &'static Shim, torch: &str) -> &'static Self {
        BRIDGE.get_or_init(|| {
            // Now, when hardly anyone forks at the same time.
            watches_forks();
            let (is_trusted, observing) = (AtomicBool::new(false), Mutex::new(None));
            Self { shim, torch: torch.to_owned(), is_trusted, observing }
        })
    }

    /// The bridge, whether or not it is trusted.
    pub fn loaded() -> Option<&'static Self> {
        BRIDGE.get()
    }

    /// Records with it from now on. Someone may record already.
    pub fn trust(&self) {
        self.is_trusted.store(true, Ordering::Release);
        self.sync();
    }

    fn is_trusted(&self) -> bool {
        self.is_trusted.load(Ordering::Acquire)
    }

    /// The version of PyTorch that it is for.
    pub fn torch(&self) -> &str {
        &self.torch
    }

    /// Observes what someone records, and nothing when nobody does. To be called after each change of what is recorded, on the
    /// thread that changed it.
    pub fn sync(&self) {
        let mut observing = self.lock();
        // Read here, so that of two threads the later one has the last word.
        let wanted = if self.is_trusted() { capture() } else { Capture::NONE };
        let inputs = ops::wants_inputs(wanted);
        let [is_host_recorded, memory, overloads] =
            [Capture::CPU, Capture::MEMORY, Capture::OVERLOADS].map(|flag| wanted.contains(flag));
        self.observe(&mut observing, is_host_recorded.then_some((inputs, overloads)));
        (self.shim.want_memory)(memory);
        // If another profiler has the place now, that is not to be helped.
        if is_host_recorded || memory {
            (self.shim.take_place)(inputs, false);
        } else {
            (self.shim.leave_place)(true);
        }
    }

    /// Observes, with inputs and overloads or without, or does not.
    fn observe(&self, observing: &mut Option<Observing>, wanted: Option<(bool, bool)>) {
        if observing.map(|now| (now.inputs, now.overloads)) == wanted {
            return;
        }
        let old = observing.take();
        if let Some((inputs, overloads)) = wanted {
            let handle = (self.shim.observe)(inputs, overloads);
            *observing = (handle != 0).then_some(Observing { handle, inputs, overloads });
        }
        // Only now, so that nothing is missed which other threads begin meanwhile.
        if let Some(old) = old
            && observing.is_none_or(|now| now.handle != old.handle)
        {
            (self.shim.ignore)(old.handle);
        }
    }

    /// Runs `run` with the shim telling everything, whatever is recorded.
    pub fn observed<T>(&self, run: impl FnOnce() -> T) -> T {
        self.observe(&mut self.lock(), Some((true, true)));
        let result = run();
        self.sync();
        result
    }

    /// Asks for the memory of this thread, of which one profiler is told: false if that is another one.
    pub fn ask_for_memory(&self) -> bool {
        let _alone = self.lock();
        (self.shim.take_place)(ops::wants_inputs(capture()), true)
    }

    /// Makes room for another profiler on this thread until [`Self::sync`]. If the thread has asked for memory, only if so.
    pub fn give_way(&self, even_with_memory: bool) {
        // What has the place may be of a recording that is over: stopped on another thread, or left behind by a fork.
        self.sync();
        let _alone = self.lock();
        (self.shim.leave_place)(even_with_memory);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Observing>> {
        self.observing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Loads a library, and gives the table that it has for ours.
fn open(path: &Path) -> Result<Option<&'static Shim>, String> {
    let library = Library::open(&path_text(path)?)?;
    // SAFETY: what a shim has under this name is such a function.
    let entry = unsafe { function!(library, ENTRY, Entry) };
    let entry = entry.ok_or_else(|| format!("it has no {}", ENTRY.to_string_lossy()))?;
    // SAFETY: it gives a table that is good for as long as the library is loaded, which is for ever, or nothing.
    Ok(unsafe { entry(&raw const RECORDER).as_ref() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn only_tested_releases_are_recorded_without_a_shim() {
        for minor in VERSIONS_WITHOUT_SHIM {
            for release in ["0", "1", "0+cpu", "0+cu132"] {
                assert!(is_tested_release(&format!("{minor}.{release}")));
            }
            for other in ["0a0+git1234", "0.dev20250101+cpu", "0rc1"] {
                assert!(!is_tested_release(&format!("{minor}.{other}")));
            }
        }
        for other in ["2.60.0", "2.5.1", "3.2.6", "2.6", "2", "", "+cpu"] {
            assert!(!is_tested_release(other), "{other}");
        }
    }

    #[test]
    fn an_untested_version_is_refused_before_its_library_is_looked_at() {
        let error = Bridge::without_shim(Path::new("/nothing"), "2.99.0").expect_err("it is not in the list");
        assert!(matches!(error, BridgeError::NeedsShim { .. }), "{error}");
        assert!(error.to_string().contains("2.99.0"), "{error}");
    }
}
