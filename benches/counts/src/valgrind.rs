//! Counting by valgrind, which plays a processor: on all machines the same, but for what [`Counted::tools`] says.

use crate::cases::Case;
use crate::child;
use std::path::Path;
use std::process::{Command, Stdio};

/// The function in which instructions are counted, with all that it calls. Names may have a hash at the end.
const COUNTED: &str = "--toggle-collect=mindtorch_counts::child::repeat*";

#[derive(Clone)]
pub(crate) struct Counted {
    pub(crate) instructions: u64,
    /// What made the program and its count.
    pub(crate) tools: Vec<String>,
}

pub(crate) fn count(case: &Case) -> Result<Counted, String> {
    let ran = run(case, Path::new("/dev/null"))?;
    let instructions = ran.log.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    let instructions =
        instructions.filter(|&count| count > 0).ok_or_else(|| format!("nothing was counted:\n{}", ran.log))?;
    let tools = vec![
        env!("COMPILER").to_owned(),
        output(Command::new("getconf").arg("GNU_LIBC_VERSION"))?,
        output(Command::new("valgrind").arg("--version"))?,
        ran.output.trim().to_owned(),
    ];
    Ok(Counted { instructions, tools })
}

/// Prints which functions the instructions are in, with what they call and without.
pub(crate) fn annotate(case: &Case) -> Result<(), String> {
    let file = std::env::temp_dir().join(format!("mindtorch-counts-{}", std::process::id()));
    run(case, &file)?;
    let annotated = ["--inclusive=yes", "--inclusive=no"].map(|option| {
        output(Command::new("callgrind_annotate").args([option, "--auto=no", "--threshold=100"]).arg(&file))
    });
    let removed = std::fs::remove_file(&file).map_err(|error| error.to_string());
    for text in annotated {
        println!("{}", text?);
    }
    removed
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
