"""The options of the pytest plugin. pytest imports this module in every session, so it is the
only cost of a session without ``--breakeven``; ``breakeven.pytest_plugin`` does the measuring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, TypeVar

import pytest

if TYPE_CHECKING:
    from breakeven.pytest_plugin import Measure

T = TypeVar("T")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("breakeven", "times of tests, recorded and judged")
    add = group.addoption
    add("--breakeven", action="store_true", help="record how long each test takes")
    add("--breakeven-out", metavar="FILE", help="write the times to this profile file")
    add("--breakeven-baseline", metavar="FILE", help="compare with this profile, fail if slower")
    add(
        "--breakeven-threshold",
        metavar="P",
        default="5%",
        help="smallest change that counts, as in 5%% or 0.05 [default: 5%%]",
    )
    add(
        "--breakeven-runs",
        metavar="N",
        type=int,
        default=1,
        help="run the tests in this number of processes; a verdict needs four per side, five or "
        "more are better [default: 1]",
    )
    add(
        "--breakeven-accept",
        action="store_true",
        help="make the times the baseline [default of its file: breakeven-baseline.json]",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--breakeven"):
        from breakeven.pytest_plugin import Session

        config.pluginmanager.register(Session(config), "breakeven-session")
        return
    for option, usual in (("out", None), ("baseline", None), ("accept", False), ("runs", 1)):
        if config.getoption(f"--breakeven-{option}") != usual:
            raise pytest.UsageError(f"--breakeven-{option} needs --breakeven")


class Once:
    """The fixture ``measure`` when nothing is measured: it calls once."""

    samples = 1

    def __call__(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return function(*args, **kwargs)


@pytest.fixture
def measure(request: pytest.FixtureRequest) -> Measure | Once:
    """Times a callable repeatedly: ``result = measure(function, *args, **kwargs)``.

    ``measure.samples`` is the number of times that are kept, 30 by default. Without
    ``--breakeven`` the callable is called once.
    """
    session: Any = request.config.pluginmanager.get_plugin("breakeven-session")
    return Once() if session is None else session.measure(request.node)
