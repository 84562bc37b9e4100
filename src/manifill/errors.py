"""Everything manifill raises or warns of.

    ManifillError
    ├── InvalidInput (ValueError)          data or a parameter that cannot be used as given
    │   └── IncompatibleKernel             a kernel that this solver or this task cannot use
    ├── DatasetNotFound (OSError)          a public data set that is nowhere to be found
    ├── NotPositiveDefinite (ValueError)   a matrix that Cholesky cannot factor
    └── MissingDependency (ImportError)    an optional library that is not installed

    ManifillWarning (UserWarning)
    ├── EmptyColumnWarning                 a column without any observed value
    └── UnfinishedWarning                  stopped before the first sweep was complete

Every message says what must hold, what was given, and what to do.
"""


class ManifillError(Exception):
    """The root of all errors raised on purpose by manifill."""


class InvalidInput(ManifillError, ValueError):
    """Data or a parameter that cannot be used as given."""


class IncompatibleKernel(InvalidInput):
    """A kernel that this solver or this task cannot use."""


class NotPositiveDefinite(ManifillError, ValueError):
    """A matrix that Cholesky cannot factor, even with a little added to its diagonal."""


class DatasetNotFound(ManifillError, OSError):
    """A public data set that is nowhere to be found; the message says how to get it."""


class MissingDependency(ManifillError, ImportError):
    """An optional library that is not installed; the message holds the command that installs it."""


class ManifillWarning(UserWarning):
    """The root of all warnings given by manifill."""


class EmptyColumnWarning(ManifillWarning):
    """A column without any observed value."""


class UnfinishedWarning(ManifillWarning):
    """The run was stopped before the first sweep was complete."""
