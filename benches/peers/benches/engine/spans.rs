//! A span beside its peers, on and off.

use crate::clock::read_clock;
use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
use mindtorch_benches::{Case, Table};
use mindtorch_profiler::tracing_layer::ProfilerLayer;
use mindtorch_profiler::{Session, record_function};
use std::hint::black_box;
use std::io::sink;
use std::time::Instant;
use tracing::dispatcher::with_default;
use tracing_subscriber::prelude::*;

/// Spans a batch: what fastrace takes under one root without dropping any.
const BATCH: usize = 4_000;

struct NoReport;

impl Reporter for NoReport {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        black_box(spans.len());
    }
}

/// A span while recording, beside two reads of the clock and the peers.
pub(crate) fn recorded(rounds: usize) -> Table {
    fastrace::set_reporter(NoReport, Config::default());
    let chrome = || {
        let (layer, guard) = tracing_chrome::ChromeLayerBuilder::new().writer(sink()).build();
        (tracing_subscriber::registry().with(layer), guard)
    };
    let (chrome_subscriber, _guard) = chrome();
    let chrome_subscriber = tracing::Dispatch::new(chrome_subscriber);
    let our_subscriber = tracing::Dispatch::new(tracing_subscriber::registry().with(ProfilerLayer::new()));
    let traced = |dispatch: &tracing::Dispatch| {
        with_default(dispatch, || {
            let start = Instant::now();
            for _ in 0..BATCH {
                let _span = tracing::info_span!("work").entered();
            }
            (start.elapsed(), BATCH)
        })
    };

    let mut cases = [
        Case::repeated(
            "two raw clock reads",
            BATCH,
            || (),
            || {
                black_box(read_clock());
                black_box(read_clock());
            },
            drop,
        ),
        Case::repeated(
            "mindtorch-profiler",
            BATCH,
            Session::start,
            || {
                let _span = record_function!("work");
            },
            drop,
        ),
        Case::new("fastrace", || {
            let root = fastrace::Span::root("root", SpanContext::random());
            let _parent = root.set_local_parent();
            let start = Instant::now();
            for _ in 0..BATCH {
                let _span = fastrace::local::LocalSpan::enter_with_local_parent("work");
            }
            (start.elapsed(), BATCH)
        }),
        Case::repeated(
            "puffin",
            BATCH,
            || puffin::set_scopes_on(true),
            || {
                puffin::profile_scope!("work");
            },
            |()| {
                puffin::GlobalProfiler::lock().new_frame();
                puffin::set_scopes_on(false);
            },
        ),
        Case::new("tracing, our layer", || {
            let _session = Session::start();
            traced(&our_subscriber)
        }),
        Case::new("tracing-chrome", || traced(&chrome_subscriber)),
    ];
    Table::measure("A span while recording", rounds, &mut cases)
}

/// A span that nobody records. The empty loop is what the measuring itself costs.
pub(crate) fn disabled(rounds: usize) -> Table {
    let count = 100_000;
    let mut cases = [
        Case::repeated("an empty loop", count, || (), || black_box(()), drop),
        Case::repeated(
            "mindtorch-profiler",
            count,
            || (),
            || {
                let _span = record_function!("work");
                black_box(());
            },
            drop,
        ),
        Case::repeated(
            "puffin",
            count,
            || (),
            || {
                puffin::profile_scope!("work");
                black_box(());
            },
            drop,
        ),
        Case::repeated(
            "fastrace",
            count,
            || (),
            || {
                let _span = fastrace::local::LocalSpan::enter_with_local_parent("work");
                black_box(());
            },
            drop,
        ),
    ];
    Table::measure("A span with no session", rounds, &mut cases)
}
