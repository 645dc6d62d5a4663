//! `record_function!` and what it expands to.

use crate::capture::Capture;
use crate::names::Name;
use crate::recorder::{Span, begin_annotation, capture};
use std::sync::atomic::{AtomicU32, Ordering};

/// Begins a span that ends when the value it gives is dropped.
///
/// With a literal the name is looked up once for all calls; with any other text, once a call (5 to 15 ns more).
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
        static SITE: $crate::CallSite = $crate::CallSite::new($name);
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
    /// The name's id, or 0 while it is not known.
    name: AtomicU32,
}

impl CallSite {
    /// The site of the spans with this name.
    pub const fn new(text: &'static str) -> Self {
        Self { text, name: AtomicU32::new(0) }
    }

    /// Begins a span.
    #[inline]
    pub fn enter(&self) -> Span {
        if !capture().contains(Capture::CPU) {
            return Span::none();
        }
        let known = self.name.load(Ordering::Relaxed);
        begin_annotation(if known == 0 { self.look_up() } else { Name(known) })
    }

    #[cold]
    fn look_up(&self) -> Name {
        let name = Name::new(self.text);
        self.name.store(name.0, Ordering::Relaxed);
        name
    }
}
