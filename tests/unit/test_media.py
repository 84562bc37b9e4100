import io
import re
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_digits

from manifill._media import VideoFile, VideoWriter, damage, png, read_pictures, write_pictures
from manifill._media.detection import detect_damage
from manifill._media.video import changes
from manifill.datasets import rotating_object
from manifill.errors import InvalidInput, MissingDependency

av = pytest.importorskip("av")
tifffile = pytest.importorskip("tifffile")
Image = pytest.importorskip("PIL.Image")
PngInfo = pytest.importorskip("PIL.PngImagePlugin").PngInfo
ImageCms = pytest.importorskip("PIL.ImageCms")


def noise(shape, dtype="uint8", seed=0):
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return random.normal(size=shape).astype(dtype)
    return random.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


def smooth(n=6, height=48, width=64, channels=1):
    """Smooth pictures with a little noise, like photographs."""
    t, y, x = np.meshgrid(np.arange(n), np.linspace(0, 1, height), np.linspace(0, 1, width), indexing="ij")
    layers = [
        120 + 50 * np.sin(5 * x + 3 * y + 0.4 * t + c) + 30 * np.cos(7 * y - 2 * x + 0.3 * t - c)
        for c in range(channels)
    ]
    grain = np.random.default_rng(1).normal(scale=1.5, size=(n, height, width, 1))
    return np.clip(np.stack(layers, axis=-1) + grain, 20, 235).astype(np.uint8)


def folder_of(tmp_path, pictures, name="in"):
    folder = tmp_path / name
    folder.mkdir()
    for title, picture in pictures.items():
        Image.fromarray(picture).save(folder / title)
    return folder


def names(folder):
    return sorted(one.name for one in folder.iterdir())


