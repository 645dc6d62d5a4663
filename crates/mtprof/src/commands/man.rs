//! `mtprof man`: the manual, as pages that `man` shows.

use crate::console::Console;
use crate::error::Error;
use crate::{Cli, OK};
use clap::{Args, CommandFactory};
use clap_mangen::Man as Page;

/// Write the manual page of mtprof or of one of its commands
#[derive(Debug, Args)]
#[command(after_help = "To read it: mtprof man summary | man -l -")]
pub(crate) struct Man {
    /// A command
    command: Option<String>,
}

impl Man {
    pub(crate) fn run(&self, console: &mut Console<'_>) -> Result<u8, Error> {
        let mut mtprof = Cli::command();
        // Gives the commands the options that all have, and their whole names.
        mtprof.build();
        let command = match &self.command {
            None => mtprof,
            Some(name) => {
                let known = mtprof.find_subcommand(name);
                known.ok_or_else(|| Error::Use(format!("there is no command {name:?}; see mtprof --help")))?.clone()
            }
        };
        let mut page = Vec::new();
        Page::new(command).render(&mut page)?;
        console.answer(&String::from_utf8_lossy(&page), ToString::to_string)?;
        Ok(OK)
    }
}
