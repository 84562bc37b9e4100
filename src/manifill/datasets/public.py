"""The public data sets of the paper, from a folder, the cache, or their official address.

A data set is searched for in this order:

1. in `data_dir`, or in the folder named by the environment variable `MANIFILL_DATA`: as a NumPy archive
   (`olivetti64.npz`, …) or as the original file;
2. in the cache, a folder of the user (or the folder named by `MANIFILL_CACHE`);
3. at its official address, from where it is downloaded to the cache.

Downloads are verified. The SHA-256 of the Olivetti file, and of the pixels of COIL-20, are known. For the
other files it is recorded next to the file at the first download and compared at every later use.
"""

import hashlib
import io
import logging
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill._arrays import Array
from manifill._checks import require_number
from manifill._media.libraries import imagecodecs
from manifill.datasets.noaa import read_normals
from manifill.errors import DatasetNotFound, MissingDependency

_log = logging.getLogger(__name__)

Folder = str | os.PathLike[str] | None
_Parts = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Pictures:
    """A data set of grey pictures.

    Attributes
    ----------
    X : (n, height, width), brightness from 0 to 1.
    y : (n,), label of the person or object.
    source : file or address they were read from.
    angle : (n,), rotation of the object in degrees; None if unknown.
    """

    X: Array
    y: npt.NDArray[np.integer[Any]]
    source: str
    angle: Array | None = None


@dataclass(frozen=True, eq=False)
class Weather:
    """Hourly climate normals of a station.

    Attributes
    ----------
    X : (hours, d), NaN where missing.
    columns : names of the d quantities.
    date : (hours,), month, day and hour.
    station : number, and name if known.
    source : file or address they were read from.
    """

    X: Array
    columns: list[str]
    date: list[str]
    station: str
    source: str


@dataclass(frozen=True)
class _File:
    """A file at its official address, how to read it, and its checksum: of the file, or of its array `X`."""

    title: str
    archives: tuple[str, ...]
    address: str
    read: Callable[[bytes], _Parts]
    sha256: str | None = None
    sha256_of_X: str | None = None
    saved_as: str | None = None

    @property
    def name(self) -> str:
        """Its file name."""
        return self.saved_as or self.address.rpartition("/")[2]


def load_olivetti(data_dir: Folder = None) -> Pictures:
    """Olivetti faces: 40 people, 10 photographs of each, 64 × 64 pixels.

    (The paper speaks of 20 people and 64 × 63 pixels.)
    """
    return _pictures(_OLIVETTI, data_dir)


def load_umist(data_dir: Folder = None, *, full: bool = False) -> Pictures:
    """UMIST faces (now Sheffield): 575 photographs of 20 people from profile to front, in order of pose.

    Parameters
    ----------
    full : return 112 × 92 pixels instead of 28 × 23, a quarter of that along each side. If the folder holds
        only a part of the data set, `umist112x92_part.npz`, that part is returned.
    """
    return _pictures(_UMIST_FULL if full else _UMIST, data_dir)


def load_coil20(data_dir: Folder = None, *, object: int | None = None) -> Pictures:
    """COIL-20: twenty objects on a turntable, 72 pictures of each, 5° apart, 128 × 128 pixels.

    Parameters
    ----------
    object : number of one object, 1 to 20; the toy car of the paper is 3. None returns all.
    """
    if object is not None:
        require_number("object", object, least=1, most=20, whole=True)
    all_of_them = _pictures(_COIL, data_dir)
    if object is None:
        return all_of_them
    shown = all_of_them.y == object
    angle = None if all_of_them.angle is None else all_of_them.angle[shown]
    return Pictures(all_of_them.X[shown], all_of_them.y[shown], all_of_them.source, angle)


def load_noaa_normals(station: str = "USW00023188", data_dir: Folder = None) -> Weather:
    """Hourly climate normals 1981–2010 of a NOAA station: 26 quantities for the 8,760 hours of a year.

    Special codes of NOAA: −7777 (not zero, but rounds to zero) becomes 0; −9999, −8888, −6666 and −5555 (no
    value) become NaN. Units are NOAA's: some files are in degrees and miles per hour, others in tenths of
    them, and frequencies are in tenths of a percent.

    Parameters
    ----------
    station : number of the station; that of the paper, San Diego Lindbergh Field, is USW00023188.
    """
    file = _normals_of(station)
    parts, source = _found(file, data_dir)
    columns, date = parts["columns"].tolist(), parts["date"].tolist()
    return Weather(parts["X"].astype(np.float64), columns, date, str(parts.get("station", station)), source)


def _pictures(file: _File, data_dir: Folder) -> Pictures:
    parts, source = _found(file, data_dir)
    return Pictures(parts["X"] / 255.0, parts["y"], source, parts.get("angle"))


def _found(file: _File, data_dir: Folder) -> tuple[_Parts, str]:
    """The arrays of a data set, and where they were found."""
    folder = data_dir if data_dir is not None else os.environ.get("MANIFILL_DATA")
    if folder:
        for archive in (Path(folder, name) for name in file.archives):
            if archive.is_file():
                with np.load(archive) as parts:
                    return dict(parts), str(archive)
        original = Path(folder, file.name)
        if original.is_file():
            return file.read(original.read_bytes()), str(original)
    path = _downloaded(file, folder)
    parts = file.read(path.read_bytes())
    if file.sha256_of_X is not None:
        found = hashlib.sha256(parts["X"].tobytes()).hexdigest()
        _require_equal(file, path, found, file.sha256_of_X)
    return parts, file.address


