"""The examples in `examples/python` run, and `docs/python.md` shows them as they are."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
NEEDS = {
    "01_numpy_torch.py": "torch",
    "02_images.py": "numpy",
    "03_files.py": "breakeven",
    "04_pandas.py": "pandas",
}
EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))


def test_every_example_is_known():
    assert [path.name for path in EXAMPLES] == sorted(NEEDS)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_prints(path):
    pytest.importorskip(NEEDS[path.name])
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout and not ran.stderr


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_page_shows_the_example_word_for_word(path):
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    assert path.read_text(encoding="utf-8") in blocks
