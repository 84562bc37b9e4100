"""HTML report of an imputed table: missing values, methods, accuracy and uncertainty."""

from manifill.report.page import report, write_report

__all__ = ["report", "write_report"]
