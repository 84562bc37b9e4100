"""Image and video files: reading, finding damaged pixels, and writing back in the original format."""

from manifill._media.pictures import Pictures, check_target, read_pictures, write_pictures
from manifill._media.video import VideoFile, VideoWriter, write_clip

__all__ = [
    "Pictures",
    "VideoFile",
    "VideoWriter",
    "check_target",
    "read_pictures",
    "write_clip",
    "write_pictures",
]
