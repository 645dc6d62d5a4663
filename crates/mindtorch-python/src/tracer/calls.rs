//! The calls that a thread is in the middle of, each with its span.
//!
//! Events may be missed: a program may take our hook away and put it back. So each event is compared with the frames that
//! are really running, and where they differ, what is over is ended and what is missing is begun.

use super::interpreter::{Builtin, Event, Frame, GilCell, Happening};
use super::names::{self, Shown};
use super::{modules, registry};
use mindtorch_profiler::{Capture, Name, Span, SpanArgs, SpanKind, capture};
use pyo3::prelude::*;

/// The calls of a thread, outermost first.
pub(super) struct Calls(GilCell<Open>);

#[derive(Default)]
struct Open {
    calls: Vec<Call>,
    /// The frame that hides all that happens until it returns, or 0.
    hidden_by: usize,
    /// Whether functions were being recorded at the last event.
    is_recording: bool,
}

/// The innermost call.
#[derive(Clone, Copy, Default)]
struct Top {
    /// As a call has it, or 0.
    frame: usize,
    is_left_out: bool,
}

struct Call {
    /// The address of the frame; for a call of a builtin, of the frame that calls it, with the lowest bit set.
    frame: usize,
    /// Whether it is left out, with the builtins that it calls.
    is_left_out: bool,
    starts_thread: bool,
    span: Span,
}

const BUILTIN: usize = 1;

impl Calls {
    pub(super) const fn new() -> Self {
        Self(GilCell::new(Open { calls: Vec::new(), hidden_by: 0, is_recording: false }))
    }

    /// Takes note of an event. True if the program may have started a thread.
    #[inline]
    pub(super) fn event(&self, happening: &Happening<'_, '_>) -> bool {
        let (frame, py) = (happening.frame, happening.frame.py());
        let is_recording = capture().contains(Capture::FUNCTIONS);
        let state = self.0.with(py, |open| (open.hidden_by, open.is_recording, open.top()));
        let Some((hidden_by, was_recording, mut top)) = state else { return false };
        if hidden_by != 0 {
            if hidden_by == frame.address() && happening.event == Event::Return {
                self.0.with(py, |open| open.hidden_by = 0);
            }
            return false;
        }
        if is_recording != was_recording {
            top = self.switch(py, is_recording);
        }
        match happening.event {
            Event::Call => self.call(frame, top),
            Event::Return => _ = self.end(py, frame.address()),
            Event::BuiltinCall => self.call_builtin(frame, happening.value, top),
            Event::BuiltinReturn => return self.end(py, frame.address() | BUILTIN),
            Event::Other => {}
        }
        false
    }

    #[inline]
    fn call(&self, frame: &Frame<'_>, top: Top) {
        let caller = frame.back();
        let caller_address = caller.as_ref().map_or(0, Frame::address);
        if top.frame & !BUILTIN != caller_address {
            self.match_frames(frame.py(), caller.as_ref());
            if self.is_hidden(frame.py()) {
                return;
            }
        }
        let line = match &caller {
            Some(caller) if caller_address == top.frame && !top.is_left_out => names::line(caller),
            _ => self.calling_line(caller),
        };
        self.begin(frame, line, None);
    }

    /// The line that a caller is at. Of one that is left out, nobody sees the file: then it is its caller's line.
    fn calling_line(&self, mut caller: Option<Frame<'_>>) -> u32 {
        while let Some(frame) = &caller
            && self.is_left_out(frame)
        {
            caller = frame.back();
        }
        caller.map_or(0, |caller| names::line(&caller))
    }

    fn is_left_out(&self, frame: &Frame<'_>) -> bool {
        let is_left_out = |open: &mut Open| {
            let call = open.calls.iter().rev().find(|call| call.frame == frame.address());
            call.is_some_and(|call| call.is_left_out)
        };
        self.0.with(frame.py(), is_left_out).unwrap_or(false)
    }

    /// Begins the span of a frame; of one that runs already, with the name that is given.
    #[inline]
    fn begin(&self, frame: &Frame<'_>, caller_line: u32, running: Option<Name>) {
        let Some(function) = names::function(frame) else { return };
        let address = frame.address();
        let begin = |name: Name, module: Option<u32>| {
            Span::begin(&SpanArgs::new(SpanKind::Function, name).call(caller_line, module))
        };
        let (span, is_left_out) = match function.shown {
            Shown::Yes => (begin(running.unwrap_or(function.name), None), false),
            Shown::AsModule => match modules::module(frame) {
                Some(module) => (begin(module.name, Some(module.number)), false),
                None => (begin(function.name, None), false),
            },
            Shown::Through => (Span::none(), true),
            Shown::No => {
                self.0.with(frame.py(), |open| open.hidden_by = address);
                return;
            }
        };
        self.0
            .with(frame.py(), |open| open.calls.push(Call { frame: address, is_left_out, starts_thread: false, span }));
    }

