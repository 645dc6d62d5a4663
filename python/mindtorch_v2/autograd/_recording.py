"""``Recording``: the native sessions of a profiler, one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2._core import Results, Session, _is_recording
from mindtorch_v2.autograd.profiler_util import EventList

if TYPE_CHECKING:
    from collections.abc import Callable


def is_any_running() -> bool:
    """Say whether any profiler of this process records."""
    return _is_recording()


class Recording:
    """What a profiler has recorded: its last session, and those before if it accumulates.

    Args:
        accumulates: keep the sessions before the last.
    """

    def __init__(self, *, accumulates: bool) -> None:
        self._accumulates = accumulates
        self._earlier: list[Session] = []
        self._session: Session | None = None
        # The last one of whose end someone was told.
        self.told_of: Session | None = None
        # What was made of the sessions up to one that has ended: the same at each call.
        self._everything: tuple[Session, Results] | None = None
        self._events: tuple[Session, EventList] | None = None

    @property
    def is_running(self) -> bool:
        """Whether something is being recorded, in this process."""
        return self._session is not None and self._session.is_running

    def start(self, make: Callable[[], Session]) -> None:
        """Begin a session."""
        if self.is_running:
            raise RuntimeError("Profiler is already running: stop it before starting it again")
        session = make()
        if self._accumulates and self._session is not None:
            self._earlier.append(self._session)
        self._session = session
        # Not to keep a recording that nobody can ask for any more.
        self._everything = self._events = None

    def finish(self) -> bool:
        """End the session; say whether it was still running."""
        return self._session is not None and self._session.finish()

    @property
    def has_news(self) -> bool:
        """Whether a session has ended of which nobody was told."""
        return self._session is not None and self._session is not self.told_of and not self._session.is_running

    def advance_to(self, step: int) -> None:
        """Be in this step, or a later one, if something is being recorded."""
        while self._session is not None and self._session.step_num < step:
            if not self._session.step():
                break

    @property
    def session(self) -> Session | None:
        """The last session."""
        return self._session

    def toggle(self, enable: bool, *, cpu: bool, device: bool) -> bool:
        """Pause or resume activities; say whether anything is being recorded."""
        return self._session is not None and self._session.toggle(enable, cpu, device)

    def last(self) -> Results | None:
        """Return what the last session recorded, so far if it is running."""
        return None if self._session is None else self._session.results()

    def everything(self) -> Results | None:
        """Return what all sessions recorded, as one."""
        session, made = self._session, self._everything
        if session is None:
            return None
        # Another thread may have started the next session meanwhile: it is not to find what was made of this one.
        if made is not None and made[0] is session:
            return made[1]
        has_ended = not session.is_running
        results = session.results()
        if self._earlier:
            results = Results.joined([*(earlier.results() for earlier in self._earlier), results])
        if has_ended:
            self._everything = session, results
        return results

    def events(self) -> EventList:
        """Return the events of all sessions: the same list at each call, once they have ended."""
        session, made = self._session, self._events
        if session is None:
            return EventList._of_nothing()
        if made is not None and made[0] is session:
            return made[1]
        has_ended = not session.is_running
        results = self.everything()
        events = EventList._of_nothing() if results is None else EventList._of_rows(results.events())
        if has_ended:
            self._events = session, events
        return events
