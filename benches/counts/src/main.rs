//! How many instructions an event takes: exact, where times are not, so that one more is seen.
//!
//! `make count` compares with `baseline.txt`, and `make count-update` writes it. The program starts itself under valgrind for
//! each case, which counts the instructions in `child::repeat`: those of 100 events, after 1,000 others, less those of as
//! many calls that do nothing. Each case is a process, so that none depends on what another left behind.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints what it finds")]

mod baseline;
mod cases;
mod child;
mod functions;
mod table;
mod valgrind;

use baseline::{Baseline, Count};
use cases::{CASES, Case};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
mindtorch-counts               compare with the baseline; what other tools than the baseline's count is shown, not judged
mindtorch-counts --strict      compare, and insist on the same tools where counts differ
mindtorch-counts --update      write the baseline
mindtorch-counts --where CASE  show which functions the instructions are in";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args[..] {
        [] => compare(false),
        ["--strict"] => compare(true),
        ["--update"] => update(),
        ["--where", name] => find(name).and_then(valgrind::show_functions),
        [child::FLAG, name, events] => child::run(name, events),
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

fn find(name: &str) -> Result<&'static Case, String> {
    let known = || CASES.iter().map(|case| format!("  {}\n", case.name)).collect::<String>();
    CASES.iter().find(|case| case.name == name).ok_or_else(|| format!("no case is {name:?}; there are:\n{}", known()))
}

fn baseline_path() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/baseline.txt"))
}

fn compare(is_strict: bool) -> Result<(), String> {
    let path = baseline_path();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (stored, now) = (Baseline::parse(&text)?, count()?);
    print!("{}", table::render(&stored, &now));
    let differing = stored.differing(&now);
    if differing == 0 {
        return Ok(());
    }
    let tools = stored.other_tools(&now);
    if tools.is_empty() {
        return Err(format!(
            "{differing} counts differ. If that is meant, also where there are fewer: make count-update, and commit it."
        ));
    }
    let message = format!(
        "The baseline was made with other tools, which count differently, so this says nothing about the program:\n\
         {tools}To compare a change with what it changes, run make count-update before it."
    );
    if is_strict {
        return Err(message);
    }
    println!("{message}");
    Ok(())
}

fn update() -> Result<(), String> {
    let path = baseline_path();
    let now = count()?;
    if let Some(stored) = std::fs::read_to_string(path).ok().and_then(|text| Baseline::parse(&text).ok()) {
        print!("{}", table::render(&stored, &now));
    }
    std::fs::write(path, now.to_string()).map_err(|error| format!("{}: {error}", path.display()))
}

fn count() -> Result<Baseline, String> {
    let numbers: BTreeSet<usize> = CASES.iter().map(|case| case.events).collect();
    let nothing: Vec<Case> = numbers.into_iter().map(Case::nothing).collect();
    let counted = valgrind::count_all(&nothing.iter().chain(CASES).collect::<Vec<_>>())?;
    let (calls, counted) = counted.split_at(nothing.len());
    let counts = CASES.iter().zip(counted).map(|(case, counted)| {
        let of_calls = nothing.iter().zip(calls).find(|(nothing, _)| nothing.events == case.events);
        let calls = of_calls.expect("nothing is done for each number of events").1;
        Count::new(case.name, counted.instructions - calls.instructions, case.events)
    });
    Ok(Baseline { tools: valgrind::tools(&calls[0].machine)?, counts: counts.collect() })
}