class TestFolders:
    @pytest.mark.parametrize("ending", ["png", "bmp", "webp", "tif", "ppm"])
    @pytest.mark.parametrize("shape", [(11, 7), (11, 7, 3), (11, 7, 4)], ids=["grey", "colour", "alpha"])
    def test_lossless_formats_are_written_bit_for_bit(self, tmp_path, ending, shape):
        if ending in ("bmp", "ppm") and shape[-1] == 4:
            pytest.skip("the format has no alpha")
        given = {f"{i}.{ending}": noise(shape, seed=i) for i in range(3)}
        folder = tmp_path / "in"
        folder.mkdir()
        for title, picture in given.items():
            Image.fromarray(picture).save(
                folder / title, **({"lossless": True, "exact": True} if ending == "webp" else {})
            )
        read = read_pictures(folder)
        expected = np.stack(list(given.values()))
        channels = 3 if len(shape) == 3 or ending == "webp" else 1
        assert read.values.shape == (3, 11, 7, channels)
        plain = expected[..., :3] if len(shape) == 3 else expected[..., None]
        np.testing.assert_array_equal(read.values, np.broadcast_to(plain, read.values.shape))
        assert (read.alpha is not None) == (shape[-1] == 4)
        changed = read.values.copy()
        changed[:, :2, :2] = 7
        assert write_pictures(read, changed, tmp_path / "out") == []
        assert names(tmp_path / "out") == sorted(given)
        again = read_pictures(tmp_path / "out")
        np.testing.assert_array_equal(again.values, changed)
        if read.alpha is not None:
            np.testing.assert_array_equal(again.alpha, expected[..., 3])
        with Image.open(tmp_path / "out" / f"0.{ending}") as one, Image.open(folder / f"0.{ending}") as other:
            assert (one.format, one.mode, one.size) == (other.format, other.mode, other.size)

    @pytest.mark.parametrize("channels", [1, 2, 3, 4])
    def test_16_bit_png_is_written_bit_for_bit(self, tmp_path, channels):
        pixels = noise((9, 13, channels), "uint16")
        (tmp_path / "a.png").write_bytes(png.encoded(pixels))
        read = read_pictures(tmp_path / "a.png")
        assert read.values.dtype == np.uint16
        np.testing.assert_array_equal(read.values[0], pixels[..., : 1 if channels < 3 else 3])
        write_pictures(read, read.values, tmp_path / "b.png")
        again = read_pictures(tmp_path / "b.png")
        np.testing.assert_array_equal(again.values, read.values)
        if channels in (2, 4):
            np.testing.assert_array_equal(again.alpha[0], pixels[..., -1])

    @pytest.mark.parametrize("make", [noise, lambda shape, dtype: np.cumsum(noise(shape), 1).astype(dtype)])
    def test_16_bit_colours_agree_with_ffmpeg(self, tmp_path, make):
        pixels = make((40, 31, 3), "uint16")
        (tmp_path / "ours.png").write_bytes(png.encoded(pixels))
        with av.open(tmp_path / "ours.png") as file:
            np.testing.assert_array_equal(next(file.decode(video=0)).to_ndarray(format="rgb48le"), pixels)
        with av.open(tmp_path / "theirs.png", "w", format="image2", options={"update": "1"}) as file:
            stream = file.add_stream("png", rate=1, options={"pred": "mixed"})
            stream.width, stream.height, stream.pix_fmt = 31, 40, "rgb48be"
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb48le")
            file.mux(stream.encode(frame))
            file.mux(stream.encode())
        np.testing.assert_array_equal(read_pictures(tmp_path / "theirs.png").values[0], pixels)

    def test_palettes_become_colours_and_bits_become_grey(self, tmp_path):
        folder = tmp_path / "in"
        folder.mkdir()
        colours = noise((8, 8, 3)) // 64 * 64
        Image.fromarray(colours).quantize(64, dither=Image.Dither.NONE).save(folder / "a.png")
        expected = np.asarray(Image.open(folder / "a.png").convert("RGB"))
        read = read_pictures(folder)
        np.testing.assert_array_equal(read.values[0], expected)
        lines = write_pictures(read, read.values, tmp_path / "out")
        assert len(lines) == 1
        assert "palette" in lines[0]
        bits = noise((8, 8)) > 127
        Image.fromarray(bits).save(tmp_path / "bits.png")
        np.testing.assert_array_equal(read_pictures(tmp_path / "bits.png").values[0, ..., 0], bits * 255)

    @pytest.mark.parametrize("mode", ["L", "RGB", "P"])
    def test_transparent_colours_become_alpha(self, tmp_path, mode):
        grey = (np.arange(64).reshape(8, 8) * 3).astype(np.uint8)
        picture = Image.fromarray(grey if mode != "RGB" else np.dstack([grey] * 3))
        picture = picture.convert("P") if mode == "P" else picture
        key = (9, 9, 9) if mode == "RGB" else 9
        picture.save(tmp_path / "a.png", transparency=key)
        read = read_pictures(tmp_path / "a.png")
        assert read.values.shape[-1] == (1 if mode == "L" else 3)
        np.testing.assert_array_equal(damage.by_alpha(read.alpha)[0], grey == 9)

    def test_jpeg_is_written_as_png_and_reported(self, tmp_path):
        folder = folder_of(tmp_path, {"a.jpg": noise((16, 16, 3)), "b.png": noise((16, 16, 3))})
        read = read_pictures(folder)
        lines = write_pictures(read, read.values, tmp_path / "out")
        assert lines == ["a.jpg is written as a.png: JPEG would change observed pixels."]
        np.testing.assert_array_equal(read_pictures(tmp_path / "out").values, read.values)

    def test_output_names_are_unique(self, tmp_path):
        folder = folder_of(tmp_path, {"a.jpg": noise((16, 16, 3)), "a.png": noise((16, 16, 3))})
        read = read_pictures(folder)
        write_pictures(read, read.values, tmp_path / "out")
        assert names(tmp_path / "out") == ["a.jpg.png", "a.png"]

    def test_only_the_first_frame_of_a_gif_is_read(self, tmp_path):
        pages = [Image.fromarray(np.full((5, 5), value, np.uint8)) for value in (10, 20)]
        pages[0].save(tmp_path / "a.gif", save_all=True, append_images=pages[1:])
        read = read_pictures(tmp_path / "a.gif")
        assert (read.values == 10).all()
        lines = write_pictures(read, read.values, tmp_path / "b.gif")
        assert lines[0].startswith("b.gif is written as b.png")
        assert "only the first" in lines[1]

    def test_given_alpha_is_written_to_pictures_with_alpha(self, tmp_path):
        pixels = noise((6, 6, 4))
        pixels[..., 3] = 255
        pixels[1, 2, 3] = 0
        folder = folder_of(tmp_path, {"a.png": pixels, "b.png": noise((6, 6, 3))})
        read = read_pictures(folder)
        damaged = damage.by_alpha(read.alpha)
        assert damaged.sum() == 1
        opaque = np.where(damaged, 255, read.alpha).astype(np.uint8)
        write_pictures(read, read.values, tmp_path / "out", alpha=opaque)
        again = read_pictures(tmp_path / "out")
        assert (again.alpha == 255).all()
        with Image.open(tmp_path / "out" / "b.png") as other:
            assert other.mode == "RGB"

    def test_names_are_in_natural_order_and_other_files_ignored(self, tmp_path):
        folder = folder_of(tmp_path, {f"p{i}.png": np.full((4, 4), i, np.uint8) for i in (10, 2, 1)})
        (folder / "notes.txt").write_text("not a picture")
        (folder / ".hidden.png").write_text("not a picture")
        read = read_pictures(folder)
        assert read.names == ("p1.png", "p2.png", "p10.png")
        assert read.values[:, 0, 0, 0].tolist() == [1, 2, 10]

    def test_floats_are_rounded_and_clipped_for_integer_pictures(self, tmp_path):
        folder = folder_of(tmp_path, {"a.png": noise((4, 4))})
        read = read_pictures(folder)
        wanted = read.values.astype(float)
        wanted[0, 0, 0] = 300.0
        write_pictures(read, wanted, tmp_path / "out")
        written = read_pictures(tmp_path / "out").values
        assert written[0, 0, 0, 0] == 255
        np.testing.assert_array_equal(written[0, 1:], read.values[0, 1:])
        wanted[0, 0, 0] = np.nan
        with pytest.raises(InvalidInput, match="must be finite"):
            write_pictures(read, wanted, tmp_path / "never")
        assert not (tmp_path / "never").exists()


class TestMetadata:
    PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()

    @pytest.mark.parametrize("ending", ["png", "jpg", "webp"])
    def test_exif_profile_and_resolution_are_kept(self, tmp_path, ending):
        exif = Image.Exif()
        exif[274] = 6  # orientation
        exif[315] = "someone"
        Image.fromarray(noise((8, 8, 3))).save(
            tmp_path / f"a.{ending}", exif=exif, icc_profile=self.PROFILE, dpi=(300, 300)
        )
        read = read_pictures(tmp_path / f"a.{ending}")
        write_pictures(read, read.values, tmp_path / f"b.{ending}")
        with Image.open(tmp_path / ("b.webp" if ending == "webp" else "b.png")) as written:
            assert written.getexif()[274] == 6
            assert written.getexif()[315] == "someone"
            assert written.info["icc_profile"] == self.PROFILE
            if ending != "webp":
                assert written.info["dpi"] == pytest.approx((300, 300), abs=0.1)

    def test_png_text_is_kept(self, tmp_path):
        info = PngInfo()
        info.add_text("Title", "a picture")
        info.add_itxt("Beschreibung", "schön", lang="de")
        Image.fromarray(noise((8, 8))).save(tmp_path / "a.png", pnginfo=info, gamma=0.5)
        read = read_pictures(tmp_path / "a.png")
        write_pictures(read, read.values, tmp_path / "b.png")
        assert png.kept_chunks(tmp_path / "a.png") == png.kept_chunks(tmp_path / "b.png")
        with Image.open(tmp_path / "b.png") as written:
            assert written.text["Title"] == "a picture"
            assert written.text["Beschreibung"] == "schön"

    @pytest.mark.parametrize("compression", [None, "zlib", "tiff_lzw"])
    def test_tiff_tags_are_kept(self, tmp_path, compression):
        pages = [noise((8, 9), seed=i) for i in range(2)]
        if compression == "tiff_lzw":
            info = {270: "two pages", 305: "a program", 282: 72.0, 283: 36.0, 296: 3, 274: 6, 315: "someone"}
            first, second = map(Image.fromarray, pages)
            first.save(
                tmp_path / "a.tif",
                save_all=True,
                append_images=[second],
                compression=compression,
                tiffinfo=info,
                icc_profile=self.PROFILE,
            )
        else:
            tifffile.imwrite(
                tmp_path / "a.tif",
                np.stack(pages),
                compression=compression,
                description="two pages",
                software="a program",
                resolution=(72, 36),
                resolutionunit=3,
                iccprofile=self.PROFILE,
                metadata=None,
                extratags=[(315, 2, 0, "someone", False), (274, 3, 1, 6, False)],
            )
        read = read_pictures(tmp_path / "a.tif")
        assert write_pictures(read, read.values, tmp_path / "b.tif") == []
        np.testing.assert_array_equal(read_pictures(tmp_path / "b.tif").values[..., 0], np.stack(pages))
        with tifffile.TiffFile(tmp_path / "a.tif") as one, tifffile.TiffFile(tmp_path / "b.tif") as two:
            assert two.pages[0].compression == one.pages[0].compression
            for code in (270, 305, 282, 283, 296, 274, 315, 34675):
                assert two.pages[0].tags[code].value == one.pages[0].tags[code].value, code


