import tempfile
from pathlib import Path

import breakeven as be


def total(path: Path) -> int:
    return sum(int(line) for line in path.read_text().splitlines())


with tempfile.TemporaryDirectory() as folder:
    paths = [Path(folder, f"{number:03}.txt") for number in range(200)]
    for number, path in enumerate(paths):
        path.write_text(f"{number}\n" * 100)
    print(sum(be.run(paths, total).outputs))

    paths[42].write_text("forty-two\n")
    try:
        be.run(paths, total)
    except be.TaskError as error:
        print(f"{paths[error.index].name}: {error.__cause__}")
