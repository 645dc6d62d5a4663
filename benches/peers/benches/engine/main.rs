//! What the engine costs: a span beside its peers, on and off; one that allocates; threads; and, by the number of events, stopping, building,
//! averaging and writing.
//!
//! `make bench`, or `cargo bench -p mindtorch-benches`. With `-- --quick`, fewer rounds and no 10-million case; with
//! `-- --json FILE`, the tables of cases that take turns also go to that file.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod blocks;
mod clock;
mod packets;
mod pipeline;
mod spans;
mod threads;

use mindtorch_benches::Table;
use serde_json::Value;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    let json = arguments.iter().position(|argument| argument == "--json").and_then(|at| arguments.get(at + 1));
    let (rounds, few_rounds) = if is_quick { (20, 3) } else { (200, 7) };
    describe_machine();
    let mut tables =
        vec![spans::recorded(rounds), blocks::recorded(rounds), spans::disabled(rounds), threads::threads(rounds / 4)];
    tables.iter().for_each(Table::print);
    let sizes = if is_quick { [(100_000, 3), (1_000_000, 3)] } else { [(1_000_000, 7), (10_000_000, 3)] };
    for (events, rounds) in sizes {
        pipeline::pipeline(events, rounds);
    }
    pipeline::detailed(1_000_000);
    tables.extend(packets::packets(1_000_000, few_rounds));
    match json {
        Some(path) => std::fs::write(path, tables.iter().map(Table::to_json).collect::<Value>().to_string()),
        None => Ok(()),
    }
}

fn describe_machine() {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("{} x{}", model.trim_start_matches(['\t', ' ', ':']), cores);
}