class TestTiff:
    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
    @pytest.mark.parametrize("channels", [1, 3, 4])
    @pytest.mark.parametrize("compression", [None, "zlib"])
    def test_pages_are_written_bit_for_bit(self, tmp_path, dtype, channels, compression):
        pixels = noise((4, 10, 12, channels), dtype)
        if pixels.dtype.kind == "f":
            pixels[1, 2, 3] = np.nan
        tifffile.imwrite(
            tmp_path / "a.tif",
            pixels[..., 0] if channels == 1 else pixels,
            photometric="minisblack" if channels == 1 else "rgb",
            extrasamples=["unassalpha"] if channels == 4 else None,
            compression=compression,
            predictor=(compression is not None and pixels.dtype.kind == "u") or None,
        )
        read = read_pictures(tmp_path / "a.tif")
        assert read.values.dtype == dtype
        assert len(read.names) == 4
        np.testing.assert_array_equal(read.values, pixels[..., :3])
        assert write_pictures(read, read.values, tmp_path / "b.tif") == []
        again = read_pictures(tmp_path / "b.tif")
        np.testing.assert_array_equal(again.values, read.values)
        if channels == 4:
            np.testing.assert_array_equal(again.alpha, pixels[..., 3])
        with tifffile.TiffFile(tmp_path / "a.tif") as one, tifffile.TiffFile(tmp_path / "b.tif") as two:
            assert one.pages[0].compression == two.pages[0].compression
            assert one.pages[0].predictor == two.pages[0].predictor

    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
    def test_lzw_compression_is_kept(self, tmp_path, dtype):
        pages = [Image.fromarray(noise((8, 9), dtype, seed=i)) for i in range(3)]
        pages[0].save(tmp_path / "a.tif", save_all=True, append_images=pages[1:], compression="tiff_lzw")
        read = read_pictures(tmp_path / "a.tif")
        np.testing.assert_array_equal(read.values[..., 0], np.stack([np.asarray(page) for page in pages]))
        write_pictures(read, read.values, tmp_path / "b.tif")
        np.testing.assert_array_equal(read_pictures(tmp_path / "b.tif").values, read.values)
        with Image.open(tmp_path / "b.tif") as written:
            assert written.info["compression"] == "tiff_lzw"

    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_orientation_does_not_rotate_the_pixels(self, tmp_path, orientation):
        pixels = noise((8, 9, 3))
        Image.fromarray(pixels).save(tmp_path / "a.tif", compression="tiff_lzw", tiffinfo={274: orientation})
        np.testing.assert_array_equal(read_pictures(tmp_path / "a.tif").values[0], pixels)

    def test_error_names_the_page_of_another_size(self, tmp_path):
        with tifffile.TiffWriter(tmp_path / "a.tif") as file:
            file.write(noise((8, 9)), photometric="minisblack")
            file.write(noise((8, 5)), photometric="minisblack")
        with pytest.raises(InvalidInput, match=r"page 1 is 9 × 8, grey, uint8, but a.tif, page 2 is 5 × 8"):
            read_pictures(tmp_path / "a.tif")

    def test_several_pages_in_a_file_of_a_folder_are_refused(self, tmp_path):
        tifffile.imwrite(tmp_path / "a.tif", noise((3, 8, 9)), photometric="minisblack")
        with pytest.raises(InvalidInput, match="holds 3 pictures"):
            read_pictures(tmp_path)


