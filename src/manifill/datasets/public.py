"""The public sets of the paper, from a folder, from the cache, or from their official address.

A set is looked for in this order:

1. in `data_dir`, or else in the folder that the environment variable `MANIFILL_DATA` names: as NumPy archive
   (`olivetti64.npz`, …) or as the file that its official address gives;
2. in the cache, a folder of the user's (`MANIFILL_CACHE` names another);
3. at its official address, from where it goes to the cache. Where its checksum is known it is compared.

Nothing is written into 1.
"""

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
from manifill.datasets.noaa import read_normals
from manifill.errors import DatasetNotFound, MissingDependency

_log = logging.getLogger(__name__)

Folder = str | os.PathLike[str] | None
_Parts = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Pictures:
    """A set of grey pictures.

    Attributes
    ----------
    X : (n, height, width), brightness from 0 to 1.
    y : (n,), whom or what each shows.
    source : where they came from.
    angle : (n,), degrees by which an object was turned; None where that is not known.
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
    X : (hours, d); NaN where there is no value.
    columns : names of the d quantities.
    date : (hours,), month, day and hour.
    station : its number, and its name where that is known.
    source : where they came from.
    """

    X: Array
    columns: list[str]
    date: list[str]
    station: str
    source: str


@dataclass(frozen=True)
class _File:
    """A file at its official address, and how to read it."""

    title: str
    archives: tuple[str, ...]
    address: str
    read: Callable[[bytes], _Parts]
    sha256: str | None = None
    saved_as: str | None = None

    @property
    def name(self) -> str:
        """Under which a browser would save it."""
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
    full : 112 × 92 pixels instead of a quarter of that, 28 × 23, along each side. Where the folder holds a
        part of the set only, `umist112x92_part.npz`, these are what comes.
    """
    return _pictures(_UMIST_FULL if full else _UMIST, data_dir)


def load_coil20(data_dir: Folder = None, *, object: int | None = None) -> Pictures:
    """COIL-20: twenty objects on a turntable, 72 pictures of each, 5° apart, 128 × 128 pixels.

    Parameters
    ----------
    object : one of them only, from 1 to 20; the paper's toy car is 3.
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
    """Hourly climate normals 1981–2010 of a station of NOAA's: 26 quantities, 8,760 hours of a year.

    NOAA's special codes: −7777, a value that is not zero but rounds to it, becomes 0; −9999, −8888, −6666 and
    −5555, for values that do not exist, become NaN. Numbers are as NOAA has them: some files are in degrees
    and miles an hour, others in tenths of them, and frequencies in tenths of per cent.

    Parameters
    ----------
    station : its number; the paper's, San Diego Lindbergh Field, is USW00023188.
    """
    file = _normals_of(station)
    parts, source = _found(file, data_dir)
    columns, date = parts["columns"].tolist(), parts["date"].tolist()
    return Weather(parts["X"].astype(np.float64), columns, date, str(parts.get("station", station)), source)


def _pictures(file: _File, data_dir: Folder) -> Pictures:
    parts, source = _found(file, data_dir)
    return Pictures(parts["X"] / 255.0, parts["y"], source, parts.get("angle"))


def _found(file: _File, data_dir: Folder) -> tuple[_Parts, str]:
    """The contents of a set, and where they were found."""
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
    return file.read(path.read_bytes()), file.address


def _downloaded(file: _File, folder: Folder) -> Path:
    """The file in the cache, from its official address where it is not there yet."""
    given = os.environ.get("MANIFILL_CACHE")
    if given and Path(given, file.name).is_file():
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
            f"{file.title} is needed: {file.archives[0]} or {file.name} is not in {looked}, not in the cache "
            f"{cache}, and could not be fetched ({error}). Get {file.address} where there is a connection, "
            "put it into a folder, and set MANIFILL_DATA to that folder or give it as data_dir."
        ) from error
    return Path(found)


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
    """Every pixel the mean of 4 × 4."""
    parts = _read_umist(content)
    n, height, width = parts["X"].shape
    blocks = parts["X"].reshape(n, height // 4, 4, width // 4, 4)
    return {"X": np.round(blocks.mean(axis=(2, 4))).astype(np.uint8), "y": parts["y"]}


def _read_coil(content: bytes) -> _Parts:
    try:
        import imageio.v3 as imageio
    except ImportError:
        raise MissingDependency(
            "Reading the pictures of COIL-20 needs imageio: pip install 'manifill[images]'."
        ) from None
    pictures, y, angle = [], [], []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".png")]
        places = {name: name.rpartition("/")[2].removesuffix(".png").removeprefix("obj") for name in names}
        for name in sorted(names, key=lambda name: [int(number) for number in places[name].split("__")]):
            which, turn = map(int, places[name].split("__"))
            pictures.append(imageio.imread(archive.read(name), extension=".png"))
            y.append(which)
            angle.append(5 * turn)
    return {"X": np.array(pictures), "y": np.array(y), "angle": np.array(angle)}


_OLIVETTI = _File(
    "The set of Olivetti faces",
    ("olivetti64.npz",),
    "https://ndownloader.figshare.com/files/5976027",
    _read_olivetti,
    "b612fb967f2dc77c9c62d3e1266e0c73d5fca46a4b8906c18e454d41af987794",
    "olivettifaces.mat",
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
)
# Stations whose archive has a name of its own.
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
