//! What functions are called in a trace.
//!
//! A name is made when a function is first called, and found again by where its code is. The code is kept alive until the
//! tracer stops, so that no other takes its place. Names stay for the next time, since making all of a program's takes
//! milliseconds; those of code that is gone by then are forgotten.

use super::held::{Held, Object};
use super::interpreter::{Builtin, Frame, GilCell};
use crate::profiler::{RecordFunction, Session};
use mindtorch_profiler::Name;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::collections::HashMap;
use std::ffi::CString;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};

/// How the calls of a function are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// With its name.
    Yes,
    /// As a call of the module that it is a method of.
    AsModule,
    /// Not at all, but what it calls is.
    Through,
    /// Neither it nor what it calls.
    No,
}

#[derive(Clone, Copy)]
pub(super) struct Function {
    pub(super) name: Name,
    pub(super) shown: Shown,
}

/// A builtin function, or the method of a type.
#[derive(Clone, Copy)]
pub(super) struct BuiltinFunction {
    pub(super) name: Name,
    pub(super) is_shown: bool,
    /// Whether it starts a thread.
    pub(super) starts_thread: bool,
}

#[derive(Default)]
struct Names {
    functions: HashMap<usize, Function, Addresses>,
    builtins: HashMap<(usize, usize), (CString, BuiltinFunction), Addresses>,
    /// The lines of places in code that functions were called from.
    lines: HashMap<(usize, usize), u32, Addresses>,
    /// What the keys are the addresses of.
    held: Held,
    places: Places,
}

/// What paths in this package begin with, of the files that are the profiler's own.
const PROFILER: [&str; 7] = [
    "profiler/",
    "autograd/profiler",
    "autograd/_events/",
    "autograd/_profiler_config.py",
    "autograd/_recording.py",
    "autograd/_stats.py",
    "autograd/_step_tracker.py",
];

/// Where PyTorch's modules are called.
const TORCH_MODULES: &str = "torch/nn/modules/module.py";

/// Where source files are.
#[derive(Default, PartialEq, Eq)]
pub(super) struct Places {
    /// The folders that modules are imported from, longest first, each with a slash at its end.
    roots: Vec<String>,
    /// The folder of this package.
    package: String,
}

/// Those in use.
static NAMES: GilCell<Option<Names>> = GilCell::new(None);
/// While the tracer is off: those of the last time.
static LAST: GilCell<Option<Names>> = GilCell::new(None);

/// Begins to collect names.
pub(super) fn start(py: Python<'_>, places: Places) {
    let last = replace(&LAST, py, None);
    let (names, old) = match last {
        Some(mut names) if names.places == places => {
            names.take_hold(py);
            (names, None)
        }
        other => (Names { places, ..Names::default() }, other),
    };
    drop((replace(&NAMES, py, Some(names)), old));
}

/// Ends it. Dropping what is returned lets go of what the names are of, which may run any code.
pub(super) fn stop(py: Python<'_>) -> impl Sized {
    let mut names = replace(&NAMES, py, None);
    let held = names.as_mut().map(|names| names.held.let_go());
    (held, replace(&LAST, py, names))
}

fn replace(place: &GilCell<Option<Names>>, py: Python<'_>, names: Option<Names>) -> Option<Names> {
    place.with(py, |current| std::mem::replace(current, names)).flatten()
}

impl Names {
    fn take_hold(&mut self, py: Python<'_>) {
        let gone = self.held.take_hold(py);
        if !gone.is_empty() {
            self.functions.retain(|code, _| !gone.contains(code));
            self.lines.retain(|(code, _), _| !gone.contains(code));
            self.builtins.retain(|(_, owner), _| !gone.contains(owner));
        }
    }
}

/// What is known of the function that a frame runs.
#[inline]
pub(super) fn function(frame: &Frame<'_>) -> Option<Function> {
    let code = frame.code();
    let key = code.as_ptr().addr();
    let known = NAMES.with(frame.py(), |names| names.as_ref()?.functions.get(&key).copied());
    known.flatten().or_else(|| new_function(&code))
}

#[cold]
fn new_function(code: &Bound<'_, PyAny>) -> Option<Function> {
    let (path, own_name, line) = describe(code)?;
    let held = Object::new(code);
    NAMES.with(code.py(), |names| {
        let names = names.as_mut()?;
        let function = Function {
            name: Name::new(&format!("{}({line}): {own_name}", names.places.shorten(&path))),
            shown: names.places.shown(&path, &own_name),
        };
        if names.functions.insert(code.as_ptr().addr(), function).is_none() {
            names.held.hold(held);
        }
        Some(function)
    })?
}

/// The line that a frame is at.
#[inline]
pub(super) fn line(frame: &Frame<'_>) -> u32 {
    let Some(offset) = frame.offset() else { return frame.line() };
    let key = (frame.code().as_ptr().addr(), offset);
    let known = NAMES.with(frame.py(), |names| names.as_ref()?.lines.get(&key).copied());
    known.flatten().unwrap_or_else(|| new_line(frame, key))
}

#[cold]
fn new_line(frame: &Frame<'_>, key: (usize, usize)) -> u32 {
    let line = frame.line();
    NAMES.with(frame.py(), |names| {
        // Only of code that is kept alive.
        if let Some(names) = names.as_mut().filter(|names| names.functions.contains_key(&key.0)) {
            names.lines.insert(key, line);
        }
    });
    line
}

/// The name of a frame that was running when the tracer started: with the line that it is at.
pub(super) fn running(frame: &Frame<'_>) -> Option<Name> {
    let (path, own_name, _) = describe(&frame.code())?;
    let line = line(frame);
    NAMES.with(frame.py(), |names| {
        let places = &names.as_ref()?.places;
        Some(Name::new(&format!("{}({line}): {own_name}", places.shorten(&path))))
    })?
}

