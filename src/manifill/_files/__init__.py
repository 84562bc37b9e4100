"""Files: `tables` reads and writes tables; `atomic` writes any file completely or not at all."""

from manifill._files.atomic import atomic_write, check_distinct, check_replaceable, check_writable

__all__ = ["atomic_write", "check_distinct", "check_replaceable", "check_writable"]