    #[inline]
    fn call_builtin(&self, frame: &Frame<'_>, value: Option<&Bound<'_, PyAny>>, mut top: Top) {
        let py = frame.py();
        if top.frame != frame.address() {
            self.match_frames(py, Some(frame));
            if self.is_hidden(py) {
                return;
            }
            top = self.0.with(py, |open| open.top()).unwrap_or(top);
        }
        let function =
            value.and_then(|value| Builtin::of_object(value.as_borrowed())).and_then(|it| names::builtin(&it));
        let span = match function {
            Some(function) if function.is_shown && !top.is_left_out => {
                Span::begin(&SpanArgs::new(SpanKind::Function, function.name).call(names::line(frame), None))
            }
            _ => Span::none(),
        };
        let starts_thread = function.is_some_and(|function| function.starts_thread);
        let call = Call { frame: frame.address() | BUILTIN, is_left_out: false, starts_thread, span };
        self.0.with(py, |open| open.calls.push(call));
    }

    /// Ends the call of a frame, and those in it whose ends were missed. True if it may have started a thread.
    #[inline]
    fn end(&self, py: Python<'_>, frame: usize) -> bool {
        let end = |open: &mut Open| {
            if open.top().frame != frame {
                open.end_after(frame)?;
            }
            let call = open.calls.pop()?;
            // This is the thread that the calls are of.
            call.span.end_where_it_began();
            Some(call.starts_thread)
        };
        self.0.with(py, end).flatten().unwrap_or(false)
    }

    /// Makes the calls those of the frames that are running, of which `frame` is the innermost.
    #[cold]
    pub(super) fn match_frames(&self, py: Python<'_>, frame: Option<&Frame<'_>>) {
        let mut frames = Vec::new();
        let mut next = frame.cloned();
        while let Some(frame) = next {
            next = frame.back();
            frames.push(frame);
        }
        frames.reverse();
        let known = self.0.with(py, |open| open.keep(&frames)).unwrap_or(0);
        for frame in frames.iter().skip(known) {
            let line = self.calling_line(frame.back());
            self.begin(frame, line, names::running(frame));
            if self.is_hidden(py) {
                break;
            }
        }
    }

    /// Recording begins or ends. The frames that were called meanwhile have no spans yet: they are begun again. The
    /// innermost call then.
    #[cold]
    fn switch(&self, py: Python<'_>, is_recording: bool) -> Top {
        if !is_recording {
            registry::check_process(py);
        }
        self.0
            .with(py, |open| {
                open.is_recording = is_recording;
                let unrecorded = open.calls.iter().position(|call| !call.is_left_out && !call.span.is_recorded());
                if let (true, Some(at)) = (is_recording, unrecorded) {
                    open.truncate(at);
                }
                open.top()
            })
            .unwrap_or_default()
    }

    fn is_hidden(&self, py: Python<'_>) -> bool {
        self.0.with(py, |open| open.hidden_by != 0).unwrap_or(true)
    }

    /// Ends all calls, innermost first.
    pub(super) fn end_all(&self, py: Python<'_>) {
        self.0.with(py, |open| {
            open.truncate(0);
            open.hidden_by = 0;
            open.is_recording = false;
        });
    }
}

impl Open {
    #[inline]
    fn top(&self) -> Top {
        let top = |call: &Call| Top { frame: call.frame, is_left_out: call.is_left_out };
        self.calls.last().map(top).unwrap_or_default()
    }

    /// Ends the calls in that of a frame; None if it has none.
    #[cold]
    fn end_after(&mut self, frame: usize) -> Option<()> {
        let at = self.calls.iter().rposition(|call| call.frame == frame)?;
        self.truncate(at + 1);
        Some(())
    }

    fn truncate(&mut self, length: usize) {
        while self.calls.len() > length {
            self.calls.pop();
        }
    }

    /// Ends the calls that are not of these frames. The number of frames that have calls.
    fn keep(&mut self, frames: &[Frame<'_>]) -> usize {
        let (mut kept, mut known) = (0, 0);
        for (at, call) in self.calls.iter().enumerate() {
            if call.frame & BUILTIN != 0 {
                continue;
            }
            if frames.get(known).is_none_or(|frame| frame.address() != call.frame) {
                break;
            }
            known += 1;
            kept = at + 1;
        }
        self.truncate(kept);
        known
    }
}