class TestNumpy:
    @pytest.mark.parametrize("shape", [(3, 8, 9), (8, 9), (3, 8, 9, 3), (3, 8, 9, 4)])
    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
    def test_shape_and_dtype_are_kept(self, tmp_path, shape, dtype):
        array = noise(shape, dtype)
        np.save(tmp_path / "a.npy", array)
        read = read_pictures(tmp_path / "a.npy")
        assert read.values.ndim == 4
        assert write_pictures(read, read.values, tmp_path / "b.npy") == []
        again = np.load(tmp_path / "b.npy")
        assert again.dtype == dtype
        np.testing.assert_array_equal(again, array)

    def test_npz_keeps_its_other_arrays(self, tmp_path):
        np.savez(tmp_path / "a.npz", X=noise((3, 8, 9)), labels=np.arange(3))
        read = read_pictures(tmp_path / "a.npz")
        write_pictures(read, 255 - read.values, tmp_path / "b.npz")
        with np.load(tmp_path / "b.npz") as written:
            np.testing.assert_array_equal(written["X"], 255 - noise((3, 8, 9)))
            np.testing.assert_array_equal(written["labels"], np.arange(3))

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.zeros((8, 9, 3)), r"X\[None\]"),
            (np.zeros(3), "Reshape"),
            (np.zeros((2, 3, 4, 5)), "Reshape"),
            (np.zeros((0, 8, 9)), "Reshape"),
            (np.array([["a"]]), "numbers"),
        ],
    )
    def test_invalid_arrays_are_refused(self, tmp_path, array, message):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(InvalidInput, match=message):
            read_pictures(tmp_path / "a.npy")

    def test_files_without_a_suitable_array_are_refused(self, tmp_path):
        (tmp_path / "a.npy").write_text("text")
        with pytest.raises(InvalidInput, match=r"a\.npy must be saved by numpy"):
            read_pictures(tmp_path / "a.npy")
        np.savez(tmp_path / "a.npz", a=np.zeros((2, 2)), b=np.zeros((2, 2)))
        with pytest.raises(InvalidInput, match="one called X; it holds a, b"):
            read_pictures(tmp_path / "a.npz")


