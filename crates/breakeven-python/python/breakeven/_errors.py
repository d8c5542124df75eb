"""The exceptions of the package. Each message says what was wrong, where, and what to do."""

from __future__ import annotations


class BreakevenError(Exception):
    """The base of all errors of this package."""


class FileError(BreakevenError, OSError):
    """A file cannot be read or written: no such file, no permission, disk full."""


class ProfileError(BreakevenError, ValueError):
    """The input is not a valid profile."""


class RecordingError(BreakevenError, RuntimeError):
    """The recording is empty, so there is nothing to write."""


class CompareError(BreakevenError, ValueError):
    """Two sides cannot be compared: one is empty, or they have nothing in common."""


class InconclusiveWarning(UserWarning):
    """A comparison could not decide whether operations have changed."""


class InvalidError(BreakevenError, ValueError):
    """The request is invalid; the message says what to do instead."""


class TaskError(BreakevenError):
    """The CPU's function failed at a task; ``__cause__`` is the exception."""

    #: The task's index in the batch; for tasks done in one call, the first.
    index: int
    #: End of the range of tasks that were done in that call.
    end: int

    def __init__(self, index: int, message: str, end: int = 0) -> None:
        end = max(end, index + 1)
        where = f"task {index}" if end == index + 1 else f"tasks {index} to {end - 1}"
        super().__init__(f"{where}: {message}")
        self.index, self.end = index, end
        self._message = message

    def __reduce__(self) -> tuple[type, tuple[int, str, int]]:
        return type(self), (self.index, self._message, self.end)


class DeviceError(BreakevenError):
    """A device failed and fallback to the CPU was not allowed. A GPU's function may also raise
    it to report how its device failed."""

    #: ``out_of_memory``, ``never_fits``, ``unavailable``, ``refused``, ``unsupported``,
    #: ``compile``, ``launch``, ``device_lost``, ``timeout``, ``panic``, ``wrong_result`` or
    #: ``other``.
    kind: str

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(message or kind.replace("_", " "))
        self.kind = kind

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.kind, str(self))


class Stopped(BreakevenError):
    """A batch was stopped before all its tasks were done."""

    #: Tasks that were done.
    done: int
    #: Tasks of the batch.
    tasks: int

    def __init__(self, done: int, tasks: int) -> None:
        super().__init__(f"{self.__doc__} {done} of {tasks} tasks were done.")
        self.done = done
        self.tasks = tasks

    def __reduce__(self) -> tuple[type, tuple[int, int]]:
        return type(self), (self.done, self.tasks)


class Cancelled(Stopped):
    """The batch was cancelled."""


class DeadlineExceeded(Stopped, TimeoutError):
    """The batch's deadline passed."""


class FallbackWarning(RuntimeWarning):
    """The CPU did tasks instead of the GPU."""
