"""Reports: run a notebook if asked to, and write it as one HTML page that holds its profiles."""

from protonlab.report._export import ReportOptions, export, export_report
from protonlab.report._notebook import notebook_of, read_notebook
from protonlab.report._parameters import read_assignments
from protonlab.report._run import failure_of, run_notebook
from protonlab.report._target import check_target, write_text
from protonlab.report._writing import write_page

__all__ = [
    "ReportOptions",
    "check_target",
    "export",
    "export_report",
    "failure_of",
    "notebook_of",
    "read_assignments",
    "read_notebook",
    "run_notebook",
    "write_page",
    "write_text",
]
