"""A worker of Ray Data: distributes its batches over its cores and its node's GPUs."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass, replace
from typing import Any, Callable, Iterator, Optional, Union

import ray
from ray.exceptions import RayError, RayTaskError

from .. import _run
from .._breakeven import profile
from .._errors import DeviceError, TaskError
from ._decider import recording
from ._report import IDLE, Told
from ._result import NodeShare

#: Seconds between two reports of a worker.
TELL = 0.2
#: Largest fraction of the time that a worker spends on reading its recording.
_RECORDING = 0.01
#: Seconds that a GPU's process has to start while a batch would wait for it.
_BEGINS = 10.0
#: Pieces of a batch that devices share: enough for a split, few enough that the cost of a call is
#: small compared with its work.
_PIECES = 32


@dataclass
class Config:
    """Settings of the workers."""

    #: Of one call of ``map_batches``.
    id: str
    cpu: Callable[[Any], Any]
    has_gpu: bool
    gpu_resource: str
    options: dict[str, Any]
    #: The name of the reporting actor: with each task, Ray loads a name faster than an actor.
    report: str


_workers: dict[str, Worker] = {}
_lock = threading.Lock()


def worker(config: Config) -> Worker:
    """Belongs to the process: Ray loads the functions anew for each of its tasks."""
    with _lock:
        if config.id not in _workers:
            _workers[config.id] = Worker(config)
        return _workers[config.id]


class Rows:
    """A batch, or adjacent pieces of it, as the engine's tasks."""

    def __init__(self, batch: Any, pieces: int, start: int, stop: int) -> None:
        self._batch, self._pieces, self._start, self._stop = batch, pieces, start, stop

    def __len__(self) -> int:
        return self._stop - self._start

    def __getitem__(self, pieces: slice) -> Rows:
        start, stop, _ = pieces.indices(len(self))
        return Rows(self._batch, self._pieces, self._start + start, self._start + stop)

    @property
    def nbytes(self) -> int:
        """Of all pieces, for the cost model."""
        batch = self._batch
        columns = batch.values() if isinstance(batch, dict) else [batch]
        return sum(int(getattr(column, "nbytes", 0)) for column in columns)

    def batch(self) -> Any:
        """The rows, in Ray's format."""
        batch, rows = self._batch, rows_of(self._batch)
        if len(self) == self._pieces:
            return batch
        start, stop = (at * rows // self._pieces for at in (self._start, self._stop))
        if isinstance(batch, dict):
            return {name: column[start:stop] for name, column in batch.items()}
        if hasattr(batch, "iloc"):
            return batch.iloc[start:stop]
        return batch.slice(start, stop - start)


def rows_of(batch: Any) -> int:
    """Rows of a batch: columns by name, a table or a data frame."""
    return len(next(iter(batch.values()), ())) if isinstance(batch, dict) else len(batch)


class Part:
    """The return value of a function for some pieces of a batch."""

    def __init__(self, pieces: int, outputs: list[Any]) -> None:
        self._pieces, self.outputs = pieces, outputs

    def __len__(self) -> int:
        return self._pieces


def _join(parts: list[Part]) -> list[Any]:
    return [output for part in parts for output in part.outputs]


class Worker:
    """State of a process for all its batches."""

    def __init__(self, config: Config) -> None:
        cpu = config.cpu
        self._cpu = cpu() if isinstance(cpu, type) else cpu
        options = {**_run._DEFAULTS, **config.options, "cpu": cpu, "gpu": None}
        self._asked = _run._asked(options)
        self._asked.update(batched=True, join=_join)
        self._cores = int(config.options["workers"])
        self._config = config
        self._report: Any = ray.get_actor(config.report)
        self._process = uuid.uuid4().hex
        self._gpus: list[Any] = []
        self._number, self._lost = 0, -1
        self._turn = int(self._process[:8], 16)
        node = ray.get_runtime_context().get_node_id()
        self._told = Told(NodeShare(node, "", 1, self._cores), began=time.time())
        self._lock = threading.Lock()
        self._tells = threading.Lock()
        self._teller: Optional[threading.Timer] = None
        self._described = self._records = 0.0

    def _ask(self) -> None:
        """For the processes of the node's GPUs."""
        config = self._config
        self._ready: list[Any] = []
        if not config.has_gpu:
            return
        try:
            asked = self._report.gpus.remote(self._told.share.node, config.gpu_resource, self._lost)
            self._number, self._gpus = ray.get(asked)
        except RayError:
            # The program ends; this batch may continue.
            self._gpus = []
        self._told.share.gpu = bool(self._gpus)
        self._ready = [gpu.ready.remote() for gpu in self._gpus]
        if self._ready and config.options.get("strategy", "auto") != "auto":
            # The end was requested.
            ray.wait(self._ready, timeout=_BEGINS)

    def do(self, batch: Any) -> Iterator[Any]:
        """Return values of the functions for a batch."""
        if self._lost == self._number or time.time() - self._told.ended > IDLE / 2:
            self._ask()
        rows = rows_of(batch)
        pieces = min(_PIECES, rows)
        if pieces < 2 or not self._gpus and self._cores == 1:
            yield from self._alone(batch, rows)
            return
        whole = Rows(batch, pieces, 0, pieces)
        gpu = self._on_gpu if self._gpus and self._has_gpu() else None
        try:
            asked = {**self._asked, "cpu": self._on_cpu, "gpu": gpu}
            result = _run._waited(whole, asked, False)
        except TaskError as error:
            # As without breakeven.
            raise error.__cause__ or error from None
        outputs: Union[Part, list[Any]] = result.outputs
        self._note(rows, result.execution_time, result, pieces)
        yield from outputs.outputs if isinstance(outputs, Part) else outputs

    def _alone(self, batch: Any, rows: int) -> Iterator[Any]:
        """A batch without a choice: the function is called as Ray would."""
        began = time.perf_counter()
        # In the profile as the engine's batches are.
        with profile(self._asked["operation"], device="cpu", size=rows, items=rows):
            outputs = self._cpu(batch)
            outputs = list(outputs) if hasattr(outputs, "__next__") else [outputs]
        self._note(rows, time.perf_counter() - began)
        yield from outputs

    def _on_cpu(self, rows: Rows) -> Part:
        outputs = self._cpu(rows.batch())
        outputs = list(outputs) if hasattr(outputs, "__next__") else [outputs]
        return Part(len(rows), outputs)

    def _has_gpu(self) -> bool:
        """Whether the process of a GPU has started: other programs may occupy all GPUs."""
        if self._ready and ray.wait(self._ready, num_returns=1, timeout=0)[0]:
            self._ready.clear()
        return not self._ready

    def _on_gpu(self, rows: Rows) -> Part:
        self._turn += 1
        gpu = self._gpus[self._turn % len(self._gpus)]
        try:
            return Part(len(rows), ray.get(gpu.do.remote(self._config.id, rows.batch())))
        except RayTaskError as error:
            raise error.cause from None
        except RayError as error:
            self._lost = self._number
            raise DeviceError("device_lost", f"the GPU's process: {error}") from None

    def _note(self, rows: int, seconds: float, result: Any = None, pieces: int = 1) -> None:
        """Counts a batch; it is reported later."""
        now = time.time()
        with self._lock:
            share = self._told.share
            on_gpu = 0 if result is None else round(rows * result.gpu_tasks / pieces)
            share.batches += 1
            share.tasks += rows
            share.gpu_tasks += on_gpu
            share.cpu_tasks += rows - on_gpu
            share.busy += seconds
            self._told.ended = now
            if result is None:
                share.explanation = f"{rows} rows in {seconds * 1e3:.3g} ms: one core and no GPU"
            else:
                self._describe(self._told, result, rows / pieces, now)
            if self._teller is None:
                # Reported within the batch's task, and so before Ray has the batch.
                self._report.expect.remote(self._config.id, self._process)
                self._will_tell(TELL)

    def _describe(self, told: Told, result: Any, rows: float, now: float) -> None:
        """Takes a tenth of a millisecond, so not for every batch."""
        if now - self._described < TELL and not result.fallback_occurred:
            return
        self._described = now
        told.latest, told.share.explanation = result.to_dict(), result.explain()
        if result.fallback_occurred:
            # The first error has the cause; during the quarantine later ones only refer to it.
            told.failed = told.failed or told.latest
            told.share.fallback_tasks += round(rows * told.latest["fallback"]["tasks"])

    def _will_tell(self, seconds: float) -> None:
        self._teller = threading.Timer(seconds, self._tell)
        self._teller.daemon = True
        self._teller.start()

    def _tell(self) -> None:
        """Counts are reported at once, the recording as often as allowed."""
        with self._tells:
            now = time.time()
            with self._lock:
                self._teller = None
                if now < self._records:
                    self._will_tell(self._records - now)
            self._send(follows=True)
            if now >= self._records:
                self._send(recording())
                self._records = now + (time.time() - now) / _RECORDING

    def _send(self, profile: Optional[dict[str, Any]] = None, follows: bool = False) -> None:
        with self._lock:
            follows = follows or self._teller is not None
            share = replace(self._told.share)
            told = replace(self._told, share=share, profile=profile, follows=follows)
        self._report.add.remote(self._config.id, self._process, told)
