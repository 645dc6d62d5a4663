//! Counting by valgrind, which plays a processor: the same on all machines, but for what [`tools`] says.

use crate::baseline::per_event;
use crate::cases::Case;
use crate::{child, functions};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The function in which instructions are counted, with all that it calls. Names may have a hash at the end.
const COUNTED: &str = "--toggle-collect=mindtorch_counts::child::repeat*";

#[derive(Clone)]
pub(crate) struct Counted {
    pub(crate) instructions: u64,
    /// What the program found itself on.
    pub(crate) machine: String,
}

/// Counts all cases, as many at once as there are cores.
pub(crate) fn count_all(cases: &[&Case]) -> Result<Vec<Counted>, String> {
    let (next, counted) = (AtomicUsize::new(0), Mutex::new(vec![None; cases.len()]));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let at = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(case) = cases.get(at)
                {
                    let count = count(case);
                    counted.lock().expect("no thread panics")[at] = Some(count);
                }
            });
        }
    });
    counted.into_inner().expect("no thread panics").into_iter().flatten().collect()
}

fn count(case: &Case) -> Result<Counted, String> {
    let Ran { output, log } = run(case, Path::new("/dev/null"))?;
    let instructions = log.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    let instructions = instructions.filter(|&count| count > 0).ok_or_else(|| format!("nothing was counted:\n{log}"))?;
    Ok(Counted { instructions, machine: output.trim().to_owned() })
}

/// What a count depends on, besides the program.
pub(crate) fn tools(machine: &str) -> Result<Vec<String>, String> {
    let libc = output(Command::new("getconf").arg("GNU_LIBC_VERSION"))?;
    let valgrind = output(Command::new("valgrind").arg("--version"))?;
    Ok(vec![env!("COMPILER").to_owned(), libc, valgrind, machine.to_owned()])
}

/// Prints which functions the instructions of an event are in.
pub(crate) fn show_functions(case: &Case) -> Result<(), String> {
    let path = std::env::temp_dir().join(format!("mindtorch-counts-{}", std::process::id()));
    run(case, &path)?;
    let file = std::fs::read_to_string(&path);
    std::fs::remove_file(&path).map_err(|error| error.to_string())?;
    for (function, instructions) in functions::by_own_cost(&file.map_err(|error| error.to_string())?) {
        println!("{:>10}  {function}", per_event(instructions, case.events));
    }
    Ok(())
}

struct Ran {
    output: String,
    log: String,
}

fn run(case: &Case, file: &Path) -> Result<Ran, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", COUNTED]).arg(format!("--callgrind-out-file={}", file.display()));
    command.arg(program).args([child::FLAG, case.name, &case.events.to_string()]);
    // Settings of the allocator, or of the runtime, would be counted.
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let ran = command.stdin(Stdio::null()).output().map_err(|error| format!("valgrind, which is needed: {error}"))?;
    let [output, log] = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    if ran.status.success() { Ok(Ran { output, log }) } else { Err(format!("{}: {}\n{log}", case.name, ran.status)) }
}

fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ran = command.output().map_err(|error| format!("{name}: {error}"))?;
    let text = String::from_utf8_lossy(&ran.stdout).trim_end().to_owned();
    if ran.status.success() { Ok(text) } else { Err(format!("{name}: {}", ran.status)) }
}
