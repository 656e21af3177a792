"""How many programs of a kernel fit on a multiprocessor at once, and what bounds them."""

from __future__ import annotations

from dataclasses import dataclass

_WARP = 32
_RESERVED = 1024  # bytes of shared memory that CUDA takes for each block, since Ampere
_REGISTERS = 65536
_REGISTER_UNIT = 256  # registers are given to a warp in such pieces
_SHARED_UNIT = 128


@dataclass(frozen=True)
class _Multiprocessor:
    """Limits of one multiprocessor, from the CUDA programming guide's table of capabilities."""

    shared: int
    warps: int
    blocks: int


_LIMITS = {
    80: _Multiprocessor(164 * 1024, 64, 32),
    86: _Multiprocessor(100 * 1024, 48, 16),
    87: _Multiprocessor(164 * 1024, 48, 16),
    89: _Multiprocessor(100 * 1024, 48, 24),
    90: _Multiprocessor(228 * 1024, 64, 32),
    100: _Multiprocessor(228 * 1024, 64, 32),
    103: _Multiprocessor(228 * 1024, 64, 32),
    120: _Multiprocessor(100 * 1024, 48, 24),
}


@dataclass(frozen=True)
class Residency:
    """Programs on one multiprocessor.

    Parameters
    ----------
    programs
        How many at once.
    occupancy
        Their warps by the most that there can be, 0 to 1.
    bound_by
        ``"registers"``, ``"shared memory"``, ``"warps"`` or ``"blocks"``.
    """

    programs: int
    occupancy: float
    bound_by: str


def residency(arch: int, *, registers: int, shared: int, warps: int) -> Residency | None:
    """Work it out from what one program takes; None for an architecture that is not known.

    Parameters
    ----------
    arch
        Compute capability times ten: 90 for Hopper.
    registers
        Of a thread.
    shared
        Bytes of a program, without what CUDA reserves.
    warps
        Of a program.

    Examples
    --------
    >>> residency(90, registers=125, shared=25600, warps=4)
    Residency(programs=4, occupancy=0.25, bound_by='registers')
    """
    limits = _LIMITS.get(arch)
    if limits is None or warps < 1 or registers < 1:
        return None
    of_warp = -(-registers * _WARP // _REGISTER_UNIT) * _REGISTER_UNIT
    taken = -(-(shared + _RESERVED) // _SHARED_UNIT) * _SHARED_UNIT
    # A quarter of the registers belongs to each of the four schedulers, and warps to one of them.
    resident = 4 * (_REGISTERS // 4 // of_warp)
    fits = {
        "registers": resident // warps,
        "shared memory": limits.shared // taken,
        "warps": limits.warps // warps,
        "blocks": limits.blocks,
    }
    bound_by = min(fits, key=lambda name: fits[name])
    programs = fits[bound_by]
    return Residency(programs, programs * warps / limits.warps, bound_by)
