"""The libraries that know the formats, each loaded when first needed."""

from typing import Any

from manifill.errors import MissingDependency


def pillow() -> Any:
    """Pillow's `Image`, for pictures."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingDependency("Pictures need Pillow: pip install 'manifill[images]'.") from None
    return Image


def tifffile() -> Any:
    """For TIFF files, whose depths and pages Pillow knows in part only."""
    try:
        import tifffile
    except ImportError:
        raise MissingDependency("TIFF files need tifffile: pip install 'manifill[images]'.") from None
    return tifffile


def pyav() -> Any:
    """FFmpeg, for videos."""
    try:
        import av
        import av.error
    except ImportError:
        raise MissingDependency("Videos need PyAV: pip install 'manifill[video]'.") from None
    return av
