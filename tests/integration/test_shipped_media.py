"""Pictures, charts, codes, documents, sound: made here, read back with the tool or with another program."""

from __future__ import annotations

import struct
import subprocess
import wave
import zlib
from pathlib import Path

import pytest
from services import program
from shipped import failure, run


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def photo(work: Path) -> Path:
    from PIL import Image

    image = Image.new("RGB", (400, 300), "navy")
    exif = Image.Exif()
    exif[0x0110] = "Test Camera"
    exif[0x0112] = 6
    exif.get_ifd(0x8825)[1] = "N"
    image.save(work / "photo.jpg", exif=exif)
    Image.new("RGBA", (64, 32), (255, 0, 0, 0)).save(work / "logo.png")
    frames = [Image.new("RGB", (10, 10), (80 * number, 0, 0)) for number in range(3)]
    frames[0].save(work / "moving.gif", save_all=True, append_images=frames[1:])
    return work


def png_header(width: int, height: int) -> bytes:
    """A PNG that says it is of some size, with next to no pixels in it."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )


class TestImages:
    def test_tells_facts(self, photo: Path) -> None:
        got = run("get_image_info", {"path": "photo.jpg"}, folder=photo)
        assert (got["format"], got["width"], got["height"], got["mode"]) == ("JPEG", 400, 300, "RGB")
        assert got["exif"]["Model"] == "Test Camera"
        assert run("get_image_info", {"path": "moving.gif"}, folder=photo)["frames"] == 3

    @pytest.mark.parametrize(("more", "size"), [({"width": 200}, (200, 150)), ({"height": 150}, (200, 150)),
                                                ({"width": 10, "height": 10}, (10, 10))])  # fmt: skip
    def test_resizes(self, more, size, photo: Path) -> None:
        from PIL import Image

        got = run("resize_image", {"path": "photo.jpg", "output": "small.png", **more}, folder=photo)
        with Image.open(photo / "small.png") as image:
            assert image.size == size == (got["width"], got["height"])
            assert image.format == got["format"] == "PNG"

    @pytest.mark.parametrize("ending", ["png", "jpg", "webp", "gif", "bmp", "tiff"])
    @pytest.mark.parametrize("source", ["photo.jpg", "logo.png", "moving.gif"])
    def test_converts_every_format(self, source: str, ending: str, photo: Path) -> None:
        from PIL import Image

        got = run("convert_image", {"path": source, "output": f"out.{ending}"}, folder=photo)
        with Image.open(photo / f"out.{ending}") as image:
            assert image.format == got["format"]
            assert {0x0110, 0x0112, 0x8825}.isdisjoint(image.getexif())  # no camera, no place
        if (source, ending) == ("logo.png", "jpg"):
            with Image.open(photo / "out.jpg") as image:
                assert min(image.getpixel((0, 0))) > 250  # what was transparent is white

    def test_a_thumbnail_is_upright(self, photo: Path) -> None:
        got = run("make_thumbnail", {"path": "photo.jpg", "output": "t.jpg", "pixels": 100}, folder=photo)
        assert (got["width"], got["height"]) == (75, 100)

    def test_never_overwrites(self, photo: Path) -> None:
        before = (photo / "logo.png").read_bytes()
        for tool, more in (("convert_image", {}), ("resize_image", {"width": 5}), ("make_thumbnail", {})):
            said = failure(tool, {"path": "photo.jpg", "output": "logo.png", **more}, folder=photo)
            assert "exists already" in said
        assert (photo / "logo.png").read_bytes() == before

    def test_decompression_bombs_are_refused(self, work: Path) -> None:
        for name, size in (("big.png", (8000, 8000)), ("huge.png", (30_000, 30_000))):
            (work / name).write_bytes(png_header(*size))
            assert "refused" in failure("convert_image", {"path": name, "output": "out.jpg"}, folder=work)
            assert "refused" in failure("read_qr_code", {"path": name}, folder=work)
        said = failure("resize_image", {"path": "big.png", "output": "o.png", "width": 1}, folder=work)
        assert "refused" in said

    def test_other_formats_and_damage_are_told(self, photo: Path) -> None:
        (photo / "x.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
        assert "no image of" in failure("get_image_info", {"path": "x.png"}, folder=photo)
        (photo / "cut.jpg").write_bytes((photo / "photo.jpg").read_bytes()[:-200])
        assert "damaged" in failure("convert_image", {"path": "cut.jpg", "output": "o.png"}, folder=photo)
        said = failure("resize_image", {"path": "photo.jpg", "output": "o.png", "width": 16384}, folder=photo)
        assert "more than" in said


class TestCodes:
    @pytest.mark.parametrize("text", ["https://example.com/?a=1&b=2", "会议室 301，下午三点", "x" * 500])
    def test_what_is_made_can_be_read(self, text: str, work: Path) -> None:
        got = run("make_qr_code", {"text": text, "output": "code.png", "error_correction": "Q"}, folder=work)
        assert got["error_correction"] == "Q"
        [code] = run("read_qr_code", {"path": "code.png"}, folder=work)["codes"]
        assert code["text"] == text
        assert "QR" in code["format"].upper()

    def test_svg_and_what_does_not_fit(self, work: Path) -> None:
        run("make_qr_code", {"text": "x", "output": "code.svg"}, folder=work)
        assert b"<svg" in (work / "code.svg").read_bytes()
        long = {"text": "二" * 1800, "output": "long.png", "error_correction": "H"}
        assert "too long" in failure("make_qr_code", long, folder=work)

    def test_no_code_is_no_failure(self, photo: Path) -> None:
        assert run("read_qr_code", {"path": "photo.jpg"}, folder=photo) == {"codes": []}


class TestCharts:
    @pytest.mark.parametrize("kind", ["line", "bar", "scatter", "pie", "histogram"])
    def test_draws(self, kind: str, work: Path) -> None:
        from PIL import Image

        series = [{"name": "2026", "x": ["一月", "二月", "三月"], "y": [3, 5, 4]}]
        arguments = {
            "kind": kind,
            "series": series,
            "output": "c.png",
            "title": "销售额 $x$",
            "width": 640,
            "height": 400,
        }
        run("plot_chart", arguments, folder=work)
        with Image.open(work / "c.png") as image:
            assert image.size == (640, 400)
            colours = image.convert("RGB").getcolors(1 << 24)
        assert colours is not None
        assert len(colours) > 20

    def test_several_series_of_numbers(self, work: Path) -> None:
        series = [{"y": [1, 2]}, {"name": "b", "x": [1, 2.5], "y": [2, 1]}]
        for kind in ("line", "bar", "scatter"):
            run("plot_chart", {"kind": kind, "series": series, "output": f"{kind}.png"}, folder=work)

    @pytest.mark.parametrize(("kind", "series", "said"), [
        ("pie", [{"y": [1]}, {"y": [2]}], "one series"), ("pie", [{"y": [-1, 2]}], "not negative"),
        ("line", [{"x": [1], "y": [1, 2]}], "as many"),
    ])  # fmt: skip
    def test_what_cannot_be_drawn(self, kind, series, said, work: Path) -> None:
        assert said in failure("plot_chart", {"kind": kind, "series": series, "output": "c.png"}, folder=work)
        assert list(work.iterdir()) == []


def pdf(path: Path, pages: list[str], **encrypt: str) -> None:
    """Write a PDF with a line of text on each page."""
    import pypdf
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = pypdf.PdfWriter()
    for text in pages:
        page = writer.add_blank_page(300, 200)
        facts = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
        font = DictionaryObject({NameObject(name): NameObject(value) for name, value in facts.items()})
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    writer.add_metadata({"/Title": "合同", "/Author": "Li Lei"})
    if encrypt:
        writer.encrypt(**encrypt)
    with path.open("wb") as file:
        writer.write(file)


class TestPdf:
    def test_reads_text_of_pages(self, work: Path) -> None:
        pdf(work / "c.pdf", ["Contract of sale", "Second page", "Third"])
        got = run("read_pdf", {"path": "c.pdf", "first_page": 2, "max_pages": 1}, folder=work)
        assert got == {
            "page_count": 3, "title": "合同", "author": "Li Lei", "encrypted": False,
            "pages": [{"page": 2, "text": "Second page"}], "more": True,
        }  # fmt: skip
        facts = run("read_pdf", {"path": "c.pdf", "max_pages": 0}, folder=work)
        assert (facts["page_count"], facts["pages"], facts["more"]) == (3, [], True)

    def test_what_cannot_be_read(self, work: Path) -> None:
        pdf(work / "locked.pdf", ["x"], user_password="secret", algorithm="RC4-128")
        assert "needs a password" in failure("read_pdf", {"path": "locked.pdf"}, folder=work)
        (work / "no.pdf").write_text("hello")
        assert "cannot be read" in failure("read_pdf", {"path": "no.pdf"}, folder=work)
        pdf(work / "one.pdf", ["x"])
        assert "no page 2" in failure("read_pdf", {"path": "one.pdf", "first_page": 2}, folder=work)

    def test_a_stream_that_unpacks_to_gigabytes_is_refused(self, work: Path) -> None:
        pdf(work / "c.pdf", ["x"])
        data = (work / "c.pdf").read_bytes()
        packer = zlib.compressobj(9)
        packed = b"".join(packer.compress(b"\0" * 10_000_000) for _ in range(50)) + packer.flush()
        start = data.index(b"stream\n")
        head = data[: data.rindex(b"<<", 0, start)] + b"<< /Filter /FlateDecode /Length %d >>\n" % len(packed)
        end = data.index(b"endstream", start)
        (work / "bomb.pdf").write_bytes(head + b"stream\n" + packed + b"\n" + data[end:])
        said = failure("read_pdf", {"path": "bomb.pdf"}, folder=work)
        assert "cannot be read" in said


class TestSound:
    @pytest.fixture
    def tone(self, work: Path) -> Path:
        program("ffmpeg")
        with wave.open(str(work / "tone.wav"), "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(8000)
            sound.writeframes(b"".join(struct.pack("<h", (n * 997) % 20000 - 10000) for n in range(16000)))
        return work

    def test_tells_facts(self, tone: Path) -> None:
        got = run("get_media_info", {"path": "tone.wav"}, folder=tone)
        assert (got["format"], got["seconds"]) == ("wav", 2)
        assert got["streams"][0]["kind"] == "audio"
        assert (got["streams"][0]["sample_rate"], got["streams"][0]["channels"]) == (8000, 1)

    @pytest.mark.parametrize("ending", ["mp3", "ogg", "opus", "flac", "m4a", "wav", "mkv", "mp4", "webm"])
    def test_converts_sound(self, ending: str, tone: Path) -> None:
        arguments = {"path": "tone.wav", "output": f"out.{ending}", "start_seconds": 0.5, "duration_seconds": 1}
        got = run("convert_media", arguments, folder=tone)
        assert got["seconds"] == pytest.approx(1, abs=0.2)
        assert sorted(path.name for path in tone.iterdir()) == [f"out.{ending}", "tone.wav"]

    def test_takes_sound_and_pictures_from_a_film(self, tone: Path) -> None:
        subprocess.run(
            ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=1:size=64x48:rate=10", "-i", "tone.wav",
             "-shortest", "-pix_fmt", "yuv420p", "film.mp4"], cwd=tone, check=True,
        )  # fmt: skip
        info = run("get_media_info", {"path": "film.mp4"}, folder=tone)
        assert {stream["kind"] for stream in info["streams"]} == {"audio", "video"}
        video = next(stream for stream in info["streams"] if stream["kind"] == "video")
        assert (video["width"], video["height"], video["frame_rate"]) == (64, 48, 10.0)
        run("convert_media", {"path": "film.mp4", "output": "film.mp3"}, folder=tone)
        run("convert_media", {"path": "film.mp4", "output": "film.gif"}, folder=tone)
        run("convert_media", {"path": "film.mp4", "output": "film.webm"}, folder=tone)
        assert {s["kind"] for s in run("get_media_info", {"path": "film.mp3"}, folder=tone)["streams"]} == {"audio"}

    def test_a_playlist_leads_to_no_other_file(self, tone: Path) -> None:
        (tone.parent / "secret.ts").write_bytes((tone / "tone.wav").read_bytes())
        lists = {
            "a.m3u8": f"#EXTM3U\n#EXTINF:1,\n{tone.parent}/secret.ts\n#EXT-X-ENDLIST\n",
            "b.wav": f"ffconcat version 1.0\nfile '{tone.parent}/secret.ts'\n",
            "c.mp4": "#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:1/x.ts\n",
            "d.sdp": "v=0\nc=IN IP4 127.0.0.1\nm=audio 1 RTP/AVP 0\n",
        }
        for name, text in lists.items():
            (tone / name).write_text(text)
            assert "no audio or video" in failure("get_media_info", {"path": name}, folder=tone)
            said = failure("convert_media", {"path": name, "output": "out.mp3"}, folder=tone)
            assert "cannot be converted" in said
        assert not (tone / "out.mp3").exists()

    def test_a_file_named_like_an_option_is_a_file(self, tone: Path) -> None:
        (tone / "-y").write_bytes((tone / "tone.wav").read_bytes())
        assert run("get_media_info", {"path": "-y"}, folder=tone)["format"] == "wav"

    def test_speaks(self, work: Path) -> None:
        program("espeak-ng")
        got = run("text_to_speech", {"text": "会议取消", "output": "n.wav"}, folder=work)
        with wave.open(str(work / "n.wav"), "rb") as sound:
            frames = sound.readframes(10**8)
            assert len(frames) / 2 / sound.getframerate() == pytest.approx(got["seconds"], abs=0.01)
        assert max(abs(value) for (value,) in struct.iter_unpack("<h", frames)) > 1000
        faster = {"text": "会议取消", "output": "f.wav", "words_per_minute": 320}
        assert run("text_to_speech", faster, folder=work)["seconds"] < got["seconds"]
        english = {"text": "-v en; $(touch pwned)", "output": "e.wav", "voice": "en-us"}
        assert run("text_to_speech", english, folder=work)["seconds"] > 0.3
        wrong = {"text": "x", "output": "w.wav", "voice": "zz"}
        assert "voice 'zz'" in failure("text_to_speech", wrong, folder=work)
        assert sorted(path.name for path in work.iterdir()) == ["e.wav", "f.wav", "n.wav"]


class TestOcr:
    def test_reads_text(self, work: Path) -> None:
        program("tesseract")
        from PIL import Image, ImageDraw, ImageFont

        image = Image.new("RGB", (700, 120), "white")
        ImageDraw.Draw(image).text((20, 30), "Invoice 2026-117", "black", ImageFont.load_default(48))
        image.save(work / "scan.png")
        got = run("read_image_text", {"path": "scan.png"}, folder=work)
        assert got == {"text": "Invoice 2026-117", "languages": ["eng"]}
        said = failure("read_image_text", {"path": "scan.png", "languages": ["eng", "xyz"]}, folder=work)
        assert "lacks xyz" in said

    def test_reads_chinese(self, work: Path) -> None:
        program("tesseract")
        from PIL import Image, ImageDraw, ImageFont

        fonts = [
            path
            for place in ("/usr/share/fonts", "/usr/local/share/fonts")
            for path in Path(place).rglob("*.ttc")
            if "CJK" in path.name or "wqy" in path.name
        ]
        if not fonts:
            pytest.skip("no Chinese font here (Debian package fonts-wqy-microhei)")
        image = Image.new("RGB", (600, 120), "white")
        ImageDraw.Draw(image).text((20, 20), "会议取消通知", "black", ImageFont.truetype(str(min(fonts)), 60))
        image.save(work / "scan.png")
        got = run("read_image_text", {"path": "scan.png", "languages": ["chi_sim"]}, folder=work)
        assert "会议取消通知" in got["text"].replace(" ", "")
