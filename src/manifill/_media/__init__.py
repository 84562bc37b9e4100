"""Pictures and videos in files: read, where they are damaged, and written back as they were."""

from manifill._media.pictures import Pictures, check_target, read_pictures, write_pictures
from manifill._media.video import VideoFile, VideoWriter

__all__ = ["Pictures", "VideoFile", "VideoWriter", "check_target", "read_pictures", "write_pictures"]
