"""One HTML page that shows what was missing, what was done, and how sure it is."""

from manifill.report.page import report, write_report

__all__ = ["report", "write_report"]
