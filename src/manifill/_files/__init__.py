"""Files: `tables` reads and writes tables; `atomic` writes any file completely or not at all."""

from manifill._files.atomic import Transaction, atomic_path, atomic_write, transaction
from manifill._files.checks import check_distinct, check_replaceable, check_space, check_writable

__all__ = [
    "Transaction",
    "atomic_path",
    "atomic_write",
    "check_distinct",
    "check_replaceable",
    "check_space",
    "check_writable",
    "transaction",
]
