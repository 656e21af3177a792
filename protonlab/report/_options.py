"""What a report shows and holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReportOptions:
    """What a report shows and holds.

    Parameters
    ----------
    show_code
        Show what the cells typed. On the command line ``--no-code`` hides it.
    embed_data
        Hold the profiles behind the figures, for `protonlab.load`. ``--strip-data`` leaves them
        out.
    keep_paths
        Leave folders and host names as they are. By default a path keeps its last part and a host
        name becomes ``host``, in the cells, the figures and the embedded profiles.
    allow_errors
        A cell that raises is no failure, and those after it run.
    """

    show_code: bool = True
    embed_data: bool = True
    keep_paths: bool = False
    allow_errors: bool = False