def _downloaded(file: _File, folder: Folder) -> Path:
    """The file in the cache; downloaded from its official address if it is not there yet."""
    given = os.environ.get("MANIFILL_CACHE")
    if given and Path(given, file.name).is_file() and not file.sha256:
        _compare_with_record(file, Path(given, file.name))
        return Path(given, file.name)
    try:
        import pooch
    except ImportError:
        raise MissingDependency(
            f"{file.title} is not in {folder or 'MANIFILL_DATA, which is not set'}, and fetching it needs "
            "pooch: pip install 'manifill[data]'."
        ) from None
    pooch.get_logger().setLevel("WARNING")
    cache = Path(given or pooch.os_cache("manifill"))
    if not (cache / file.name).is_file():
        _log.info("fetching %s from %s", file.title, file.address)
    try:
        found = pooch.retrieve(
            file.address,
            known_hash=f"sha256:{file.sha256}" if file.sha256 else None,
            fname=file.name,
            path=cache,
        )
    except Exception as error:
        looked = f"the folder {folder}" if folder else "a folder (MANIFILL_DATA is not set)"
        raise DatasetNotFound(
            f"{file.title} is needed, but {file.archives[0]} or {file.name} is neither in {looked} nor in "
            f"the cache {cache}, and downloading it failed ({error}). Download {file.address} on a computer "
            "with a connection, put it into a folder, and set MANIFILL_DATA to that folder or pass it as "
            "data_dir."
        ) from error
    if not file.sha256:
        _compare_with_record(file, Path(found))
    return Path(found)


def _compare_with_record(file: _File, path: Path) -> None:
    """Compare the SHA-256 of a file with that of its first download, or record it if there is none."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    record = path.with_name(f"{path.name}.sha256")
    if record.is_file():
        _require_equal(file, path, digest, record.read_text().strip())
    else:
        record.write_text(digest)


def _require_equal(file: _File, path: Path, found: str, expected: str) -> None:
    if found != expected:
        raise DatasetNotFound(
            f"{file.title}: {path} must have the SHA-256 {expected}; it has {found}. Delete the "
            "file to download it again, or put it into a folder and pass that as data_dir to use it as it is."
        )


def _read_olivetti(content: bytes) -> _Parts:
    from scipy.io import loadmat

    faces = loadmat(io.BytesIO(content))["faces"].T.reshape(400, 64, 64).transpose(0, 2, 1)
    return {"X": faces, "y": np.repeat(np.arange(40), 10)}


def _read_umist(content: bytes) -> _Parts:
    from scipy.io import loadmat

    people = [person.transpose(2, 0, 1) for person in loadmat(io.BytesIO(content))["facedat"].ravel()]
    y = np.repeat(np.arange(len(people)), [len(person) for person in people])
    return {"X": np.concatenate(people), "y": y}


def _read_small_umist(content: bytes) -> _Parts:
    """Means over blocks of 4 × 4 pixels."""
    parts = _read_umist(content)
    n, height, width = parts["X"].shape
    blocks = parts["X"].reshape(n, height // 4, 4, width // 4, 4)
    return {"X": np.round(blocks.mean(axis=(2, 4))).astype(np.uint8), "y": parts["y"]}


def _read_coil(content: bytes) -> _Parts:
    decode = imagecodecs().png_decode
    pictures, y, angle = [], [], []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".png")]
        places = {name: name.rpartition("/")[2].removesuffix(".png").removeprefix("obj") for name in names}
        for name in sorted(names, key=lambda name: [int(number) for number in places[name].split("__")]):
            which, turn = map(int, places[name].split("__"))
            pictures.append(decode(archive.read(name)))
            y.append(which)
            angle.append(5 * turn)
    return {"X": np.array(pictures), "y": np.array(y), "angle": np.array(angle)}


_OLIVETTI = _File(
    "The set of Olivetti faces",
    ("olivetti64.npz",),
    "https://ndownloader.figshare.com/files/5976027",
    _read_olivetti,
    "b612fb967f2dc77c9c62d3e1266e0c73d5fca46a4b8906c18e454d41af987794",
    saved_as="olivettifaces.mat",
)
_UMIST_ADDRESS = "https://cs.nyu.edu/~roweis/data/umist_cropped.mat"
_UMIST = _File("The set of UMIST faces", ("umist28x23.npz",), _UMIST_ADDRESS, _read_small_umist)
_UMIST_FULL = _File(
    "The set of UMIST faces", ("umist112x92.npz", "umist112x92_part.npz"), _UMIST_ADDRESS, _read_umist
)
_COIL = _File(
    "COIL-20",
    ("coil20_128.npz",),
    "https://www.cs.columbia.edu/CAVE/databases/SLAM_coil-20_coil-100/coil-20/coil-20-proc.zip",
    _read_coil,
    sha256_of_X="7274cbacb79ea6c57340827c9f9301745a8e9b3173dea4aa828e00b49c42946c",
)
# File names of archives that are not called after their station.
_STATIONS = {
    "USW00094789": "noaa_jfk_hourly_normals_1981_2010.npz",
    "USW00094746": "noaa_worcester_hourly_normals_1981_2010.npz",
}


def _normals_of(station: str) -> _File:
    return _File(
        f"The hourly normals of station {station}",
        (_STATIONS.get(station, f"{station}.npz"),),
        f"https://www.ncei.noaa.gov/data/normals-hourly/1981-2010/access/{station}.csv",
        read_normals,
    )
