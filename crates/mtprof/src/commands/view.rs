//! `mtprof view`: shows the page in a browser, from this machine.

use super::report::Traces;
use crate::OK;
use crate::console::Console;
use crate::error::Error;
use crate::server::Server;
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Show a page of where time and memory went, in a browser
///
/// The page is served to this machine alone, until this command is interrupted (Ctrl-C).
#[derive(Debug, Args)]
pub(crate) struct View {
    /// Traces: processes, or ranks, of one run; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Show what changed from the first trace to the second
    #[arg(long)]
    diff: bool,
    /// The port to serve it on; 0 is any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Say where the page is, and open no browser
    #[arg(long)]
    no_open: bool,
}

#[derive(Debug, Serialize)]
struct Served {
    address: String,
}

impl View {
    pub(crate) fn run(&self, console: &mut Console<'_>) -> Result<u8, Error> {
        let mut page = Vec::new();
        Traces::load(&self.files, console)?.report(self.diff, None)?.write(&mut page)?;
        let server = Server::bind(self.port, page)?;
        let served = Served { address: server.address() };
        console.answer(&served, |served| format!("{}\n", served.address))?;
        if !self.no_open && !open(&served.address) {
            console.note("no browser could be started: open the address above");
        }
        server.serve()?;
        Ok(OK)
    }
}

/// Opens a browser; whether there was one to ask.
fn open(address: &str) -> bool {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    Command::new(opener).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}
