//! Counts the instructions of an event. Counts do not vary from run to run as times do, so small changes are seen.
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

use baseline::{Baseline, Count, REFERENCE_COMMIT};
use cases::{CASES, Case};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
mindtorch-counts               compare with the baseline; fails only if the baseline was made with the same tools
mindtorch-counts --strict      compare, and fail with other tools as well
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
    let differing = match stored.differing(&now) {
        0 => String::new(),
        number => format!(
            "Counts that differ from the baseline by more than 2 % and by more than one instruction: {number}. \
             If the change is intended, also where there are fewer, run make count-update and commit it.\n"
        ),
    };
    let problems = differing + &without_reason(&stored, &now);
    if problems.is_empty() {
        return Ok(());
    }
    let tools = stored.other_tools(&now);
    if tools.is_empty() {
        return Err(problems);
    }
    let message = format!(
        "{problems}The baseline was made with other tools, which may be the cause:\n\
         {tools}To measure a change with these tools, run make count-update before it."
    );
    if is_strict {
        return Err(message);
    }
    println!("{message}");
    Ok(())
}

/// Returns a message that lists the cases that need a reason in the baseline file.
fn without_reason(stored: &Baseline, now: &Baseline) -> String {
    let names = stored.unexplained(now);
    if names.is_empty() {
        return String::new();
    }
    let names: String = names.into_iter().map(|name| format!("  {name}\n")).collect();
    format!(
        "These cases changed by more than 5 % since commit {REFERENCE_COMMIT}. Write the reason after # at the end of \
         their lines in {}:\n{names}",
        baseline_path().display()
    )
}

fn update() -> Result<(), String> {
    let path = baseline_path();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (stored, now) = (Baseline::parse(&text)?, count()?);
    print!("{}{}", table::render(&stored, &now), without_reason(&stored, &now));
    let updated = stored.updated(now);
    std::fs::write(path, updated.to_string()).map_err(|error| format!("{}: {error}", path.display()))
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