fn describe(code: &Bound<'_, PyAny>) -> Option<(String, String, i64)> {
    let py = code.py();
    let text = |attribute: &Bound<'_, PyString>| Some(code.getattr(attribute).ok()?.to_string_lossy());
    let line = code.getattr(intern!(py, "co_firstlineno")).ok()?.extract().ok()?;
    Some((text(intern!(py, "co_filename"))?, text(intern!(py, "co_name"))?, line))
}

/// A text in full, with what is not valid in UTF-8 replaced.
trait Lossy {
    fn to_string_lossy(&self) -> String;
}

impl Lossy for Bound<'_, PyAny> {
    fn to_string_lossy(&self) -> String {
        self.cast::<PyString>().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// What is known of a builtin that is called.
#[inline]
pub(super) fn builtin(builtin: &Builtin<'_, '_>) -> Option<BuiltinFunction> {
    let key = builtin.key();
    let known = NAMES.with(builtin.object().py(), |names| {
        let (name, function) = names.as_ref()?.builtins.get(&key)?;
        // Definitions are not kept alive, so another one may be there now.
        (name.as_c_str() == builtin.name()).then_some(*function)
    });
    known.flatten().or_else(|| new_builtin(builtin))
}

#[cold]
fn new_builtin(builtin: &Builtin<'_, '_>) -> Option<BuiltinFunction> {
    let py = builtin.object().py();
    let text = builtin.object().repr().ok()?.to_string_lossy().into_owned();
    let owner = builtin.owner();
    let is_ours =
        |owner: &Bound<'_, PyAny>| owner.is_instance_of::<RecordFunction>() || owner.is_instance_of::<Session>();
    // Where these put another hook in our place, nobody tells when they return.
    let sets_hook = builtin.name() == c"setprofile" || text.contains(" of _lsprof.Profiler ");
    let function = BuiltinFunction {
        name: Name::new(&without_address(&text)),
        is_shown: !sets_hook && !owner.as_ref().is_some_and(is_ours),
        starts_thread: builtin.name().to_bytes().starts_with(b"start_"),
    };
    let held = owner.map(|owner| Object::new(owner.get_type().as_any()));
    NAMES.with(py, |names| {
        let names = names.as_mut()?;
        let known = names.builtins.insert(builtin.key(), (builtin.name().to_owned(), function));
        if let (None, Some(held)) = (known, held) {
            names.held.hold(held);
        }
        Some(function)
    })?
}

/// `<built-in method append of list object at 0x7f…>` says which list was seen first, which is of no use. Types of this
/// package are written as torch's are, without it: `of Tensor`.
fn without_address(text: &str) -> String {
    match text.rsplit_once(" object at 0x") {
        Some((name, _)) => format!("{}>", name.replace(" of mindtorch_v2.", " of ")),
        None => text.to_owned(),
    }
}

impl Places {
    pub(super) fn find(py: Python<'_>) -> PyResult<Self> {
        let file: PathBuf = py.import("mindtorch_v2")?.getattr("__file__")?.extract()?;
        let package = file.parent().unwrap_or(&file);
        let mut folders: Vec<PathBuf> = package.parent().map(Path::to_owned).into_iter().collect();
        // What is not text is no folder, as far as Python cares.
        let path = py.import("sys")?.getattr("path")?.try_iter()?;
        folders.extend(path.filter_map(|entry| entry.ok()?.extract().ok()));
        // Who replaces `site` need not have these.
        if let Ok(site) = py.import("site") {
            let found = |function| site.call_method0(function).ok();
            folders.extend(
                found("getsitepackages").and_then(|found| found.extract::<Vec<PathBuf>>().ok()).unwrap_or_default(),
            );
            folders.extend(found("getusersitepackages").and_then(|found| found.extract::<PathBuf>().ok()));
        }
        let mut roots: Vec<String> = folders.iter().filter_map(|folder| as_root(folder)).collect();
        roots.sort_by_key(|root| std::cmp::Reverse(root.len()));
        Ok(Self { roots, package: as_root(package).unwrap_or_default() })
    }

    /// A path as it is written in names: from the folder that the module was imported from.
    fn shorten<'a>(&self, path: &'a str) -> &'a str {
        self.roots.iter().find_map(|root| path.strip_prefix(root.as_str())).unwrap_or(path)
    }

    fn shown(&self, path: &str, function: &str) -> Shown {
        match path.strip_prefix(self.package.as_str()) {
            Some("nn/modules/_hooks.py") if function == "__call__" => Shown::AsModule,
            Some("profiler/_decorate.py") => Shown::Through,
            Some(path) if PROFILER.iter().any(|own| path.starts_with(own)) => Shown::No,
            // `Module.__call__` is this function.
            None if function == "_wrapped_call_impl" && self.shorten(path) == TORCH_MODULES => Shown::AsModule,
            _ => Shown::Yes,
        }
    }
}

/// A folder as the beginning of paths; not the root, which all paths have. An empty one is the working directory.
fn as_root(folder: &Path) -> Option<String> {
    let here = Path::new(".");
    let folder = std::path::absolute(if folder.as_os_str().is_empty() { here } else { folder }).ok()?;
    let text = folder.to_string_lossy();
    let text = text.trim_end_matches('/');
    (!text.is_empty()).then(|| format!("{text}/"))
}

/// Hashes addresses, which differ in their middle bits.
#[derive(Default)]
pub(super) struct AddressHasher(u64);

pub(super) type Addresses = BuildHasherDefault<AddressHasher>;

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0.rotate_left(26) ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // The table takes bits from both ends, and a product's low bits know only the factors' low bits.
        self.0 ^ self.0 >> 32
    }
}