class TestErrors:
    @pytest.mark.parametrize(
        ("other", "message"),
        [
            (noise((4, 5)), r"a\.png is 4 × 4, grey, uint8, but b\.png is 5 × 4, grey, uint8"),
            (noise((4, 4, 3)), r"b\.png is 4 × 4, colour"),
            (noise((4, 4), "uint16"), r"b\.png is 4 × 4, grey, uint16"),
        ],
    )
    def test_pictures_of_different_shape_or_dtype_are_refused(self, tmp_path, other, message):
        folder = folder_of(tmp_path, {"a.png": noise((4, 4)), "b.png": other})
        with pytest.raises(InvalidInput, match=message):
            read_pictures(folder)

    def test_empty_folders_and_missing_paths_are_refused(self, tmp_path):
        with pytest.raises(InvalidInput, match="it has none"):
            read_pictures(tmp_path)
        with pytest.raises(InvalidInput, match="There is no file or folder"):
            read_pictures(tmp_path / "missing")

    def test_error_names_the_file_that_is_not_a_picture(self, tmp_path):
        (tmp_path / "a.png").write_text("not a picture")
        with pytest.raises(InvalidInput, match=r"a\.png cannot be read as a picture: it is not a picture"):
            read_pictures(tmp_path)
        (tmp_path / "a.tif").write_bytes(b"II*\0broken")
        with pytest.raises(InvalidInput, match=r"a\.tif cannot be read as a TIFF"):
            read_pictures(tmp_path / "a.tif")

    @pytest.mark.filterwarnings("error")
    def test_large_pictures_are_read_without_a_warning(self, tmp_path, monkeypatch):
        Image.fromarray(np.zeros((20, 30), np.uint8)).save(tmp_path / "a.gif")
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 500)
        assert len(read_pictures(tmp_path / "a.gif").names) == 1
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 200)
        with pytest.raises(InvalidInput, match="exceeds limit"):
            read_pictures(tmp_path / "a.gif")

    def test_tiff_files_that_do_not_say_where_their_pixels_are_are_refused(self, tmp_path):
        Image.fromarray(np.ones((12, 11), bool)).save(tmp_path / "a.tif")
        content = bytearray((tmp_path / "a.tif").read_bytes())
        for tag in (278, 279):  # rows and bytes of each strip, which cannot be guessed for single bits
            place = content.index(tag.to_bytes(2, "little"))
            content[place : place + 4] = b"\xff" * 4  # another tag, of an unknown type
        (tmp_path / "a.tif").write_bytes(content)
        with pytest.raises(InvalidInput, match="0 of 1 pieces"):
            read_pictures(tmp_path / "a.tif")

    @pytest.mark.parametrize("channels", [1, 3])
    @pytest.mark.parametrize("dtype", ["uint8", "uint16"])
    def test_truncated_files_are_refused(self, tmp_path, dtype, channels):
        content = png.encoded(noise((40, 40, channels), dtype))
        (tmp_path / "half.png").write_bytes(content[: len(content) // 2])
        with pytest.raises(InvalidInput, match=r"half\.png cannot be read"):
            read_pictures(tmp_path / "half.png")

    def test_files_are_not_overwritten_unless_forced(self, tmp_path):
        folder = folder_of(tmp_path, {"a.png": noise((4, 4)), "b.png": noise((4, 4))})
        read = read_pictures(folder)
        out = tmp_path / "out"
        out.mkdir()
        (out / "b.png").write_text("precious")
        (out / "c.txt").write_text("other")
        with pytest.raises(InvalidInput, match=r"has b\.png already"):
            write_pictures(read, read.values, out)
        assert names(out) == ["b.png", "c.txt"]
        write_pictures(read, read.values, out, force=True)
        assert names(out) == ["a.png", "b.png", "c.txt"]
        assert names(tmp_path) == ["in", "out"]
        np.save(tmp_path / "a.npy", noise((2, 4, 5)))
        stack = read_pictures(tmp_path / "a.npy")
        with pytest.raises(InvalidInput, match="exists already"):
            write_pictures(stack, stack.values, tmp_path / "a.npy")
        with pytest.raises(InvalidInput, match=r"must end in \.npy"):
            write_pictures(stack, stack.values, tmp_path / "a.png")

    def test_failure_leaves_no_files(self, tmp_path, monkeypatch):
        folder = folder_of(tmp_path, {f"{i}.png": noise((4, 4)) for i in range(3)})
        read = read_pictures(folder)
        written = iter([b"first"])

        def failing(*_):
            try:
                return next(written)
            except StopIteration:
                raise KeyboardInterrupt from None

        monkeypatch.setattr("manifill._media.formats.encoded", failing)
        with pytest.raises(KeyboardInterrupt):
            write_pictures(read, read.values, tmp_path / "out")
        assert names(tmp_path) == ["in"]

    @pytest.mark.parametrize(
        ("library", "file", "extra"),
        [("PIL", "a.png", "images"), ("tifffile", "a.tif", "images"), ("av", "a.mp4", "video")],
    )
    def test_error_for_a_missing_library_names_the_extra(self, tmp_path, monkeypatch, library, file, extra):
        (tmp_path / file).write_bytes(b"II*\0" if file == "a.tif" else b"")
        monkeypatch.setitem(sys.modules, library, None)
        read = VideoFile.open if file == "a.mp4" else read_pictures
        with pytest.raises(MissingDependency, match=rf"pip install 'manifill\[{extra}\]'"):
            read(tmp_path / file)

    def test_16_bit_ppm_is_refused(self, tmp_path):
        pixels = noise((3, 4, 3), "uint16")
        (tmp_path / "a.ppm").write_bytes(b"P6 # made by hand\n4 3\n65535\n" + pixels.astype(">u2").tobytes())
        with pytest.raises(InvalidInput, match="16 bits per channel"):
            read_pictures(tmp_path / "a.ppm")

    def test_values_of_another_shape_are_refused(self, tmp_path):
        read = read_pictures(folder_of(tmp_path, {"a.png": noise((4, 4))}))
        with pytest.raises(InvalidInput, match="must have the pictures' shape"):
            write_pictures(read, read.values[:, 1:], tmp_path / "out")


def psnr(one, other):
    return 10 * np.log10(255**2 / np.mean((one.astype(float) - other.astype(float)) ** 2))


def stack_file(tmp_path, frames, name="in.npy"):
    np.save(tmp_path / name, frames)
    return VideoFile.open(tmp_path / name)


def write(path, like, frames, **options):
    with VideoWriter(path, like, **options) as writer:
        for frame in frames:
            writer.write(frame)
    return VideoFile.open(path)


def interrupted(path, like):
    with VideoWriter(path, like) as writer:
        writer.write(next(like.frames()))
        assert {one[0] for one in names(path.parent)} <= {"."}
        raise KeyboardInterrupt


@pytest.fixture(scope="module")
def with_audio(tmp_path_factory):
    """A short colour video with an audio track."""
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    with av.open(path, "w") as file:
        film = file.add_stream("libx264", rate=Fraction(30000, 1001), options={"crf": "10"})
        film.width, film.height, film.pix_fmt = 64, 48, "yuv420p"
        tone = file.add_stream("aac", rate=16000, layout="mono")
        wave = (0.5 * np.sin(2 * np.pi * 440 * np.arange(20480) / 16000)).astype(np.float32)
        for start in range(0, 20480, 1024):
            sound = av.AudioFrame.from_ndarray(wave[None, start : start + 1024], "fltp", "mono")
            sound.sample_rate, sound.pts = 16000, start
            file.mux(tone.encode(sound))
        file.mux(tone.encode())
        for frame in smooth(30, channels=3):
            file.mux(film.encode(av.VideoFrame.from_ndarray(frame)))
        file.mux(film.encode())
    return path


def packets(video):
    """The audio packets of a video, and their times after the first frame, in seconds."""
    start = int(video.times[0]) * video.time_base
    with av.open(video.path) as file:
        found = [one for one in file.demux(file.streams.audio[0]) if one.size]
        return [bytes(one) for one in found], [float(one.pts * one.time_base - start) for one in found]


class TestVideo:
    def test_attributes_and_frames_are_read(self, with_audio):
        video = VideoFile.open(with_audio)
        assert (video.width, video.height, video.n_frames) == (64, 48, 30)
        assert video.fps == Fraction(30000, 1001)
        assert video.colour
        assert video.has_audio
        assert video.duration == pytest.approx(1.001)
        frames = list(video.frames())
        assert len(frames) == 30
        assert frames[0].shape == (48, 64, 3)
        assert psnr(np.stack(frames), smooth(30, channels=3)) > 35

    @pytest.mark.parametrize(("start", "stop"), [(0, 5), (7, 8), (13, None), (29, 30), (4, 4)])
    def test_range_of_frames_is_a_slice_of_all(self, with_audio, start, stop):
        video = VideoFile.open(with_audio)
        everything = list(video.frames())
        some = list(video.frames(start, stop))
        assert len(some) == len(everything[start:stop])
        for one, other in zip(some, everything[start:stop], strict=True):
            np.testing.assert_array_equal(one, other)

    @pytest.mark.parametrize(("start", "stop"), [(-1, 3), (5, 4), (0, 31)])
    def test_invalid_ranges_of_frames_are_refused(self, with_audio, start, stop):
        with pytest.raises(InvalidInput, match="Frames must be"):
            next(VideoFile.open(with_audio).frames(start, stop))

    @pytest.mark.parametrize("ending", ["mp4", "mov", "mkv", "avi", "webm"])
    @pytest.mark.parametrize("channels", [1, 3])
    def test_lossy_formats_have_good_quality(self, tmp_path, ending, channels):
        frames = smooth(8, channels=channels)
        frames = frames[..., 0] if channels == 1 else frames
        video = write(tmp_path / f"out.{ending}", stack_file(tmp_path, frames), frames)
        assert (video.n_frames, video.width, video.height, video.fps) == (8, 64, 48, 25)
        assert not video.has_audio
        read = np.stack(list(video.frames()))
        read = read[..., 0] if channels == 1 and video.colour else read
        assert psnr(read, frames) > 40

    @pytest.mark.parametrize("ending", ["mp4", "mov", "mkv", "avi", "webm", "npy"])
    @pytest.mark.parametrize("shape", [(5, 20, 32, 3), (5, 20, 32), (5, 19, 31, 3)])
    def test_lossless_video_is_bit_exact(self, tmp_path, ending, shape):
        frames = noise(shape)
        video = write(tmp_path / f"out.{ending}", stack_file(tmp_path, frames), frames, lossless=True)
        read = np.stack(list(video.frames()))
        read = read[..., 0] if read.ndim > frames.ndim else read
        np.testing.assert_array_equal(read, frames)

    @pytest.mark.parametrize("ending", ["mp4", "mkv", "avi", "webm"])
    def test_odd_sizes_are_kept(self, tmp_path, ending):
        frames = smooth(5, height=33, width=47, channels=3)
        video = write(tmp_path / f"out.{ending}", stack_file(tmp_path, frames), frames)
        assert (video.width, video.height) == (47, 33)
        assert psnr(np.stack(list(video.frames())), frames) > 38

    @pytest.mark.parametrize("ending", ["mp4", "mkv", "mov"])
    def test_audio_is_copied_unchanged(self, tmp_path, with_audio, ending):
        like = VideoFile.open(with_audio)
        video = write(tmp_path / f"out.{ending}", like, like.frames())
        assert video.has_audio
        assert video.n_frames == 30
        assert float(video.fps) == pytest.approx(30000 / 1001, rel=1e-3)
        before, after = packets(like), packets(video)
        assert len(before[0]) > 15
        assert before[0] == after[0]
        np.testing.assert_allclose(after[1], before[1], atol=2e-3)

    def test_audio_that_the_container_does_not_support_is_refused(self, tmp_path, with_audio):
        like = VideoFile.open(with_audio)
        with (
            pytest.raises(InvalidInput, match=r"name the output \.mkv"),
            VideoWriter(tmp_path / "out.webm", like),
        ):
            pass
        assert names(tmp_path) == []

    def test_uneven_frame_times_are_kept(self, tmp_path):
        times = [0, 1, 2, 3, 10, 11, 12, 20]
        frames = smooth(8, channels=3)
        with av.open(tmp_path / "in.mkv", "w") as file:
            film = file.add_stream("libx264", rate=25)
            film.width, film.height, film.pix_fmt = 64, 48, "yuv420p"
            film.codec_context.time_base = Fraction(1, 25)
            for frame, time in zip(frames, times, strict=True):
                picture = av.VideoFrame.from_ndarray(frame)
                picture.pts, picture.time_base = time, Fraction(1, 25)
                file.mux(film.encode(picture))
            file.mux(film.encode())
        like = VideoFile.open(tmp_path / "in.mkv")
        assert like.n_frames == 8
        video = write(tmp_path / "out.mp4", like, like.frames())
        shown = (video.times - video.times[0]) * float(video.time_base)
        np.testing.assert_allclose(shown, np.array(times) / 25, atol=2e-3)

    @pytest.mark.parametrize("ending", ["avi", "npy"])
    def test_formats_without_frame_times_say_so(self, tmp_path, ending):
        like = replace(
            stack_file(tmp_path, smooth(4, channels=3)),
            times=np.array([0, 1, 2, 9]),
            time_base=Fraction(1, 25),
        )
        assert "constant frame rate" in changes(tmp_path / f"a.{ending}", like, lossless=True)[0]
        assert changes(tmp_path / "a.mkv", like, lossless=True) == []

    @pytest.mark.parametrize(
        ("ending", "lossless"), [("mp4", False), ("mkv", True), ("mkv", False), ("webm", False)]
    )
    def test_equal_frames_give_equal_files(self, tmp_path, ending, lossless):
        rng = np.random.default_rng(0)
        frames = smooth(20, height=120, width=160, channels=3)
        like = stack_file(tmp_path, frames)
        found = set()
        for _ in range(12 if ending == "mp4" else 3):
            # freed memory with other contents each time, which an encoder may read by mistake
            used = [rng.integers(0, 255, int(size), dtype=np.uint8) for size in rng.integers(100, 20000, 200)]
            del used
            found.add(write(tmp_path / f"out.{ending}", like, frames, lossless=lossless).path.read_bytes())
        assert len(found) == 1

    @pytest.mark.parametrize("pixels", ["yuv420p10le", "yuv422p12le", "gray10le", "gbrp16le"])
    def test_lossless_video_keeps_more_than_8_bits(self, tmp_path, pixels):
        deep = (smooth(5, channels=3).astype(np.uint16) << 8) + noise((5, 48, 64, 3))
        with av.open(tmp_path / "in.mkv", "w") as file:
            film = file.add_stream("ffv1", rate=25)
            film.width, film.height, film.pix_fmt = 64, 48, pixels
            for frame in deep:
                file.mux(film.encode(av.VideoFrame.from_ndarray(frame, "rgb48le").reformat(format=pixels)))
            file.mux(film.encode())
        like = VideoFile.open(tmp_path / "in.mkv").with_full_depth()
        assert like.bits == like.depth == int(re.search("(10|12|16)le", pixels).group(1))
        frames = list(like.frames())
        assert np.max(frames) > 255
        video = write(tmp_path / "out.mkv", like, frames, lossless=True)
        assert video.depth == like.depth
        np.testing.assert_array_equal(list(video.with_full_depth().frames()), frames)
        assert "has 8 bits per channel" in changes(tmp_path / "out.mp4", like, lossless=True)[0]
        assert "has 8 bits per channel" in changes(tmp_path / "out.mkv", like, lossless=False)[0]
        assert changes(tmp_path / "out.mkv", like, lossless=True) == []

    def test_exception_leaves_no_files(self, tmp_path):
        folder = tmp_path / "out"
        folder.mkdir()
        like = stack_file(tmp_path, smooth(4, channels=3))
        for name in ("a.mp4", "a.npy"):
            with pytest.raises(KeyboardInterrupt):
                interrupted(folder / name, like)
            assert names(folder) == []
            with pytest.raises(InvalidInput, match="No frame was written"), VideoWriter(folder / name, like):
                pass
            assert names(folder) == []

    def test_old_file_stays_until_the_new_one_is_complete(self, tmp_path):
        like = stack_file(tmp_path, smooth(4, channels=3))
        (tmp_path / "a.mkv").write_text("old")
        with VideoWriter(tmp_path / "a.mkv", like) as writer:
            writer.write(next(like.frames()))
            assert (tmp_path / "a.mkv").read_text() == "old"
        assert VideoFile.open(tmp_path / "a.mkv").n_frames == 1

    def test_invalid_frames_and_names_are_refused(self, tmp_path):
        like = stack_file(tmp_path, smooth(4)[..., 0])
        assert not like.colour
        with pytest.raises(InvalidInput, match="must end in"):
            VideoWriter(tmp_path / "a.txt", like)
        with pytest.raises(InvalidInput, match="no folder"):
            VideoWriter(tmp_path / "none" / "a.mp4", like)
        for bad in (np.zeros((48, 64)), np.zeros((4, 4), np.uint8), np.zeros((48, 64, 3), np.uint8)):
            with (
                pytest.raises(InvalidInput, match="rames must be"),
                VideoWriter(tmp_path / "a.mp4", like) as one,
            ):
                one.write(bad)
        assert names(tmp_path) == ["in.npy"]

    def test_files_that_are_not_videos_are_refused(self, tmp_path):
        (tmp_path / "a.mp4").write_bytes(noise(5000).tobytes())
        with pytest.raises(InvalidInput, match=r"a\.mp4 cannot be read as a video"):
            VideoFile.open(tmp_path / "a.mp4")
        with pytest.raises(InvalidInput, match="There is no file"):
            VideoFile.open(tmp_path / "b.mp4")
        with av.open(tmp_path / "c.mka", "w", format="matroska") as file:
            tone = file.add_stream("pcm_s16le", rate=8000, layout="mono")
            sound = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), "s16", "mono")
            sound.sample_rate = 8000
            file.mux(tone.encode(sound))
            file.mux(tone.encode())
        with pytest.raises(InvalidInput, match="must have a video stream"):
            VideoFile.open(tmp_path / "c.mka")
        np.save(tmp_path / "d.npy", np.zeros((3, 4, 5)))
        with pytest.raises(InvalidInput, match="uint8"):
            VideoFile.open(tmp_path / "d.npy")

    def test_truncated_video_has_fewer_frames(self, tmp_path, with_audio):
        like = VideoFile.open(with_audio)
        video = write(tmp_path / "a.mkv", like, like.frames())
        data = video.path.read_bytes()
        video.path.write_bytes(data[: len(data) // 2])
        with pytest.raises(InvalidInput):
            list(video.frames())  # the file was complete when it was opened
        truncated = VideoFile.open(video.path)
        assert 0 < truncated.n_frames < 30


class TestDamage:
    def test_value_marks_pixels_within_the_tolerance(self):
        values = smooth(2, channels=3)
        values[0, 3, 4] = (255, 0, 255)
        values[1, 5, 6] = (254, 1, 255)
        exact = damage.by_value(values, damage.parse_colour("#ff00ff"))
        assert np.argwhere(exact).tolist() == [[0, 3, 4]]
        assert damage.by_value(values, (255, 0, 255), tolerance=1).sum() == 2
        grey = noise((1, 8, 8, 1))
        np.testing.assert_array_equal(
            damage.by_value(grey, grey[0, 2, 2, 0]), (grey == grey[0, 2, 2])[..., 0]
        )
        np.testing.assert_array_equal(damage.by_value(grey, (0, 0, 0)), (grey == 0)[..., 0])
        with pytest.raises(InvalidInput, match="Give a grey value"):
            damage.by_value(grey, (255, 0, 255))

    @pytest.mark.parametrize(
        ("text", "dtype", "colour"),
        [
            ("#ff00ff", "uint8", (255, 0, 255)),
            ("#f0f", "uint16", (65535, 0, 65535)),
            ("255,0,255", "uint16", (255, 0, 255)),
            ("0", "uint8", (0,)),
            (" Black ", "uint8", (0, 0, 0)),
            ("white", "float32", (1, 1, 1)),
            ("-9999", "float32", (-9999,)),
        ],
    )
    def test_colours_are_parsed(self, text, dtype, colour):
        assert damage.parse_colour(text, dtype) == colour

    @pytest.mark.parametrize("text", ["", "blackish", "1,2", "#12345", "nan", "1,2,3,4"])
    def test_invalid_colours_are_refused(self, text):
        with pytest.raises(InvalidInput, match="A colour must be"):
            damage.parse_colour(text)

    def test_transparent_pixels_and_nan_are_marked(self):
        assert damage.by_alpha(np.array([[[0, 127, 128, 255]]], np.uint8)).tolist() == [
            [[True, True, False, False]]
        ]
        assert damage.by_alpha(np.array([[[0.2, 0.9]]])).tolist() == [[[True, False]]]
        values = np.zeros((1, 2, 2, 3), np.float32)
        values[0, 1, 0, 2] = np.nan
        assert np.argwhere(damage.by_nan(values)).tolist() == [[0, 1, 0]]
        assert not damage.by_nan(noise((1, 2, 2, 1))).any()

    @pytest.mark.parametrize("marked", [1, 255, True])
    def test_one_mask_applies_to_all_pictures(self, marked):
        mask = np.zeros((4, 5), type(marked) if marked is True else np.uint8)
        mask[1, 2] = marked
        damaged = damage.by_mask(mask, (3, 4, 5, 3))
        assert np.argwhere(damaged).tolist() == [[i, 1, 2] for i in range(3)]

    def test_masks_ignore_noise_and_must_match_the_pictures(self):
        mask = np.zeros((2, 4, 5, 3), np.uint8)
        mask[0, 1, 1] = (0, 20, 0)
        mask[1, 2, 3] = (0, 250, 0)
        assert np.argwhere(damage.by_mask(mask, (2, 4, 5))).tolist() == [[1, 2, 3]]
        with pytest.raises(InvalidInput, match="one for each of the 3 pictures; got 2"):
            damage.by_mask(mask, (3, 4, 5))
        with pytest.raises(InvalidInput, match="size, 6 × 4; it is 5 × 4"):
            damage.by_mask(mask, (2, 4, 6))

    def test_boxes_columns_and_frames_are_parsed(self):
        shape = (12, 6, 8, 3)
        damaged = damage.boxes(shape, ["1,2,3,4", "7,0,1,1"])
        assert damaged[:, 2:6, 1:4].all()
        assert damaged.sum() == 12 * 13
        damaged = damage.columns(shape, ["3:2", "7"])
        assert damaged.any(axis=(0, 1)).nonzero()[0].tolist() == [3, 4, 7]
        damaged = damage.frames(shape, "3, 10-12")
        assert damaged.all(axis=(1, 2)).nonzero()[0].tolist() == [2, 9, 10, 11]
        assert damaged.sum() == 4 * 48

    @pytest.mark.parametrize(
        ("function", "text"),
        [
            ("boxes", "1,2,3"),
            ("boxes", "6,0,3,1"),
            ("boxes", "0,0,0,1"),
            ("columns", "8"),
            ("columns", "1:0"),
            ("columns", "x"),
            ("frames", "0"),
            ("frames", "13"),
            ("frames", "3-2"),
            ("frames", "a"),
        ],
    )
    def test_invalid_boxes_columns_and_frames_are_refused(self, function, text):
        with pytest.raises(InvalidInput, match="must"):
            getattr(damage, function)((12, 6, 8), text)


class TestDetection:
    @pytest.mark.parametrize("channels", [1, 3])
    @pytest.mark.parametrize("share", [0.02, 0.3, 0.6])
    def test_salt_and_pepper_is_detected(self, channels, share):
        values = smooth(channels=channels)
        draw = np.random.default_rng(0).random(values.shape[:3])
        values[draw < share / 2] = 0
        values[draw > 1 - share / 2] = 255
        damaged, reason = detect_damage(values)
        np.testing.assert_array_equal(damaged, (draw < share / 2) | (draw > 1 - share / 2))
        assert "scattered" in reason
        assert f"{damaged.sum():,}" in reason

    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "float64"])
    @pytest.mark.parametrize("n", [1, 6])
    def test_black_square_is_detected(self, dtype, n):
        values = smooth(n).astype(dtype) * (257 if dtype == "uint16" else 1)
        values[:, 10:22, 30:44] = 0
        damaged, reason = detect_damage(values)
        assert damaged[:, 10:22, 30:44].all()
        assert damaged.sum() == n * 12 * 14
        assert "exactly 0" in reason

    def test_magenta_block_is_detected(self):
        values = smooth(channels=3)
        values[2, 5:9, 7:20] = (255, 0, 255)
        damaged, reason = detect_damage(values)
        assert damaged[2, 5:9, 7:20].all()
        assert damaged.sum() == 4 * 13
        assert "#ff00ff" in reason

    def test_nan_is_detected(self):
        values = smooth().astype(np.float32)
        values[0, 1, 2] = np.nan
        damaged, reason = detect_damage(values)
        assert np.argwhere(damaged).tolist() == [[0, 1, 2]]
        assert reason.startswith("NaN at 1 of")

    def test_stuck_pixels_are_detected(self):
        values = smooth(20)
        stuck = [(5, 6), (20, 40), (0, 0)]
        for y, x in stuck:
            values[:, y, x] = 90 + y
        damaged, reason = detect_damage(values, frames=True)
        assert {(int(y), int(x)) for _, y, x in np.argwhere(damaged)} == set(stuck)
        assert damaged.sum() == 20 * 3
        assert "never change" in reason

    def test_constant_pixels_of_undamaged_pictures_are_not_damage(self):
        digits = (load_digits().images * 15).astype(np.uint8)[..., None]
        with pytest.raises(InvalidInput, match="No damage was found"):
            detect_damage(digits)

    def undamaged(self, kind):
        _, y, x = np.meshgrid(np.arange(4), np.linspace(-1, 1, 48), np.linspace(-1, 1, 64), indexing="ij")
        if kind == "photograph":
            return smooth()
        if kind == "colours":
            return smooth(channels=3)
        if kind == "noise":
            return noise((4, 48, 64, 1))
        if kind == "clipped noise":
            return np.clip(60 + 50 * noise(x.shape, "float64"), 0, 255).astype(np.uint8)[..., None]
        if kind == "views of an object":
            return (255 * rotating_object(40, size=32)[0]).astype(np.uint8)[..., None]
        if kind == "blob on black":
            return (255 * np.exp(-8 * (x**2 + y**2))).astype(np.uint8)[..., None]
        if kind == "overexposed":
            return np.clip(100 + 250 * x + 80 * y, 0, 255).astype(np.uint8)[..., None]
        if kind == "object on black":
            return np.where(x**2 + y**2 < 0.4, 90 + 40 * x + 60 * y, 0).astype(np.uint8)[..., None]
        return np.where(np.sin(9 * x) * np.sin(9 * y) > 0, 255, 0).astype(np.uint8)[..., None]  # a drawing

    @pytest.mark.parametrize(
        "kind",
        [
            "photograph",
            "colours",
            "noise",
            "clipped noise",
            "views of an object",
            "blob on black",
            "overexposed",
            "object on black",
            "drawing",
        ],
    )
    def test_nothing_is_detected_in_undamaged_pictures(self, kind):
        with pytest.raises(InvalidInput, match="--mask, --value or --box"):
            detect_damage(self.undamaged(kind))

    def test_dead_pixels_on_a_uniform_background_are_detected(self):
        values = self.undamaged("object on black")
        damaged = np.random.default_rng(0).random(values.shape[:3]) < 0.3
        values[damaged] = 255
        np.testing.assert_array_equal(detect_damage(values)[0], damaged)

    def test_several_possible_colours_are_refused(self):
        values = smooth()
        values[:, 4:12, 4:12] = 0
        values[:, 30:40, 30:40] = 255
        with pytest.raises(InvalidInput, match="Several colours might be damage"):
            detect_damage(values)


def test_png_encoder_agrees_with_pillow():
    pixels = smooth(1, channels=3)[0]
    data = png.encoded(pixels)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data))), pixels)
    plain = io.BytesIO()
    Image.fromarray(pixels).save(plain, format="PNG")
    assert len(data) < 1.1 * len(plain.getvalue())
