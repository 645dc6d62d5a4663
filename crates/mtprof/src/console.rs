//! Where answers, notes and progress go.

use crate::error::Error;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};

/// How a user wants to be answered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wishes {
    /// As JSON.
    pub(crate) json: bool,
    /// Without notes and progress.
    pub(crate) quiet: bool,
    /// From what there is of a file that is cut off.
    pub(crate) partial: bool,
}

/// What the streams can show.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terminals {
    /// Standard output shows colours.
    paints: bool,
    /// Standard error shows progress.
    moves: bool,
}

impl Terminals {
    /// What this process's own streams show, and what the environment says of colours: <https://no-color.org>.
    pub(crate) fn of_process() -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        Self {
            paints: io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb,
            moves: io::stderr().is_terminal() && !is_dumb,
        }
    }
}

/// Standard output and error, and how they are wanted.
pub(crate) struct Console<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    wishes: Wishes,
    terminals: Terminals,
}

impl<'a> Console<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, err: &'a mut dyn Write, wishes: Wishes, terminals: Terminals) -> Self {
        Self { out, err, wishes, terminals }
    }

    /// Writes an answer: as JSON if that was asked for, else as `text` makes it.
    pub(crate) fn answer<T: Serialize>(&mut self, value: &T, text: impl FnOnce(&T) -> String) -> Result<(), Error> {
        if self.wishes.json {
            let json = serde_json::to_string_pretty(value).map_err(|error| Error::Output(error.into()))?;
            writeln!(self.out, "{json}")?;
        } else {
            self.out.write_all(text(value).as_bytes())?;
        }
        self.out.flush()?;
        Ok(())
    }

    /// Returns an error if standard output is closed.
    pub(crate) fn check_output(&mut self) -> Result<(), Error> {
        Ok(self.out.flush()?)
    }

    /// Says something that is not the answer.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.wishes.quiet {
            // If nobody can be told, the answer still can be given.
            let _ = writeln!(self.err, "mtprof: {text}");
        }
    }

    /// Says what went wrong, to whoever wants to hear it or not.
    pub(crate) fn complain(&mut self, error: &Error) {
        // If standard error is closed too, there is nobody to tell.
        let _ = writeln!(self.err, "mtprof: {error}");
    }

    /// Whether what there is of a broken file will do.
    pub(crate) fn takes_partial(&self) -> bool {
        self.wishes.partial
    }

    /// How to emphasise text in an answer.
    pub(crate) fn paint(&self) -> Paint {
        Paint { is_on: self.terminals.paints }
    }

    /// A bar that shows how many bytes of `what` were read, of `length` if that is known. It shows nothing where nobody would
    /// see it, and may be used by any thread.
    pub(crate) fn progress(&self, what: &str, length: Option<u64>) -> ProgressBar {
        if !self.terminals.moves || self.wishes.quiet || self.wishes.json {
            return ProgressBar::hidden();
        }
        let template = match length {
            Some(_) => "{msg} [{bar:30}] {bytes} of {total_bytes}, {eta} left",
            None => "{msg} {spinner} {bytes}",
        };
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr()).with_message(what.to_owned());
        match ProgressStyle::with_template(template) {
            Ok(style) => bar.with_style(style.progress_chars("=> ")),
            Err(_) => bar,
        }
    }
}

/// Emphasis, where there is any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    /// A line above others.
    pub(crate) fn heading(self, text: &str) -> String {
        if self.is_on { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }
}
