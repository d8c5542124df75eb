"""What pip builds the package with: maturin's wheel, and in it the command `breakeven`."""

import base64
import contextlib
import hashlib
import os
import pathlib
import shlex
import subprocess
import sys
import zipfile
from typing import Iterator, Optional, TextIO

import maturin
from maturin import *  # noqa: F403  (the other hooks are maturin's)

ROOT = pathlib.Path(__file__).resolve().parent.parent


@contextlib.contextmanager
def _screen() -> Iterator[TextIO]:
    """The terminal, from which pip keeps the output of what it runs; else its log."""
    try:
        with open("CONOUT$" if os.name == "nt" else "/dev/tty", "w") as terminal:
            yield terminal
    except OSError:
        yield sys.stderr


def _command(screen: TextIO) -> Optional[pathlib.Path]:
    """Builds the command; None where its sources are not there, as in a source distribution."""
    if not (ROOT / "crates/breakeven-cli").is_dir():
        return None
    features = []
    if "--no-default-features" in shlex.split(os.environ.get("MATURIN_PEP517_ARGS", "")):
        features = ["--no-default-features", "--features", "engine"]
    build = ["cargo", "build", "--release", "--locked", "-p", "breakeven-cli", *features]
    subprocess.run(build, cwd=ROOT, check=True, stderr=screen)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / ("breakeven.exe" if os.name == "nt" else "breakeven")


def _add(wheel: pathlib.Path, command: pathlib.Path) -> None:
    """Adds a program to a wheel."""
    name, version = wheel.name.split("-")[:2]
    inside = f"{name}-{version}.data/scripts/{command.name}"
    record = f"{name}-{version}.dist-info/RECORD"
    whole = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(
        whole, "w", zipfile.ZIP_DEFLATED
    ) as new:
        for item in old.infolist():
            if item.filename != record:
                new.writestr(item, old.read(item))
        program = command.read_bytes()
        item = zipfile.ZipInfo(inside)
        item.external_attr, item.compress_type = 0o100755 << 16, zipfile.ZIP_DEFLATED
        new.writestr(item, program)
        digest = base64.urlsafe_b64encode(hashlib.sha256(program).digest()).rstrip(b"=").decode()
        lines = old.read(record).decode()
        new.writestr(record, f"{lines}{inside},sha256={digest},{len(program)}\n")
    os.replace(whole, wheel)


def build_wheel(
    wheel_directory: str,
    config_settings: Optional[dict] = None,
    metadata_directory: Optional[str] = None,
) -> str:
    with _screen() as screen:
        print(
            "\nbreakeven is built from source, with its GPU kernels: about 6 minutes on two "
            "cores and 2.5 GB of disk.\n(MATURIN_PEP517_ARGS=--no-default-features leaves the "
            "kernels out: about 4 minutes and 1 GB.)",
            file=screen,
            flush=True,
        )
        command = _command(screen)
        name = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
        if command is not None:
            _add(pathlib.Path(wheel_directory) / name, command)
    return name
