"""`manifill images` and `manifill video`, every mode on real files."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command import manifill

from manifill._media.clips import SCALER_FLAGS

av = pytest.importorskip("av")
PIL_Image = pytest.importorskip("PIL.Image")
tifffile = pytest.importorskip("tifffile")

HEIGHT, WIDTH = 24, 28


def stack(n=14, colour=False):
    y, x = np.mgrid[:HEIGHT, :WIDTH] / WIDTH
    t = np.linspace(0, 1, n)[:, None, None]
    grey = np.exp(-((x - 0.2 - 0.5 * t) ** 2 + (y - 0.4) ** 2) / 0.03) * 150 + 60 * x + 20
    values = np.stack([grey, 0.6 * grey + 30, 250 - grey], axis=-1) if colour else grey
    return values.round().astype(np.uint8)


def removed_entries(n=14, seed=0):
    mask = np.zeros((n, HEIGHT, WIDTH), bool)
    for i, (y, x) in enumerate(np.random.default_rng(seed).integers(0, 16, (n, 2))):
        mask[i, y : y + 7, x : x + 7] = True
    return mask


def write(folder, pictures, mode=None):
    folder.mkdir()
    for i, picture in enumerate(pictures):
        PIL_Image.fromarray(picture, mode).save(folder / f"p{i}.png")


def read(folder):
    return np.stack(
        [np.array(PIL_Image.open(folder / f"p{i}.png")) for i in range(len(list(folder.iterdir())))]
    )


def check(found, truth, mask, max_ratio=0.35):
    np.testing.assert_array_equal(found[~mask], truth[~mask])
    error = np.sqrt(np.mean((found.astype(float) - truth)[mask] ** 2))
    assert error < max_ratio * truth[mask].std(), error


@pytest.mark.parametrize("colour", [False, True])
def test_folder_of_pictures_with_a_folder_of_masks(tmp_path, colour):
    truth, mask = stack(colour=colour), removed_entries()
    write(tmp_path / "damaged", np.where(mask[..., None] if colour else mask, 0, truth).astype(np.uint8))
    write(tmp_path / "masks", mask.astype(np.uint8) * 255)
    result = manifill(
        "images", "damaged", "-o", "out", "--mask", "masks", "--sheet", "sheet.png", "--report", "r.html",
        folder=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    check(read(tmp_path / "out"), truth, mask)
    assert "the typical error was" in result.stderr
    assert np.array(PIL_Image.open(tmp_path / "sheet.png")).std() > 10
    page = (tmp_path / "r.html").read_text()
    assert "data:image/png;base64" in page
    assert "known and held out" in page


def test_damage_is_found_by_colour_by_alpha_and_automatically(tmp_path):
    truth, mask = stack(colour=True), removed_entries()
    damaged = np.where(mask[..., None], np.array([255, 0, 255], np.uint8), truth)
    write(tmp_path / "damaged", damaged)
    for options in (("--value", "#ff00ff"), ("--value", "255,0,255"), ()):
        out = f"out{len(options)}{options[-1][:1] if options else ''}".replace("#", "x")
        result = manifill("images", "damaged", "-o", out, *options, folder=tmp_path)
        assert result.returncode == 0, result.stderr
        check(read(tmp_path / out), truth, mask)
    alpha = np.where(mask, 0, 255).astype(np.uint8)
    write(tmp_path / "clear", np.concatenate([truth, alpha[..., None]], axis=-1))
    for options in (("--alpha",), ()):
        result = manifill("images", "clear", "-o", f"opaque{len(options)}", *options, folder=tmp_path)
        assert result.returncode == 0, result.stderr
        found = read(tmp_path / f"opaque{len(options)}")
        check(found[..., :3], truth, mask)
        assert (found[..., 3] == 255).all()


def test_preview_writes_no_restored_pictures(tmp_path):
    truth, mask = stack(), removed_entries()
    write(tmp_path / "damaged", np.where(mask, 255, truth).astype(np.uint8))
    result = manifill("images", "damaged", "-o", "out", "--preview", "p.png", folder=tmp_path)
    assert result.returncode == 0
    assert "exactly 255" in result.stderr
    assert (tmp_path / "p.png").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_multi_page_tiff_and_numpy_stacks_are_restored(tmp_path, dtype):
    truth = stack().astype(dtype) * (200 if dtype == np.uint16 else 1)
    mask = np.zeros(truth.shape, bool)
    mask[:, 6:11, 9:15] = True
    tifffile.imwrite(tmp_path / "in.tif", truth, photometric="minisblack")
    np.save(tmp_path / "in.npy", truth)
    for name in ("in.tif", "in.npy"):
        result = manifill("images", name, "-o", f"out-{name}", "--box", "9,6,6,5", folder=tmp_path)
        assert result.returncode == 0, result.stderr
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "out-in.tif"), np.load(tmp_path / "out-in.npy"))
    found = np.load(tmp_path / "out-in.npy")
    assert found.dtype == dtype
    check(found, truth, mask, 0.6)


def test_known_channels_of_a_pixel_with_nan_are_kept(tmp_path):
    truth = stack(colour=True).astype(np.float64) / 3
    missing = np.zeros(truth.shape, bool)
    missing[2, 4:8, 5:9, 1] = True
    np.save(tmp_path / "in.npy", np.where(missing, np.nan, truth))
    box = missing.copy()
    box[:, 15:18, 20:23] = True
    for options, filled in (((), missing), (("--box", "20,15,3,3"), box)):
        result = manifill("images", "in.npy", "-o", "out.npy", *options, "--force", folder=tmp_path)
        assert result.returncode == 0, result.stderr
        found = np.load(tmp_path / "out.npy")
        np.testing.assert_array_equal(found[~filled], truth[~filled])
        assert np.isfinite(found).all()


def test_cut_off_and_infinite_pictures_are_explained_in_one_line(tmp_path):
    tifffile.imwrite(tmp_path / "whole.tif", stack(), photometric="minisblack")
    content = (tmp_path / "whole.tif").read_bytes()
    (tmp_path / "cut.tif").write_bytes(content[: len(content) // 2])
    values = stack().astype(np.float32)
    values[3, 5, 6] = np.inf
    np.save(tmp_path / "inf.npy", values)
    for name, message in (
        ("cut.tif", "must be a complete TIFF file; it ends after page"),
        ("inf.npy", "Pixels must be finite; 1 are not, the first in inf.npy, picture 4 at x = 6, y = 5"),
    ):
        result = manifill("images", name, "-o", f"out{name[-4:]}", folder=tmp_path)
        assert result.returncode == 1
        assert message in result.stderr
        assert len(result.stderr.splitlines()) == 1, result.stderr


def test_changes_of_many_pictures_are_one_line_and_in_the_json(tmp_path):
    (tmp_path / "in").mkdir()
    for i, picture in enumerate(stack(5)):
        PIL_Image.fromarray(picture).save(tmp_path / "in" / f"p{i}.jpg")
    PIL_Image.fromarray(stack(1)[0] > 100).convert("L").save(tmp_path / "in" / "z.png")
    command = ("images", "in", "--box", "2,2,5,5")
    result = manifill(*command, "-o", "out", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    line = "5 pictures, such as p0.jpg: each is written as .png: JPEG would change observed pixels."
    assert result.stderr.splitlines()[0] == line
    assert len(result.stderr.splitlines()) == 2
    result = manifill(*command, "-o", "out2", "--json", folder=tmp_path)
    assert json.loads(result.stdout)["notes"] == [line]
    tifffile.imwrite(tmp_path / "flags.tif", stack(6) > 100, photometric="minisblack")
    result = manifill("images", "flags.tif", "-o", "f.tif", "--box", "2,2,5,5", "--json", folder=tmp_path)
    assert "8 bits per pixel instead of 1" in json.loads(result.stdout)["notes"][0]


@pytest.mark.parametrize("option", ["--sheet", "--preview", "--report"])
def test_pictures_and_pages_are_not_written_under_other_endings(tmp_path, option):
    np.save(tmp_path / "in.npy", stack())
    result = manifill(
        "images", "in.npy", "-o", "out.npy", "--box", "2,2,5,5", option, "s.txt", folder=tmp_path
    )
    assert result.returncode == 1
    assert "must end in ." in result.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["in.npy"]


def test_invalid_requests_for_pictures_are_refused_before_anything_is_written(tmp_path):
    truth, mask = stack(4), removed_entries(4)
    write(tmp_path / "damaged", np.where(mask, 255, truth).astype(np.uint8))
    write(tmp_path / "complete", truth)
    write(tmp_path / "mixed", truth)
    PIL_Image.fromarray(truth[0][:10]).save(tmp_path / "mixed" / "p0.png")
    PIL_Image.fromarray(mask[0][:9].astype(np.uint8) * 255).save(tmp_path / "small.png")
    for arguments, message in [
        (("nowhere", "-o", "out"), "no file or folder"),
        (("mixed", "-o", "out"), "p0.png"),
        (("complete", "-o", "out"), "No damage was found"),
        (("complete", "-o", "out", "--value", "7"), "Nothing is damaged"),
        (("damaged", "-o", "out", "--alpha"), "needs pictures with an alpha channel"),
        (("damaged", "-o", "out", "--mask", "small.png"), "28 × 9"),
        (("damaged", "-o", "out", "--value", "mauve-ish"), "mauve-ish"),
        (("damaged", "-o", "complete", "--value", "255"), "use --force"),
        (("damaged", "-o", "damaged", "--value", "255"), "its own name"),
        (("damaged", "-o", "no/where", "--value", "255"), "no folder"),
        (("damaged", "-o", "out", "--box", "1,2,3"), "1,2,3"),
    ]:
        result = manifill("images", *arguments, folder=tmp_path)
        assert (result.returncode, message in result.stderr) == (1, True), (arguments, result.stderr)
        assert "Traceback" not in result.stderr
        assert not (tmp_path / "out").exists()


def clip(path, frames, sound=False):
    with av.open(str(path), "w") as out:
        pictures = out.add_stream("ffv1" if path.suffix == ".mkv" else "libx264", rate=10)
        pictures.width, pictures.height = frames.shape[2], frames.shape[1]
        pictures.pix_fmt = "bgr0" if path.suffix == ".mkv" else "yuv420p"
        pictures.options = {} if path.suffix == ".mkv" else {"crf": "4"}
        tone = out.add_stream("aac", rate=44100, layout="mono") if sound else None
        for frame in frames:
            out.mux(pictures.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        out.mux(pictures.encode())
        if tone is not None:
            wave = np.sin(np.arange(44100) / 20, dtype=np.float32)[None] * 0.3
            audio = av.AudioFrame.from_ndarray(wave, format="flt", layout="mono")
            audio.sample_rate, audio.pts = 44100, 0
            out.mux(tone.encode(audio))
            out.mux(tone.encode())


def frames_of(path, pixels="rgb24"):
    with av.open(str(path)) as file:
        frames = file.decode(video=0)
        return np.stack([frame.to_ndarray(format=pixels, interpolation=SCALER_FLAGS) for frame in frames])


def packets_of(path):
    with av.open(str(path)) as file:
        return [bytes(packet) for packet in file.demux(audio=0) if packet.size]


def test_lossless_video_with_mask_box_scratch_and_lost_frame(tmp_path):
    truth = stack(24, colour=True)
    mask = np.zeros(truth.shape[:3], bool)
    mask[:, 4:9, 5:11] = True
    mask[:, :, 20:22] = True
    mask[11] = True
    damaged = np.where(mask[..., None], 0, truth).astype(np.uint8)
    clip(tmp_path / "in.mkv", damaged)
    logo = np.zeros((HEIGHT, WIDTH), np.uint8)
    logo[4:9, 5:8] = 255
    PIL_Image.fromarray(logo).save(tmp_path / "logo.png")
    result = manifill(
        "video", "in.mkv", "-o", "out.mkv", "--mask", "logo.png", "--box", "8,4,3,5", "--scratch", "20:2",
        "--frames", "12", "--lossless", "--side-by-side", "both.mp4", "--json", folder=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    check(frames_of(tmp_path / "out.mkv"), truth, mask, 0.4)
    assert frames_of(tmp_path / "both.mp4").shape == (24, HEIGHT, 2 * WIDTH, 3)
    assert json.loads(result.stdout)["frames"] == 24


def test_video_with_a_mask_video_or_a_value_keeps_its_sound(tmp_path):
    truth = stack(20, colour=True)
    mask = removed_entries(20)
    damaged = np.where(mask[..., None], np.array([255, 0, 255], np.uint8), truth)
    clip(tmp_path / "in.mp4", damaged, sound=True)
    clip(tmp_path / "mask.mkv", np.repeat(mask[..., None] * np.uint8(255), 3, axis=-1))
    for name, options in {
        "a.mp4": ("--mask", "mask.mkv", "--grow", "2"),
        "c.mp4": ("--value", "#ff00ff", "--tolerance", "60", "--grow", "2"),
    }.items():
        result = manifill("video", "in.mp4", "-o", name, *options, folder=tmp_path)
        assert result.returncode == 0, result.stderr
        found = frames_of(tmp_path / name)
        assert np.sqrt(np.mean((found.astype(float) - truth)[mask] ** 2)) < 0.7 * truth[mask].std(), name
        assert packets_of(tmp_path / name) == packets_of(tmp_path / "in.mp4") != []


def deep_clip(path, pixels="yuv420p10le"):
    frames = (stack(12, colour=True).astype(np.uint16) << 8) + np.arange(WIDTH, dtype=np.uint16)[:, None] * 7
    with av.open(str(path), "w") as file:
        film = file.add_stream("ffv1", rate=25)
        film.width, film.height, film.pix_fmt = WIDTH, HEIGHT, pixels
        for frame in frames:
            file.mux(film.encode(av.VideoFrame.from_ndarray(frame, "rgb48le").reformat(format=pixels)))
        file.mux(film.encode())


def test_lossless_video_of_10_bits_keeps_every_known_pixel(tmp_path):
    deep_clip(tmp_path / "in.mkv")
    options = ("--box", "4,5,6,6", "--json")
    result = manifill(
        "video", "in.mkv", "-o", "out.mkv", *options, "--lossless", "--side-by-side", "both.mp4",
        folder=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    assert (summary["bits"], summary["notes"], summary["filled"]) == (10, [], 12 * 6 * 6 * 3)
    mask = np.zeros((12, HEIGHT, WIDTH), bool)
    mask[:, 5:11, 4:10] = True
    before, after = (frames_of(tmp_path / name, "gbrp10le") for name in ("in.mkv", "out.mkv"))
    check(after, before, mask)
    assert before.max() > 255
    result = manifill("video", "in.mkv", "-o", "out.mp4", *options, folder=tmp_path)
    assert "out.mp4 has 8 bits per channel, in.mkv has 10" in json.loads(result.stdout)["notes"][0]


def test_video_with_a_folder_of_masks(tmp_path):
    truth, mask = stack(20, colour=True), removed_entries(20)
    clip(tmp_path / "in.mkv", np.where(mask[..., None], 0, truth).astype(np.uint8))
    write(tmp_path / "masks", mask.astype(np.uint8) * 255)
    result = manifill("video", "in.mkv", "-o", "out.mkv", "--mask", "masks", "--lossless", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    check(frames_of(tmp_path / "out.mkv"), truth, mask, 0.4)
    (tmp_path / "masks" / "p0.png").unlink()
    result = manifill("video", "in.mkv", "-o", "b.mkv", "--mask", "masks", "--lossless", folder=tmp_path)
    assert result.returncode == 1
    assert "19" in result.stderr
    assert "20" in result.stderr


def test_wrong_file_ending_is_refused_before_the_work_starts(tmp_path):
    np.save(tmp_path / "in.npy", stack())
    result = manifill("images", "in.npy", "-o", "out.png", "--box", "2,2,5,5", folder=tmp_path)
    assert result.returncode == 1
    assert "must end in .npy" in result.stderr
    assert "analysing" not in result.stderr


def test_stuck_pixels_of_a_numpy_stack_are_found_and_restored(tmp_path):
    rng = np.random.default_rng(3)
    truth = (stack(24) * rng.uniform(0.5, 1, (24, 1, 1))).astype(np.uint8)
    mask = np.zeros(truth.shape, bool)
    mask[:, rng.integers(2, 22, 6), rng.integers(2, 26, 6)] = True
    np.save(tmp_path / "in.npy", np.where(mask, 255, truth).astype(np.uint8))
    result = manifill("video", "in.npy", "-o", "out.npy", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    check(np.load(tmp_path / "out.npy"), truth, mask, 0.5)


def test_invalid_requests_for_video_are_refused(tmp_path):
    clip(tmp_path / "in.mp4", stack(6, colour=True))
    clip(tmp_path / "short.mp4", stack(4, colour=True))
    (tmp_path / "no.mp4").write_bytes(b"not a video")
    for arguments, message in [
        (("in.mp4", "-o", "out.txt", "--box", "1,1,4,4"), "must end in"),
        (("no.mp4", "-o", "out.mp4", "--box", "1,1,4,4"), "no.mp4"),
        (("in.mp4", "-o", "in.mp4", "--box", "1,1,4,4"), "its own name"),
        (("in.mp4", "-o", "short.mp4", "--box", "1,1,4,4"), "use --force"),
        (("in.mp4", "-o", "out.mp4", "--mask", "short.mp4"), "must have 6 frames"),
        (("in.mp4", "-o", "out.mp4", "--frames", "9"), "9"),
        (("in.mp4", "-o", "out.mp4", "--value", "1,2,3", "--tolerance", "0"), "Nothing is damaged"),
    ]:
        result = manifill("video", *arguments, folder=tmp_path)
        assert (result.returncode, message in result.stderr) == (1, True), (arguments, result.stderr)
        assert "Traceback" not in result.stderr
        assert not (tmp_path / "out.mp4").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_stopped_run_leaves_no_incomplete_output(tmp_path, number):
    frames = np.random.default_rng(0).integers(0, 255, (400, 32, 32, 3), dtype=np.uint8)
    clip(tmp_path / "in.mp4", frames)
    # Windows of few frames, so that output is written long before the end.
    script = "import manifill.video as v; v._MAX_BYTES = 1; from manifill._cli import main; main()"
    command = [sys.executable, "-c", script, "video", "in.mp4", "-o", "out.mp4", "--box", "5,5,8,8"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, env={**os.environ})

    def partial_files():
        return [path for path in tmp_path.iterdir() if path.name.startswith(".") and path.stat().st_size]

    try:
        for _ in range(600):
            time.sleep(0.1)
            if partial_files() or process.poll() is not None:
                break
        assert partial_files()
        process.send_signal(number)
        assert process.wait(timeout=60) != 0
    finally:
        process.kill()
    assert number == signal.SIGKILL or not partial_files()  # SIGINT and SIGTERM delete them
    assert not (tmp_path / "out.mp4").exists()
