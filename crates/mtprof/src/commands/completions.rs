//! `mtprof completions`: what a shell reads to complete commands and options.

use crate::console::Console;
use crate::error::Error;
use crate::{Cli, OK};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Write a script with which a shell completes commands and options
#[derive(Debug, Args)]
#[command(after_help = "For bash: mtprof completions bash > ~/.local/share/bash-completion/completions/mtprof")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, console: &mut Console<'_>) -> Result<u8, Error> {
        let mut script = Vec::new();
        let mut command = Cli::command();
        let name = command.get_name().to_owned();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        console.answer(&String::from_utf8_lossy(&script), ToString::to_string)?;
        Ok(OK)
    }
}
