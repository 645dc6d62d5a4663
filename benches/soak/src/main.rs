//! Much, for long: whether memory stays within its bounds, and every event is accounted for.
//!
//! `make soak` runs it, and then kills processes that record to files. Each row of the table is a process of its own, so that
//! none has the memory of another; it fails if an event is neither kept nor counted as dropped.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints what it finds")]

mod figures;
mod rows;
mod table;
mod usage;

use figures::Figures;
use rows::{ROWS, Row};
use std::process::{Command, ExitCode, Stdio};

const USAGE: &str = "\
mindtorch-soak             every row
mindtorch-soak --quick     with a tenth of the events
mindtorch-soak ROW [SIZE]  one row, in this process";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args[..] {
        [] => run_all(1),
        ["--quick"] => run_all(10),
        [name] => find(name).map(|row| run(row, row.size)),
        [name, size] => find(name).and_then(|row| {
            let size = size.parse().map_err(|_| USAGE.to_owned())?;
            run(row, size);
            Ok(())
        }),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn find(name: &str) -> Result<&'static Row, String> {
    let known = || ROWS.iter().map(|row| format!("  {:12} {}\n", row.name, row.what)).collect::<String>();
    ROWS.iter().find(|row| row.name == name).ok_or_else(|| format!("{USAGE}\n{}", known()))
}

/// Runs a row, and prints what it took for the process that shows it.
fn run(row: &Row, size: u64) {
    print!("{}", (row.run)(size));
}

/// Runs every row with this part of its size, each in a process of its own.
fn run_all(part: u64) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut done = Vec::new();
    for row in ROWS {
        let size = row.size.div_ceil(part);
        eprintln!("{}: {} {}", row.what, table::grouped(size), row.unit);
        let mut command = Command::new(&program);
        command.args([row.name, &size.to_string()]).stderr(Stdio::inherit());
        let output = command.output().map_err(|error| format!("{}: {error}", row.name))?;
        if !output.status.success() {
            return Err(format!("{}: {}", row.what, output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        done.push((row, text.parse::<Figures>()?));
    }
    print!("{}", table::render(&done));
    Ok(())
}
