"""Errors and warnings of manifill.

    ManifillError
    ├── InvalidInput (ValueError)          data or a parameter that cannot be used as given
    │   ├── AmbiguousInput                 a column that can be read in two ways
    │   └── IncompatibleKernel             a kernel that this solver or this task cannot use
    ├── DatasetNotFound (OSError)          a public data set that is not on disk and not downloadable
    ├── NotPositiveDefinite (ValueError)   a matrix that Cholesky cannot factor
    └── MissingDependency (ImportError)    an optional library that is not installed

    ManifillWarning (UserWarning)
    ├── EmptyColumnWarning                 a column without any observed value
    └── UnfinishedWarning                  stopped before the first sweep was complete

Every message states what must hold, what was given, and what to do.
"""


class ManifillError(Exception):
    """Base class of all errors raised by manifill."""


class InvalidInput(ManifillError, ValueError):
    """Data or a parameter that cannot be used as given."""


class AmbiguousInput(InvalidInput):
    """A column of text that can be read in two ways; the message names the option that settles it."""


class IncompatibleKernel(InvalidInput):
    """A kernel that this solver or this task cannot use."""


class NotPositiveDefinite(ManifillError, ValueError):
    """A matrix that Cholesky cannot factor, even with jitter added to its diagonal."""


class DatasetNotFound(ManifillError, OSError):
    """A public data set that is not on disk and not downloadable; the message states how to get it."""


class MissingDependency(ManifillError, ImportError):
    """An optional library that is not installed; the message contains the command that installs it."""


class ManifillWarning(UserWarning):
    """Base class of all warnings of manifill."""


class EmptyColumnWarning(ManifillWarning):
    """A column without any observed value."""


class UnfinishedWarning(ManifillWarning):
    """The run was stopped before the first sweep was complete."""
