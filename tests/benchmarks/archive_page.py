"""What `archive.py` measured, as docs/explanation/ten-thousand-gpus.md tells it.

python tests/benchmarks/archive_page.py tests/benchmarks/results/archive_2_cpus.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def page(found: dict[str, Any]) -> str:
    """Write the measured table and the paragraph below it."""
    growth, fits, ratios = found["growth"], found["fits"], found["ratios"]
    hand, wide, empty, last = found["at_hand"], found["wide"], found["empty"], growth[-1]
    profiles = [f"{row['profiles']:,}" for row in growth]
    memory = [f"{row['worker_bytes'] / 2**20:.0f}" for row in growth]
    busy = fits["ingest_processor"]["ms_a_profile"]
    most = "most memory that a worker held, with"
    rows = {
        f"a profile of {found['frames']:,} frames, {found['kernels']} kernels": "",
        "---": "---",
        "what its rank writes": f"2 files, {found['bytes_a_recorded_profile'] / 1e6:.1f} MB",
        "its part of the archive": f"{last['part_bytes'] / last['part_files'] / 1e3:.0f} kB",
        "the sums of its kernels, where a file holds those of 32 ranks": (
            f"{wide['kernel_bytes_a_profile'] / 1e3:.2f} kB"
        ),
        "its row in the commit of a large run": (
            f"{wide['commit_bytes_a_profile']:.0f} bytes; "
            f"{wide['memory_bytes_a_row']:.0f} in memory"
        ),
        "to put it in: read, hash, write, sum": (
            f"{busy:.0f} ms of processor time, of which JSON is most"
        ),
        "to ask for a history, in processor time for a file of 32 ranks": (
            f"{wide['history_processor_ms_a_file']:.1f} ms"
        ),
        "for regressions, the same": f"{wide['regressions_processor_ms_a_file']:.1f} ms",
        "for stragglers, the same": f"{wide['stragglers_processor_ms_a_file']:.1f} ms",
        f"{most} {', '.join(profiles[:-1])} and {profiles[-1]} profiles": (
            f"{', '.join(memory)} MiB"
        ),
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return (
        f"{table}\n\n"
        f"a straight line explains {100 * fits['ingest']['explained']:.1f} % of putting in, "
        f"exponent {fits['ingest']['exponent']:.2f}; two workers were "
        f"{ratios['two_workers_to_one']:.1f} times as fast as one; archive and pyarrow alone "
        f"{ratios['archive_to_pyarrow_processor']:.2f} to 1 by processor time, of profiles in "
        f"memory {hand['ratio']:.2f} to 1; "
        f"{last['profiles']:,} profiles answered history in {last['history_s']:.1f} s, regressions "
        f"in {last['regressions_s']:.1f} s and stragglers in {last['stragglers_s']:.1f} s.\n"
        f"{empty['ranks']:,} empty ranks took {empty['append_s']:.0f} s to put in"
        + (
            f" and {empty['load_run_s']:.0f} s to load; pyarrow alone takes "
            f"{empty['pyarrow_alone_ms_a_rank'] * empty['ranks'] / 1000:.0f} s to load and write "
            "them"
            if "load_run_s" in empty
            else ""
        )
        + f".\nA night of 10,000: {10 * busy:.0f} s of processor time, "
        f"{10_000 * last['part_bytes'] / last['part_files'] / 1e9:.1f} GB."
    )


if __name__ == "__main__":
    print(page(json.loads(Path(sys.argv[1]).read_text("utf-8"))))
