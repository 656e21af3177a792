"""What machine code says about products in flight: serialised ones, and registers overwritten."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Instructions that write no register of the kind R. A name that starts with U writes uniform ones.
_NO_TARGET = re.compile(
    "ST[SGL]?|RED|BAR|BRA|EXIT|WARPGROUP|SYNCS|MEMBAR|FENCE|WARPSYNC|B(SYNC|SSY)|DEPBAR|LDGSTS|"
    "LDGDEPBAR|NOP|ERRBAR|CCTL|ACQBULK|ELECT|R2UR|PLOP3|[IF]SETP|CALL|RET|U.*"
)


@dataclass
class Product:
    """One tensor core instruction, and the registers that it uses until it is waited for."""

    place: int
    sums: set[int]
    left: set[int]


@dataclass
class Findings:
    """What `read` found."""

    products: int = 0
    arrivals: int = 0
    overwritten: list[str] = field(default_factory=list)

    @property
    def serialised(self) -> bool:
        """Whether each product waits for the one before."""
        return 0 < self.products == self.arrivals


def read(sass: str) -> Findings:
    """Follow the code, each loop that holds products twice, with those that are in flight."""
    lines = [_Line(line) for line in sass.splitlines()]
    labels = {line.label: index for index, line in enumerate(lines) if line.label}
    found = Findings()
    found.products = sum(line.is_product for line in lines)
    found.arrivals = sum(line.name == "WARPGROUP.ARRIVE" for line in lines)
    groups: list[list[Product]] = []
    begun: list[Product] = []
    gone_back: set[int] = set()
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.is_product:
            begun.append(line.product())
            if "gsb0" in line.operands:
                groups.append(begun)
                begun = []
        elif line.name.startswith("WARPGROUP.DEPBAR"):
            left = int(line.operands.split(",")[1], 16)
            groups = groups[-left:] if left else []
        elif written := line.written():
            for product in [*begun, *(one for group in groups for one in group)]:
                if written & (product.left | product.sums):
                    found.overwritten.append(f"{product.place:#x} by {line.text}")
        target = labels.get(line.jump, index + 1)
        if target <= index and index not in gone_back:
            gone_back.add(index)
            if any(one.is_product for one in lines[target:index]):
                index = target
                continue
        index += 1
    return found


class _Line:
    """A line of nvdisasm's."""

    def __init__(self, text: str) -> None:
        label = re.match(r"\s*(\.L_x_\d+):", text)
        self.label = label[1] if label else ""
        code = re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?(\S+)\s*(.*?)\s*;", text)
        self.place = int(code[1], 16) if code else 0
        self.name, self.operands = (code[2], code[3]) if code else ("", "")
        self.text = f"{self.place:#x} {self.name} {self.operands}"
        jump = re.search(r"`\((\.L_x_\d+)\)", self.operands) if self.name == "BRA" else None
        self.jump = jump[1] if jump else ""
        self.is_product = self.name.startswith(("HGMMA", "QGMMA"))

    def product(self) -> Product:
        columns = re.search(r"64x(\d+)x", self.name)
        registers = re.match(r"R(\d+), (?:R(\d+)|gdesc)", self.operands)
        assert columns is not None
        assert registers is not None, self.text
        first = int(registers[1])
        left = int(registers[2]) if registers[2] else 0
        return Product(
            self.place,
            set(range(first, first + int(columns[1]) // 2)),
            set(range(left, left + 4)) if registers[2] else set(),
        )

    def written(self) -> set[int]:
        base = self.name.split(".")[0]
        target = re.match(r"(?:PT, |P\d, )*R(\d+)\b", self.operands)
        if not target or _NO_TARGET.fullmatch(base):
            return set()
        wide = ".64" in self.name or ".WIDE" in self.name or base == "CS2R"
        count = 4 if ".128" in self.name else 2 if wide else 1
        return set(range(int(target[1]), int(target[1]) + count))
