"""Model files that are damaged or malicious: refused with one message, or they work; with limited memory."""

import io
import json
import random
import struct
import tracemalloc
import zipfile
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from command import manifill

from manifill import TableImputer
from manifill._estimators import archive
from manifill.errors import InvalidInput
from manifill.kernels import Laplacian, SemiLinear
from manifill.solvers import Ridge

NEW = pd.DataFrame({"x": [np.nan, 0.5], "k": ["a", None], "d": [pd.Timestamp("2026-01-05"), pd.NaT]})
JUNK = [
    *(None, True, 0, -1, 3, 10**9, 1e308, float("nan"), float("inf"), "", "a", [], {}, {"tuple": []}),
    *({"dict": {}}, {"array": "array0"}, {"array": "none"}, {"class": "Gaussian", "fields": {}}),
    *({"class": "system", "fields": {}}, {"class": "Category", "fields": {"levels": {"tuple": []}}}),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The bytes of a small model."""
    path = tmp_path_factory.mktemp("model") / "m.model"
    t = np.linspace(0, 6, 60)
    dates = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.round(5 * t), "D")
    frame = pd.DataFrame({"x": np.sin(t), "k": np.where(t < 3, "a", "b"), "d": dates})
    frame.loc[::7, "x"] = np.nan
    TableImputer(random_state=0).fit(frame).save(path)
    return path.read_bytes()


def members(model):
    with zipfile.ZipFile(io.BytesIO(model)) as archive:
        return {one.filename: archive.read(one) for one in archive.infolist()}


def packed(parts, compression=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in parts:
            archive.writestr(name, content)
    return file.getvalue()


def array(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def header(shape, dtype="<f8"):
    file = io.BytesIO()
    description = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, description)
    return file.getvalue()


def with_manifest(model, text):
    return packed({**members(model), "manifest.npy": array(np.frombuffer(text, np.uint8))}.items())


def manifest_of(model):
    return json.loads(np.load(io.BytesIO(members(model)["manifest.npy"])).tobytes())


def places(data, path=()):
    """Paths to all values in JSON data."""
    for key in data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ():
        yield (*path, key)
        yield from places(data[key], (*path, key))


def check_refused_or_working(path):
    try:
        loaded = TableImputer.load(path)
        filled = loaded.transform(NEW)
        loaded.intervals(0.9, NEW), loaded.deviations(NEW), str(loaded.accuracy_), str(loaded.trace_)
    except InvalidInput:
        return
    assert filled["x"][1] == 0.5
    assert filled["k"][0] == "a"


@pytest.mark.parametrize("seed", range(40))
def test_bytes_that_are_changed_or_cut_off(model, tmp_path, seed):
    chance = random.Random(seed)
    content = bytearray(model)
    if seed % 3 == 0:
        content = content[: chance.randrange(len(content))]
    for _ in range(seed % 3 * 2):
        content[chance.randrange(len(content))] ^= chance.randint(1, 255)
    (tmp_path / "x.model").write_bytes(content)
    check_refused_or_working(tmp_path / "x.model")


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.filterwarnings("error")
def test_values_in_the_manifest_that_are_changed(model, tmp_path, seed):
    chance, manifest = random.Random(seed), manifest_of(model)
    *path, last = chance.choice(list(places(manifest)))
    data = manifest
    for key in path:
        data = data[key]
    if chance.random() < 0.15:
        del data[last]
    elif type(data[last]) in (int, float) and chance.random() < 0.5:
        data[last] = chance.choice([-data[last], 1000 * data[last], data[last] + 1, data[last] / 3])
    else:
        data[last] = chance.choice(JUNK)
    (tmp_path / "x.model").write_bytes(with_manifest(model, json.dumps(manifest).encode()))
    check_refused_or_working(tmp_path / "x.model")


@pytest.mark.filterwarnings("error")
def test_arrays_with_other_values_types_and_shapes(model, tmp_path):
    parts = members(model)
    for name in sorted(set(parts) - {"manifest.npy"}):
        values = np.load(io.BytesIO(parts[name]))
        others = [
            values[:-1],
            values[:0],
            values[None],
            values.astype(object),
            values.astype("S3"),
            values.astype(">f8"),
        ]
        others += [-values - 1 if values.dtype != bool else values, np.zeros((10**9, 0)), values * 10**9]
        for wrong in (np.nan, np.inf, 1e300) if values.dtype.kind == "f" and values.size else ():
            others.append(np.where(np.arange(values.size).reshape(values.shape) == 0, wrong, values))
        for other in others:
            (tmp_path / "x.model").write_bytes(packed({**parts, name: array(other)}.items()))
            check_refused_or_working(tmp_path / "x.model")


def test_infinite_values_of_the_fill_are_refused_when_loading(model, tmp_path):
    manifest, parts = manifest_of(model), members(model)
    name = manifest["content"]["dict"]["Z"]["array"] + ".npy"
    for wrong in (np.nan, np.inf):
        values = np.load(io.BytesIO(parts[name]))
        values[3, 0] = wrong
        (tmp_path / "x.model").write_bytes(packed({**parts, name: array(values)}.items()))
        with pytest.raises(InvalidInput, match="is damaged, or no model"):
            TableImputer.load(tmp_path / "x.model")


@pytest.mark.parametrize("value", [1e308, -1e308, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["weight", "value", "ridge"])
def test_huge_parameters_of_kernels_and_solvers_are_refused_when_loading(tmp_path, name, value):
    frame = pd.DataFrame({"x": np.linspace(0, 1, 30), "y": np.linspace(0, 2, 30)})
    frame.loc[::5, "y"] = np.nan
    kernel = SemiLinear(Laplacian(bandwidth=1.0))
    TableImputer(kernel=kernel, solver=Ridge(0.1), random_state=0).fit(frame).save(tmp_path / "a.model")
    model = (tmp_path / "a.model").read_bytes()
    manifest = manifest_of(model)
    places_of_name = [path for path in places(manifest) if path[-1] == name and "components" in path]
    assert places_of_name
    for path in places_of_name:
        data = manifest = manifest_of(model)
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value
        (tmp_path / "b.model").write_bytes(with_manifest(model, json.dumps(manifest).encode()))
        with pytest.raises(InvalidInput, match="is damaged, or no model"):
            TableImputer.load(tmp_path / "b.model")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_that_are_swapped_doubled_encrypted_or_packed_otherwise(model, tmp_path):
    parts = members(model)
    names = sorted(parts)
    directory = model.find(b"PK\1\2")
    files = [packed([*parts.items(), (name, parts[names[0]])]) for name in names[:3]]
    files += [packed(parts.items(), kind) for kind in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)]
    for i, byte in ((8, 1), (10, 9), (10, 99)):
        content = bytearray(model)
        content[directory + i] = byte
        files.append(bytes(content))
    for content in files:
        (tmp_path / "x.model").write_bytes(content)
        with pytest.raises(InvalidInput, match="is damaged, or no model"):
            TableImputer.load(tmp_path / "x.model")
    for one, other in pairwise(names):
        swapped = {**parts, one: parts[other], other: parts[one]}
        (tmp_path / "x.model").write_bytes(packed(swapped.items()))
        check_refused_or_working(tmp_path / "x.model")


def bombs(model):
    """Name → a file that would take much memory."""
    parts, start = members(model), b'{"format": 4, "content": '
    zeros = bytes(200 * 2**20)
    yield (
        "an array larger than the limit",
        packed({**parts, "array0.npy": header((25 * 2**20,)) + zeros}.items()),
    )
    yield (
        "a manifest larger than the limit",
        packed({**parts, "manifest.npy": header((len(zeros),), "|u1") + zeros}.items()),
    )
    yield "a shape that is declared only", packed({**parts, "array0.npy": header((10**11, 2))}.items())
    yield "a shape without values", packed({**parts, "array0.npy": header((10**10, 0))}.items())
    yield "deep JSON", with_manifest(model, start + b"[" * 10**6 + b"]" * 10**6 + b"}")
    yield "many JSON lists", with_manifest(model, start + b"[" + b"[]," * 10**6 + b"0]}")
    yield "a long text", with_manifest(model, start + b'"' + bytes(3 * 10**6) + b'"}')
    yield "many members", packed([*parts.items(), *((f"m{i}", b"") for i in range(25_000))])


def test_malicious_files_take_little_memory(model, tmp_path):
    path = tmp_path / "x.model"
    for name, content in bombs(model):
        path.write_bytes(content)
        tracemalloc.start()
        with pytest.raises(InvalidInput):
            TableImputer.load(path, max_bytes=100 * 2**20)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 30 * 2**20, (name, peak)


def test_members_that_the_manifest_does_not_name_are_not_unpacked(model, tmp_path):
    path = tmp_path / "x.model"
    path.write_bytes(packed([*members(model).items(), ("bomb.npy", bytes(2**26))]))
    tracemalloc.start()
    assert TableImputer.load(path, max_bytes=2**24).n_features_in_ == 3
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_loading_takes_at_most_twice_the_memory_of_the_arrays(model, tmp_path):
    content, parts = manifest_of(model)["content"]["dict"], members(model)
    for one in (content["problem"]["dict"]["X"], content["Z"]):
        name = one["array"] + ".npy"
        table = np.tile(np.load(io.BytesIO(parts[name])), (10_000, 1))
        parts[name] = array(table)
    parts[content["rows"]["array"] + ".npy"] = array(np.arange(len(table)))
    (tmp_path / "m").write_bytes(packed(parts.items(), zipfile.ZIP_STORED))
    declared = sum(map(len, parts.values()))
    tracemalloc.start()
    TableImputer.load(tmp_path / "m")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert declared > 38e6
    assert peak < 2 * declared
    with pytest.raises(
        InvalidInput, match=r"at most 1,000,000 bytes .* TableImputer\.load\(path, max_bytes="
    ):
        TableImputer.load(tmp_path / "m", max_bytes=10**6)


def test_model_on_the_command_line_gives_intervals_and_writes_like_the_training_file(tmp_path):
    rng = np.random.default_rng(0)
    t = np.linspace(0, 6, 80)
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.round(t * 10), "D")
    frame = pd.DataFrame(
        {
            "n": (20 + np.round(4 * np.sin(t))).astype(float),
            "f": np.where(t > 2, "True", "False"),
            "d": days.strftime("%d.%m.%Y"),
            "y": np.round(t, 3),
        }
    )
    frame.mask(rng.random(frame.shape) < 0.1).to_csv(tmp_path / "old.csv", index=False)
    result = manifill("impute", "old.csv", "-o", "o.csv", "--save", "m.model", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    (tmp_path / "new.csv").write_text("n,f,d,y\n,,,1.5\n,,,4.5\n")
    command = ("impute", "new.csv", "-o", "new-out.csv", "--model", "m.model", "--force")
    result = manifill(*command, "--intervals", "0.8", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "held out when the model was fitted" in " ".join(result.stderr.split())
    assert "weep" not in result.stderr
    filled = pd.read_csv(tmp_path / "new-out.csv", dtype=str)
    assert filled["f"].tolist() == ["False", "True"]
    assert filled["n"].str.fullmatch(r"\d\d\.0").all()
    assert filled["d"].str.fullmatch(r"\d\d\.0[12]\.2026").all()
    low, high = (pd.to_numeric(filled[f"n_{end}"]) for end in ("low", "high"))
    assert ((low <= pd.to_numeric(filled["n"])) & (pd.to_numeric(filled["n"]) <= high) & (low < high)).all()
    result = manifill(*command, "--json", folder=tmp_path)
    summary = json.loads(result.stdout)
    assert (summary["sweeps"], summary["status"], summary["model"]) == (None, "model", "m.model")
    assert {one["name"]: one["error"] is not None for one in summary["columns"]}["n"]


def test_too_large_directory_names_the_file(model, tmp_path):
    (tmp_path / "x.model").write_bytes(
        model[:-22] + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, 2**30, 0, 0)
    )
    with pytest.raises(InvalidInput, match=r"x\.model"):
        TableImputer.load(tmp_path / "x.model")


def test_an_interrupt_while_a_model_is_written_is_not_hidden(monkeypatch):
    """zipfile raises a ValueError if an interrupt comes while a member is opened or closed."""

    def interrupted(*_, **__):
        try:
            raise KeyboardInterrupt
        finally:
            raise ValueError("Can't close the ZIP file while there is an open writing handle on it.")

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        archive.write(io.BytesIO(), {}, {"a": np.zeros(3)})
