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


def imagecodecs() -> Any:
    """For pixels of PNG files in any depth, and for the compressions of TIFF files."""
    try:
        import imagecodecs
    except ImportError:
        raise MissingDependency("Pictures need imagecodecs: pip install 'manifill[images]'.") from None
    return imagecodecs


def tifffile() -> Any:
    """For TIFF files, whose depths and pages Pillow knows in part only."""
    imagecodecs()  # without which it reads and writes few compressions
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
