"""Which of CUDA's devices is the card that our process has: by the driver, whose
numbers are those of every package in this process."""

import ctypes
import re
from dataclasses import dataclass

from turns import Failure


@dataclass(frozen=True)
class Card:
    name: str
    pci: str

    def __str__(self):
        return f"{self.name} at {self.pci}"


def cards():
    """All that CUDA shows this process, by number (CUDA driver API, device management)."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Failure(f"no CUDA driver that names the peers' card: {error}") from error

    def call(name, *arguments):
        status = getattr(driver, name)(*arguments)
        if status != 0:
            raise Failure(f"{name}: CUDA error {status}")

    def text(name, device):
        to = ctypes.create_string_buffer(256)
        call(name, to, len(to), device)
        return to.value.decode()

    call("cuInit", 0)
    count = ctypes.c_int()
    call("cuDeviceGetCount", ctypes.byref(count))
    found = []
    for number in range(count.value):
        device = ctypes.c_int()
        call("cuDeviceGet", ctypes.byref(device), number)
        found.append(Card(text("cuDeviceGetName", device), text("cuDeviceGetPCIBusId", device)))
    return found


def number(about, there):
    """The number of our card: the one at its PCI address where that is known, else the
    only one of its name."""
    def place(pci):
        return [int(part, 16) for part in re.split("[:.]", pci)]

    if about["pci"]:
        found = [n for n, card in enumerate(there) if place(card.pci) == place(about["pci"])]
    else:
        found = [n for n, card in enumerate(there) if card.name == about["name"]]
    if len(found) != 1:
        raise Failure(f"{about['device']} ({about['name']}, PCI {about['pci']}) is not one of CUDA's "
                      f"devices alone: {', '.join(map(str, there)) or 'there are none'}")
    return found[0]
