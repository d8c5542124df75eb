"""Runs each batch of work where it pays, measures it, and judges what was measured."""

import os as _os

from . import operators as operators
from ._advise import OptimizationSuggestion as OptimizationSuggestion
from ._advise import ProfilerOptimizer as ProfilerOptimizer
from ._advise import advise as advise
from ._breakeven import ExecutionResult as ExecutionResult
from ._breakeven import Scope as Scope
from ._breakeven import __version__ as __version__
from ._breakeven import profile as profile
from ._compare import Comparison as Comparison
from ._compare import ComparisonSummary as ComparisonSummary
from ._compare import OperationComparison as OperationComparison
from ._compare import Verdict as Verdict
from ._compare import compare as compare
from ._compare import compare_profiling_runs as compare_profiling_runs
from ._errors import BreakevenError as BreakevenError
from ._errors import Cancelled as Cancelled
from ._errors import CompareError as CompareError
from ._errors import DeadlineExceeded as DeadlineExceeded
from ._errors import DeviceError as DeviceError
from ._errors import FallbackWarning as FallbackWarning
from ._errors import FileError as FileError
from ._errors import InconclusiveWarning as InconclusiveWarning
from ._errors import InvalidError as InvalidError
from ._errors import ProfileError as ProfileError
from ._errors import RecordingError as RecordingError
from ._errors import Stopped as Stopped
from ._errors import TaskError as TaskError
from ._profile import Operation as Operation
from ._profile import Profile as Profile
from ._profile import load as load
from ._record import Profiler as Profiler
from ._record import get_profiler as get_profiler
from ._run import Workload as Workload
from ._run import forget as forget
from ._run import run as run
from ._run import run_async as run_async
from ._sweep import Swept as Swept
from ._sweep import sweep as sweep
from .operators import Operator as Operator

if "XDG_RUNTIME_DIR" not in _os.environ:
    # Without that folder, Mesa's device selection looks for a display in vain and reports that on
    # stderr. Devices are chosen by name here, so it is not needed.
    _os.environ.setdefault("NODEVICE_SELECT", "1")


def __getattr__(name: str) -> object:
    """``breakeven.ray`` is imported on first use, because importing Ray takes half a second."""
    if name == "ray":
        import importlib

        return importlib.import_module(".ray", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
