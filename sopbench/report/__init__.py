"""The HTML report of a run: `write_report`."""

from sopbench.report.write import INLINE_LIMIT_BYTES, write_report

__all__ = ["INLINE_LIMIT_BYTES", "write_report"]
