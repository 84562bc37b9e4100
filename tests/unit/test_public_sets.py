"""Public data sets: read from a folder, the cache or a server; otherwise a clear error."""

import hashlib
import io
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from scipy.io import savemat

from manifill.datasets import load_coil20, load_noaa_normals, load_olivetti, load_umist, public
from manifill.datasets.noaa import read_normals
from manifill.errors import DatasetNotFound, InvalidInput


@pytest.fixture
def server(tmp_path):
    """A served folder, its address, and the list of requested paths."""
    folder, requested = tmp_path / "served", []
    folder.mkdir()

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            requested.append(self.path)

    serving = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder))
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{serving.server_port}", requested
    serving.shutdown()
    thread.join()


@pytest.fixture(autouse=True)
def isolated(tmp_path, monkeypatch):
    """No data folder, and an empty cache."""
    monkeypatch.delenv("MANIFILL_DATA", raising=False)
    monkeypatch.setenv("MANIFILL_CACHE", str(tmp_path / "cache"))


def set_address(monkeypatch, name, address, **changes):
    monkeypatch.setattr(public, name, replace(getattr(public, name), address=address, **changes))


def umist(people=(3, 2)):
    """A file like the official one, and its cells: for each person pictures (height, width, n)."""
    rng = np.random.default_rng(0)
    cells = np.empty((1, len(people)), dtype=object)
    for i, count in enumerate(people):
        cells[0, i] = rng.integers(0, 256, (112, 92, count), dtype=np.uint8)
    file = io.BytesIO()
    savemat(file, {"facedat": cells})
    return file.getvalue(), cells


def test_file_is_downloaded_once_and_then_cached(server, monkeypatch):
    folder, address, requested = server
    content, cells = umist()
    (folder / "umist_cropped.mat").write_bytes(content)
    for name in ("_UMIST", "_UMIST_FULL"):
        set_address(monkeypatch, name, f"{address}/umist_cropped.mat")
    full = load_umist(full=True)
    assert full.X.shape == (5, 112, 92)
    np.testing.assert_array_equal(full.X[3], cells[0, 1][:, :, 0] / 255)
    assert full.y.tolist() == [0, 0, 0, 1, 1]
    assert full.source.startswith(address)
    small = load_umist()
    assert small.X.shape == (5, 28, 23)
    np.testing.assert_allclose(small.X[0, 0, 0], full.X[0, :4, :4].mean(), atol=1 / 255)
    assert len(requested) == 1


def test_file_with_another_hash_is_refused(server, monkeypatch, tmp_path):
    folder, address, _ = server
    (folder / "olivettifaces.mat").write_bytes(b"something else")
    set_address(monkeypatch, "_OLIVETTI", f"{address}/olivettifaces.mat")
    with pytest.raises(DatasetNotFound, match="hash"):
        load_olivetti()
    assert not list((tmp_path / "cache").glob("*.mat"))


def test_a_cached_file_that_was_changed_is_refused(server, monkeypatch, tmp_path):
    folder, address, _ = server
    (folder / "umist_cropped.mat").write_bytes(umist()[0])
    set_address(monkeypatch, "_UMIST", f"{address}/umist_cropped.mat")
    load_umist()
    (tmp_path / "cache" / "umist_cropped.mat").write_bytes(umist((4,))[0])
    with pytest.raises(DatasetNotFound, match="must have the SHA-256"):
        load_umist()


def test_pixels_that_differ_from_the_known_ones_are_refused(server, monkeypatch):
    folder, address, _ = server
    (folder / "umist_cropped.mat").write_bytes(umist()[0])
    set_address(monkeypatch, "_UMIST", f"{address}/umist_cropped.mat", sha256_of_X="0" * 64)
    with pytest.raises(DatasetNotFound, match="must have the SHA-256 000"):
        load_umist()


