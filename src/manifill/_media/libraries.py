"""Optional libraries for image and video formats, each imported when first used."""

from typing import Any

from manifill.errors import MissingDependency


def pillow() -> Any:
    """Return Pillow's `Image` module, for image files."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingDependency("Pictures need Pillow: pip install 'manifill[images]'.") from None
    return Image


def imagecodecs() -> Any:
    """Return imagecodecs, for PNG pixels of any bit depth and for the compressions of TIFF files."""
    try:
        import imagecodecs
    except ImportError:
        raise MissingDependency("Pictures need imagecodecs: pip install 'manifill[images]'.") from None
    return imagecodecs


def tifffile() -> Any:
    """Return tifffile, for TIFF files: Pillow supports only some bit depths and page types."""
    imagecodecs()  # tifffile needs it for most compressions
    try:
        import tifffile
    except ImportError:
        raise MissingDependency("TIFF files need tifffile: pip install 'manifill[images]'.") from None
    return tifffile


def pyav() -> Any:
    """Return PyAV, the Python bindings of FFmpeg, for video files."""
    try:
        import av
        import av.error
    except ImportError:
        raise MissingDependency("Videos need PyAV: pip install 'manifill[video]'.") from None
    return av
