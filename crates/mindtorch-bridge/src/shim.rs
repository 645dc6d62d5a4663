//! The shim: loaded once, and asked to observe while someone records.

#![expect(unsafe_code, reason = "a library that is loaded at run time is called through pointers")]

use crate::abi::{ENTRY, Entry, Recorder, Shim, VERSION};
use crate::{exported, inputs, memory, ops};
use mindtorch_profiler::{Capture, capture};
use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

static RECORDER: Recorder = Recorder {
    version: VERSION,
    begin: ops::begin,
    end: ops::end,
    begin_anywhere: ops::begin_anywhere,
    end_anywhere: ops::end_anywhere,
    memory: memory::memory,
};

static BRIDGE: OnceLock<Bridge> = OnceLock::new();

/// What connects PyTorch to the recorder of this process. There is one at most, and it stays.
#[derive(Debug)]
pub struct Bridge {
    shim: &'static Shim,
    torch: String,
    /// Whether what it says was found to be true.
    is_trusted: AtomicBool,
    observing: Mutex<Option<Observing>>,
    keeps_overloads: AtomicBool,
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
        let built_for = unsafe { string((shim.torch)()) }.unwrap_or_default();
        if built_for != torch {
            return Err(BridgeError::Torch { path: shown, built_for, installed: torch.to_owned() });
        }
        let type_name = |number: u8| {
            // SAFETY: as above, or none.
            unsafe { string((shim.type_name)(number)) }
        };
        inputs::set_types(&(0..=u8::MAX).map(|number| type_name(number).unwrap_or_default()).collect::<Vec<_>>());
        Ok(Self::init(shim, torch))
    }

    /// Does without a shim, by what PyTorch's library exports: operations have names and times, and no more.
    ///
    /// # Errors
    /// If the library is not loaded, or exports something else.
    pub fn without_shim(library: &Path, torch: &str) -> Result<&'static Self, BridgeError> {
        let shim = exported::shim(library, torch)
            .map_err(|why| BridgeError::Load { path: library.display().to_string(), why })?;
        Ok(Self::init(shim, torch))
    }

    fn init(shim: &'static Shim, torch: &str) -> &'static Self {
        BRIDGE.get_or_init(|| Self {
            shim,
            torch: torch.to_owned(),
            is_trusted: AtomicBool::new(false),
            observing: Mutex::new(None),
            keeps_overloads: AtomicBool::new(false),
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

    /// Observes what someone records, and nothing when nobody does. To be called after each change of what is recorded.
    pub fn sync(&self) {
        let wanted = if self.is_trusted() { capture() } else { Capture::NONE };
        let (inputs, overloads) = (ops::wants_inputs(wanted), self.keeps_overloads.load(Ordering::Relaxed));
        self.observe(wanted.contains(Capture::CPU).then_some((inputs, overloads)));
        // One that was paused may go on. If another profiler has the place now, that is not to be helped.
        if wanted.contains(Capture::MEMORY) {
            self.watch_memory();
        } else {
            (self.shim.unwatch_memory)();
        }
    }

    /// Observes, with inputs and overloads or without, or does not.
    fn observe(&self, wanted: Option<(bool, bool)>) {
        let mut observing = self.lock();
        if observing.map(|now| (now.inputs, now.overloads)) == wanted {
            return;
        }
        if let Some(old) = observing.take() {
            (self.shim.ignore)(old.handle);
        }
        if let Some((inputs, overloads)) = wanted {
            let handle = (self.shim.observe)(inputs, overloads);
            *observing = (handle != 0).then_some(Observing { handle, inputs, overloads });
        }
    }

    /// Runs `run` with the shim observing, whatever is recorded.
    pub fn observed<T>(&self, run: impl FnOnce() -> T) -> T {
        self.observe(Some((true, false)));
        let result = run();
        self.sync();
        result
    }

    /// Whether overloads are asked for, from now on.
    pub fn keep_overloads(&self, keep: bool) {
        self.keeps_overloads.store(keep, Ordering::Relaxed);
    }

    /// Sees the memory of this thread, and of those that work for it, from now on. False if another profiler does.
    pub fn watch_memory(&self) -> bool {
        (self.shim.watch_memory)()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Observing>> {
        self.observing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Loads a library, and gives the table that it has for ours.
fn open(path: &Path) -> Result<Option<&'static Shim>, String> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: the path is a string. Loading runs what the library wants to run at its start, which for a shim is nothing.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(loader_error());
    }
    // SAFETY: the library was opened, and the name is a string.
    let entry = unsafe { libc::dlsym(library, ENTRY.as_ptr()) };
    if entry.is_null() {
        return Err(loader_error());
    }
    // SAFETY: what a shim has under this name is such a function. It gives a table that is good for as long as the library is
    // loaded, which is for ever, or nothing.
    Ok(unsafe { std::mem::transmute::<*mut libc::c_void, Entry>(entry)(&raw const RECORDER).as_ref() })
}

fn loader_error() -> String {
    // SAFETY: what the loader says is a string that is good until it is next asked for something, or nothing.
    unsafe { string(libc::dlerror()) }.unwrap_or_else(|| "the system does not say why".to_owned())
}

/// # Safety
/// It is a string, or null.
unsafe fn string(text: *const c_char) -> Option<String> {
    // SAFETY: by the caller.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
