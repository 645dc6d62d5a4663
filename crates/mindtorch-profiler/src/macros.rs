//! `record_function!` and what it expands to.

use crate::capture::Capture;
use crate::names::{Name, Stack};
use crate::recorder::{Span, begin_annotation, capture};
use std::sync::atomic::{AtomicU32, Ordering};

/// Begins a span that ends when the value it gives is dropped. Bind that to a name such as `_span`: `let _ =` drops it at
/// once.
///
/// With a literal the name is looked up once for all calls; with any other text, once a call (about 10 ns more for
/// one that the thread used lately).
///
/// ```
/// use mindtorch_profiler::record_function;
/// fn forward(layer: usize) {
///     let _span = record_function!("forward");
///     let _span = record_function!(&format!("layer {layer}"));
/// }
/// # forward(1);
/// ```
#[macro_export]
macro_rules! record_function {
    ($name:literal) => {{
        static SITE: $crate::CallSite = $crate::CallSite::new($name, concat!(file!(), "(", line!(), "): ", $name));
        SITE.enter()
    }};
    ($name:expr) => {
        $crate::Span::enter($name)
    };
}

/// A place in the source that begins spans of one name: [`record_function!`] makes one.
#[derive(Debug)]
pub struct CallSite {
    text: &'static str,
    frame: &'static str,
    /// The name's id, or 0 while it is not known.
    name: AtomicU32,
    /// The stack's id, or 0 while it is not known.
    stack: AtomicU32,
}

impl CallSite {
    /// The site of the spans with this name; `frame` is the place, written `file(line): name`.
    pub const fn new(text: &'static str, frame: &'static str) -> Self {
        Self { text, frame, name: AtomicU32::new(0), stack: AtomicU32::new(0) }
    }

    /// Begins a span.
    #[inline(always)]
    pub fn enter(&self) -> Span {
        let capture = capture();
        if capture.contains(Capture::CPU) { self.begin(capture) } else { Span::none() }
    }

    /// Not inlined, so that a site that nobody records adds a load and a branch to its function, and no more.
    #[inline(never)]
    fn begin(&self, capture: Capture) -> Span {
        let name = known(&self.name, || Name::new(self.text).0);
        let wants_stack = capture.contains(Capture::STACK);
        let stack = if wants_stack { known(&self.stack, || Stack::of_site(self.frame).0) } else { 0 };
        begin_annotation(Name(name), Stack(stack))
    }
}

/// The id in the cell, looked up the first time.
#[inline(always)]
fn known(cell: &AtomicU32, look_up: impl FnOnce() -> u32) -> u32 {
    match cell.load(Ordering::Relaxed) {
        0 => look_up_once(cell, look_up),
        id => id,
    }
}

#[cold]
#[inline(never)]
fn look_up_once(cell: &AtomicU32, look_up: impl FnOnce() -> u32) -> u32 {
    let id = look_up();
    cell.store(id, Ordering::Relaxed);
    id
}
