"""Recording: ``profile`` and the profiler of the process."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Optional, TypeVar

from . import _breakeven
from ._breakeven import Scope, profile
from ._check import invalid, shown
from ._profile import Profile

Function = TypeVar("Function", bound=Callable[..., Any])


def decorate(scope: Scope, function: Function) -> Function:
    """Returns ``function`` with its calls recorded; what ``scope(function)`` does.

    A coroutine or generator is one call from its first step to its end; the time between two waits
    is its own time.
    """
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorate(scope, function.__func__))
    if not callable(function) or inspect.isclass(function):
        raise TypeError(f"breakeven.profile takes a name or a function, not {shown(function)}")
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    named = scope.named(name.replace("<locals>.", ""))
    wrapper: Any
    if inspect.isasyncgenfunction(function):
        raise TypeError(
            f"{name} is an asynchronous generator, which cannot be decorated: "
            "put `with breakeven.profile(\"name\"):` around the code to measure"
        )
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return await named.parts(function(*args, **kwargs))

    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return (yield from named.parts(function(*args, **kwargs)))

    else:

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if not _on:
                return function(*args, **kwargs)
            with named:
                return function(*args, **kwargs)

    return wrapper  # type: ignore[no-any-return]


#: For decorated functions: reading it takes no call.
_on = _breakeven.is_recording()


class Profiler:
    """The profiler of this process, from :func:`get_profiler`."""

    __slots__ = ()

    profile = staticmethod(profile)

    @property
    def enabled(self) -> bool:
        """True while calls are recorded. ``BREAKEVEN_RECORD=off`` in the environment has
        priority."""
        return _breakeven.is_recording()

    @enabled.setter
    def enabled(self, enabled: bool) -> None:
        global _on
        if not isinstance(enabled, bool):
            raise invalid("enabled", enabled, "give True or False")
        _breakeven.record(enabled)
        _on = _breakeven.is_recording()

    def snapshot(self) -> Profile:
        """The recording so far, of all threads, as one run. Open calls are not in it."""
        return Profile._of(_breakeven.snapshot(), "this process")

    export_json = staticmethod(_breakeven.export_json)
    reset = staticmethod(_breakeven.reset)
    timeline = staticmethod(_breakeven.timeline)
    losses = staticmethod(_breakeven.losses)

    def __repr__(self) -> str:
        return f"<breakeven.Profiler, {'on' if self.enabled else 'off'}>"


def get_profiler(enabled: Optional[bool] = None) -> Profiler:
    """The profiler of this process; True or False switches recording on or off.

    Recording is on from the start: nothing must be called before the first ``with
    breakeven.profile("name"):``.
    """
    profiler = Profiler()
    if enabled is not None:
        profiler.enabled = enabled
    return profiler
