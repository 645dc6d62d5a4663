//! Profiles a computation: where its time and its memory go, on two threads.
//!
//! `cargo run --release --example profile_a_computation`

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use mindtorch_profiler::{Averages, ProfiledAllocator, Session, format_memory, format_time, record_function};
use std::error::Error;
use std::fs;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: ProfiledAllocator = ProfiledAllocator::system();

fn main() -> Result<(), Box<dyn Error>> {
    let session = Session::builder().profile_memory(true).record_steps(true).start();
    for _ in 0..3 {
        std::thread::scope(|scope| {
            scope.spawn(|| count_primes(200_000));
            sort(200_000);
        });
        session.step();
    }
    let trace = session.stop();

    print_averages(&trace.key_averages());
    let path = Path::new("demo-output").join("profile_a_computation.json.gz");
    fs::create_dir_all("demo-output")?;
    trace.export_chrome_trace(&path)?;
    println!("The trace is in {}: open it in https://ui.perfetto.dev", path.display());
    Ok(())
}

/// Prints a table that fits a terminal of 120 columns. `println!("{averages}")` prints one with all columns.
fn print_averages(averages: &Averages) {
    println!("{:<40}{:>12}{:>14}{:>14}{:>16}", "Name", "# of Calls", "Self CPU", "CPU total", "Self CPU Mem");
    for row in averages.rows() {
        let [own, total] = [row.self_cpu_ns, row.cpu_total_ns].map(|ns| format_time(ns as f64 / 1e3));
        let memory = format_memory(row.self_cpu_memory);
        println!("{:<40}{:>12}{own:>14}{total:>14}{memory:>16}", row.key, row.count);
    }
}

fn sort(count: u64) -> Vec<u64> {
    let _span = record_function!("sort");
    let mut numbers = {
        let _span = record_function!("make numbers");
        (0..count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect::<Vec<_>>()
    };
    numbers.sort_unstable();
    numbers
}

fn count_primes(below: usize) -> usize {
    let _span = record_function!("count primes");
    let mut is_prime = vec![true; below];
    is_prime[..2].fill(false);
    for i in 2..below.isqrt() + 1 {
        if is_prime[i] {
            let _span = record_function!("strike out");
            is_prime[i * i..].iter_mut().step_by(i).for_each(|multiple| *multiple = false);
        }
    }
    is_prime.into_iter().filter(|&prime| prime).count()
}