def test_olivetti_faces_are_upright(server, monkeypatch):
    folder, address, _ = server
    faces = np.arange(400 * 64 * 64, dtype=np.int64).reshape(400, 64, 64) % 251
    file = io.BytesIO()
    savemat(file, {"faces": faces.transpose(0, 2, 1).reshape(400, 4096).T.astype(np.uint8)})
    (folder / "faces.mat").write_bytes(file.getvalue())
    set_address(monkeypatch, "_OLIVETTI", f"{address}/faces.mat", sha256=None)
    found = load_olivetti()
    np.testing.assert_array_equal(found.X, faces / 255)
    assert np.bincount(found.y).tolist() == [10] * 40


def test_pictures_of_an_archive_are_sorted(server, monkeypatch):
    png_encode = pytest.importorskip("imagecodecs").png_encode
    folder, address, _ = server
    with zipfile.ZipFile(folder / "coil.zip", "w") as archive:
        for which, turn in ((3, 10), (3, 2), (1, 0)):
            picture = np.full((8, 8), 10 * which + turn, dtype=np.uint8)
            archive.writestr(f"coil-20-proc/obj{which}__{turn}.png", png_encode(picture))
    set_address(monkeypatch, "_COIL", f"{address}/coil.zip", sha256_of_X=None)
    everything = load_coil20()
    assert everything.y.tolist() == [1, 3, 3]
    assert everything.angle.tolist() == [0, 10, 50]
    car = load_coil20(object=3)
    assert (car.X[:, 0, 0] * 255).round().tolist() == [32, 40]


NORMALS = """STATION,NAME,DATE,HLY-TEMP-NORMAL,meas_flag_HLY-TEMP-NORMAL,HLY-CLDH-NORMAL
USW1,"HERE, XX",01-01T01:00:00,301,,-7777
USW1,"HERE, XX",01-01T02:00:00,-9999,,12
USW1,"HERE, XX",01-01T03:00:00,-6666,,-5555
"""


def test_noaa_codes_become_nan_and_zero():
    parts = read_normals(NORMALS.encode())
    assert parts["columns"].tolist() == ["HLY-TEMP-NORMAL", "HLY-CLDH-NORMAL"]
    np.testing.assert_array_equal(parts["X"], [[301, 0], [np.nan, 12], [np.nan, np.nan]])
    assert parts["rounded_to_zero"].sum() == 1
    assert str(parts["station"]) == "USW1 HERE, XX"
    with pytest.raises(InvalidInput, match="HLY-"):
        read_normals(b"a,b\n1,2\n")


def test_station_file_in_the_data_folder_is_read(tmp_path, monkeypatch):
    (tmp_path / "USW00023188.csv").write_text(NORMALS)
    weather = load_noaa_normals(data_dir=tmp_path)
    assert weather.X.shape == (3, 2)
    assert weather.date[0] == "01-01T01:00:00"
    monkeypatch.setenv("MANIFILL_DATA", str(tmp_path))
    np.testing.assert_array_equal(load_noaa_normals().X, weather.X)


def test_error_explains_how_to_get_the_file(monkeypatch, tmp_path):
    set_address(monkeypatch, "_COIL", "http://127.0.0.1:1/coil-20-proc.zip")
    with pytest.raises(DatasetNotFound) as caught:
        load_coil20(data_dir=tmp_path)
    for part in ("COIL-20", str(tmp_path), "coil-20-proc.zip", "MANIFILL_DATA", "data_dir", "cache"):
        assert part in str(caught.value)


def test_public_sets_have_the_expected_shapes(data_folder):
    olivetti, small = load_olivetti(data_folder), load_umist(data_folder)
    assert olivetti.X.shape == (400, 64, 64)
    assert small.X.shape == (575, 28, 23)
    assert load_coil20(data_folder, object=3).X.shape == (72, 128, 128)
    pixels = np.round(load_coil20(data_folder).X * 255).astype(np.uint8)
    assert hashlib.sha256(pixels).hexdigest() == public._COIL.sha256_of_X
    assert load_noaa_normals("USW00094789", data_folder).X.shape == (8759, 26)
    assert 0 <= olivetti.X.min() < olivetti.X.max() <= 1
