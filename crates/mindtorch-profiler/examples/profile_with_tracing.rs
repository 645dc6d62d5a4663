//! Profiles a program that is instrumented with `tracing`: one layer is all it takes.
//!
//! `cargo run --release --example profile_with_tracing --features tracing`

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use mindtorch_profiler::{Session, tracing_layer::ProfilerLayer};
use std::error::Error;
use std::fs;
use std::path::Path;
use tracing::{info, instrument};
use tracing_subscriber::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::registry().with(ProfilerLayer::new()).init();

    let session = Session::start();
    for request in 0..3 {
        serve(request);
    }
    let trace = session.stop();

    println!("{}", trace.key_averages());
    let path = Path::new("demo-output").join("profile_with_tracing.json");
    fs::create_dir_all("demo-output")?;
    trace.export_chrome_trace(&path)?;
    println!("The trace is in {}: open it in https://ui.perfetto.dev", path.display());
    Ok(())
}

#[instrument]
fn serve(request: u64) -> usize {
    let words = load(request);
    info!("loaded");
    count(&words)
}

#[instrument]
fn load(seed: u64) -> Vec<String> {
    (0..20_000u64).map(|i| format!("word{}", i.wrapping_mul(seed + 7) % 997)).collect()
}

#[instrument(skip_all)]
fn count(words: &[String]) -> usize {
    words.iter().collect::<std::collections::HashSet<_>>().len()
}
