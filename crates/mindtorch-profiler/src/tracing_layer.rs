//! A layer for [`tracing`]: programs that are instrumented with it are profiled without another word.

use crate::capture::Capture;
use crate::names::{Name, Stack};
use crate::quiet::Quiet;
use crate::recorder::{Span, begin_annotation, capture, mark};
use std::cell::RefCell;
use std::fmt::{self, Write as _};
use tracing::field::{Field, Visit};
use tracing::span::Id;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Records `tracing` spans as annotations, from enter to exit, and events as marks named by their message.
///
/// ```
/// use mindtorch_profiler::{Session, tracing_layer::ProfilerLayer};
/// use tracing_subscriber::prelude::*;
///
/// let subscriber = tracing_subscriber::registry().with(ProfilerLayer::new());
/// tracing::subscriber::with_default(subscriber, || {
///     let session = Session::start();
///     tracing::info_span!("request").in_scope(|| tracing::info!("half way"));
///     let trace = session.stop();
///     assert_eq!(trace.spans().next().unwrap().name(), "request");
///     assert_eq!(trace.marks().next().unwrap().0, "half way");
/// });
/// ```
///
/// Every distinct message is a name, and names are kept for the life of the process: a program that logs a number in
/// each line should filter its events away from this layer.
///
/// A span that is entered several times, as those of futures are, gives one annotation for each time. Entered spans that
/// no session sees cost one load and a branch more than `tracing` itself does.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProfilerLayer(());

impl ProfilerLayer {
    /// The layer.
    pub fn new() -> Self {
        Self(())
    }
}

thread_local! {
    /// The spans that this thread is in. `tracing` leaves a span on the thread that entered it.
    static ENTERED: RefCell<Entered> = const { RefCell::new(Entered(Vec::new())) };
}

struct Entered(Vec<(Id, Span)>);

impl Drop for Entered {
    fn drop(&mut self) {
        let _quiet = Quiet::new();
        self.0 = Vec::new();
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ProfilerLayer {
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let capture = capture();
        if !capture.contains(Capture::CPU) {
            return;
        }
        let Some(metadata) = context.metadata(id) else { return };
        let site = if capture.contains(Capture::STACK) { site(metadata) } else { Stack::NONE };
        let span = begin_annotation(Name::new(metadata.name()), site);
        let _quiet = Quiet::new();
        let _ = ENTERED.try_with(|entered| entered.borrow_mut().0.push((id.clone(), span)));
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        // Not always the last: guards may be dropped in any order. Taken out first, dropped after the list is free again.
        let left = ENTERED.try_with(|entered| {
            let entered = &mut entered.borrow_mut().0;
            let at = entered.iter().rposition(|(entered, _)| entered == id)?;
            Some(entered.remove(at))
        });
        drop(left);
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if capture().contains(Capture::CPU) {
            let _quiet = Quiet::new();
            let mut message = Message(None);
            event.record(&mut message);
            mark(Name::new(message.0.as_deref().unwrap_or(event.metadata().name())));
        }
    }
}

fn site(metadata: &Metadata<'_>) -> Stack {
    let (file, line) = (metadata.file().unwrap_or("?"), metadata.line().unwrap_or(0));
    Stack::of_site(&format!("{file}({line}): {}", metadata.name()))
}

/// The text of an event's `message` field.
struct Message(Option<String>);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let text = self.0.get_or_insert_default();
            let _ = write!(text, "{value:?}");
        }
    }
}
