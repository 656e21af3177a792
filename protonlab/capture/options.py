"""The options of a recording, in one table that feeds the magic, Python and the command line."""

from __future__ import annotations

from protonlab.capture._option import Option
from protonlab.errors import ProtonLabError

OPTIONS: tuple[Option, ...] = (
    Option(
        name="include",
        kind="regex",
        help="Evaluate launch metadata only of kernels whose compiled name matches, from its "
        "start; all kernels are timed.",
        example="include=_p_matmul.*",
    ),
    Option(
        name="exclude",
        kind="regex",
        help="Never evaluate launch metadata of kernels whose compiled name matches; wins over "
        "include.",
        example="exclude=.*attention.*",
    ),
    Option(
        name="context",
        kind="choice",
        choices=("shadow", "python"),
        default="shadow",
        help="What a kernel is filed under: the scopes it was launched in, or the Python call "
        "stack.",
        example="context=python",
    ),
    Option(
        name="data",
        kind="choice",
        choices=("tree", "trace"),
        default="tree",
        help="What is kept: a tree of frames with sums, or a trace, every launch on a time axis.",
        example="data=trace",
    ),
    Option(
        name="backend",
        kind="choice",
        choices=("cupti", "instrumentation", "roctracer", "rocprofiler"),
        help="Which of Proton's backends measures; the one that fits the GPU when not given.",
        example="backend=instrumentation",
    ),
    Option(
        name="mode",
        kind="mode",
        choices=("pcsampling", "periodic_flushing", "default", "mma"),
        help="Mode of the backend, with its knobs behind colons; default and mma are those of "
        "instrumentation.",
        example="mode=pcsampling:interval=1000",
    ),
    Option(
        name="repeat",
        kind="number",
        default=1,
        help="Run the cell that often and keep how the times of each kernel vary.",
        example="repeat=20",
        least=1,
    ),
    Option(
        name="warmup",
        kind="number",
        default=0,
        help="Run the cell that often before, unrecorded and without its output.",
        example="warmup=3",
    ),
    Option(
        name="record",
        kind="list",
        help="Launch metadata keys to record; all numbers when not given.",
        example="record=bytes,n_tokens",
    ),
    Option(
        name="hook",
        kind="name",
        help="A LaunchHook of yours, by the name of its variable; it brings its own filter.",
        example="hook=my_hook",
    ),
    Option(
        name="sync",
        kind="choice",
        choices=("ignore", "warn"),
        default="ignore",
        help="Whether to find launch metadata that makes the host wait for the GPU, and its cost.",
        example="sync=warn",
    ),
    Option(
        name="live",
        kind="number",
        default=0,
        help="Show the kernels so far while the cell runs, updated every so many seconds; from "
        "Triton 3.7 on.",
        example="live=1",
    ),
    Option(
        name="ranks",
        kind="ranks",
        help="Run the cell on the engines of ipyparallel that %px would use, each recording for "
        "itself, and keep a Run: all, or numbers and ranges.",
        example="ranks=all",
    ),
    Option(
        name="metrics",
        kind="list",
        help="Metrics to show, in proton-viewer's grammar; those that suit the profile when not "
        "given.",
        example="metrics=time/us,gbyte/s",
    ),
    Option(
        name="view",
        kind="list",
        choices=("flame", "bars", "table", "none"),
        default=("flame", "bars", "table"),
        help="What to show after the cell; a terminal shows the table, or for flame alone the tree "
        "as text.",
        example="view=flame,table",
    ),
)


# What only a run of many ranks takes, beside include, exclude, record, context and data.
RUN_OPTIONS: tuple[Option, ...] = (
    Option(
        name="steps",
        kind="steps",
        help="Record these steps only, counted from 0; a step ends where the optimizer has "
        "stepped.",
        example="steps=10:20",
    ),
    Option(
        name="scope",
        kind="text",
        help="Keep only what is launched within Proton's scope of this name; each time it is "
        "entered is a step.",
        example="scope=train_step",
    ),
    Option(
        name="keep_host",
        kind="flag",
        default=False,
        help="Write the name of the host into the run folder.",
        example="keep_host=True",
    ),
)


def option(name: str) -> Option:
    """Look an option up.

    Raises
    ------
    ProtonLabError
        If there is no such option; the message names those there are.
    """
    for candidate in (*OPTIONS, *RUN_OPTIONS):
        if candidate.name == name:
            return candidate
    names = ", ".join(candidate.name for candidate in OPTIONS)
    raise ProtonLabError(f"there is no option {name!r}; the options are {names}")
