"""Texts, encodings, ids, structured data, Chinese, regular expressions, programs and HTML."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import time
import tomllib
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.builtin import (
    aliyun,
    calendars,
    chatbots,
    chinese,
    pages,
    programs,
    regexes,
    rows,
    secret,
    statements,
    structured,
    texts,
    web,
)


def context(folder: Path, **environment: str) -> Any:
    return SimpleNamespace(
        folder=folder, allowed_folders=(folder,), environment=environment, allow_private_addresses=False
    )


class TestEncodings:
    @given(st.text())
    def test_base64_and_back(self, text: str) -> None:
        if any(0xD800 <= ord(letter) < 0xE000 for letter in text):
            return
        for url_safe in (False, True):
            packed = texts.convert_base64(text=text, direction="encode", url_safe=url_safe)["text"]
            assert texts.convert_base64(text=packed, direction="decode", url_safe=url_safe) == {"text": text}

    def test_bytes_that_are_no_text_come_as_hex(self) -> None:
        packed = base64.b64encode(b"\xff\x00").decode()
        assert texts.convert_base64(text=packed, direction="decode") == {"hex": "ff00", "size": 2}
        assert texts.convert_base64(text="aGVs bG8\n", direction="decode") == {"text": "hello"}
        with pytest.raises(ValueError, match="no Base64"):
            texts.convert_base64(text="中文", direction="decode")

    @given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
    def test_url_encoding_and_back(self, text: str) -> None:
        for plus in (False, True):
            packed = texts.convert_url_encoding(text=text, direction="encode", plus_for_space=plus)["text"]
            assert packed.isascii()
            got = texts.convert_url_encoding(text=packed, direction="decode", plus_for_space=plus)
            assert got["text"] == text

    def test_an_address_is_split(self) -> None:
        got = texts.convert_url_encoding(text=f"https://e.com/{quote('路')}?a=1&a=%20&b=#f", direction="decode")
        assert got["parts"] == {
            "scheme": "https",
            "host": "e.com",
            "path": "/路",
            "query": [["a", "1"], ["a", " "], ["b", ""]],
            "fragment": "f",
        }

    def test_differences(self) -> None:
        assert texts.diff_texts(before="a\n", after="a\n") == {"diff": "", "added": 0, "removed": 0, "same": True}
        got = texts.diff_texts(before="a\nb", after="a\n+++c\n")
        assert (got["added"], got["removed"]) == (1, 1)
        assert "No newline at end" in got["diff"]
        with pytest.raises(ValueError, match="20,000 lines"):
            texts.diff_texts(before="\n" * 20_001, after="")


class TestSecrets:
    def test_ids_are_of_their_version(self) -> None:
        for version in (4, 7):
            made = secret.generate_uuid(count=50, version=version)["uuids"]
            assert len(set(made)) == 50
            assert {uuid.UUID(one).version for one in made} == {version}
            assert {uuid.UUID(one).variant for one in made} == {uuid.RFC_4122}
        assert made == sorted(made)

    @given(st.integers(12, 64), st.booleans())
    def test_passwords_have_every_kind_of_character(self, length: int, symbols: bool) -> None:
        [made] = secret.generate_password(length=length, symbols=symbols)["passwords"]
        assert len(made) == length
        assert re.search("[a-z]", made)
        assert re.search("[A-Z]", made)
        assert re.search("[0-9]", made)
        assert bool(re.search("[^A-Za-z0-9]", made)) == symbols
        assert not set(made) & set("Il1O0")

    def test_words(self) -> None:
        got = secret.generate_password(words=6, count=3)
        assert all(re.fullmatch(r"([a-z]{4}-){5}[a-z]{4}", made) for made in got["passwords"])
        assert got["bits"] > 70


class TestStructured:
    @given(
        st.dictionaries(
            st.text(alphabet="abc中_- ", min_size=1, max_size=5),
            st.one_of(
                st.integers(-(2**60), 2**60),
                st.booleans(),
                st.text(alphabet="ab中\n'\"\\#: -", max_size=20),
                st.lists(st.integers(0, 9), max_size=3),
            ),
            max_size=5,
        )
    )
    def test_every_format_and_back(self, value: dict[str, Any]) -> None:
        text = json.dumps(value)
        for kind in ("yaml", "toml"):
            there = structured.convert_data_format(text=text, from_="json", to=kind)["text"]
            back = structured.convert_data_format(text=there, from_=kind, to="json")["text"]
            assert json.loads(back) == value
            if kind == "toml":
                assert tomllib.loads(there) == value

    def test_dates_become_text_in_json(self) -> None:
        got = structured.convert_data_format(text="d: 2026-01-02", from_="yaml", to="json", indent=0)
        assert got["text"] == '{"d":"2026-01-02"}'

    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            ("{", "json"),
            ("a = ", "toml"),
            ("a: [", "yaml"),
            ("!!python/object/apply:os.system [id]", "yaml"),
            ("[" * 100_000, "json"),
            ("1: x", "yaml"),
            ("a: *x", "yaml"),
            (
                "a: &a [x,x,x,x,x,x,x,x,x]\n"
                + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(8)),
                "yaml",
            ),
        ],
    )
    def test_what_is_not_well_formed(self, text: str, kind: str) -> None:
        with pytest.raises(ValueError, match="not well-formed"):
            structured.convert_data_format(text=text, from_=kind, to="json")

    def test_what_toml_cannot_hold(self) -> None:
        for text in ("[1]", '{"a": null}'):
            with pytest.raises(ValueError, match="TOML"):
                structured.convert_data_format(text=text, from_="json", to="toml")


class TestChinese:
    def test_converts_characters_and_words(self) -> None:
        assert chinese.convert_chinese(text="軟體與滑鼠", to="simplified") == {"text": "软体与滑鼠"}
        assert chinese.convert_chinese(text="软件和鼠标", to="taiwan") == {"text": "軟體和滑鼠"}
        assert chinese.convert_chinese(text="头发发展", to="traditional") == {"text": "頭髮發展"}
        assert chinese.convert_chinese(text="Hello", to="hongkong") == {"text": "Hello"}

    def test_reads_by_word(self) -> None:
        assert chinese.get_pinyin(text="重庆很重")["pinyin"] == "chóng qìng hěn zhòng"
        assert chinese.get_pinyin(text="我们", tones="numbers")["pinyin"] == "wo3 men5"
        assert chinese.get_pinyin(text="abc 中", tones="none")["syllables"] == ["abc", "zhong"]

    @pytest.mark.parametrize(
        ("title", "slug"),
        [
            ("Hello, 世界!", "hello-shi-jie"),
            ("Ünïcode Straße", "unicode-strasse"),
            ("  a--b__c  ", "a-b-c"),
            ("绿色", "lv-se"),
            ("Don't stop", "dont-stop"),
        ],
    )
    def test_slugs(self, title: str, slug: str) -> None:
        assert chinese.slugify(text=title) == {"slug": slug}

    def test_long_slugs_are_cut_at_a_hyphen(self) -> None:
        assert chinese.slugify(text="one two three", max_length=8) == {"slug": "one-two"}
        assert chinese.slugify(text="one two three", max_length=7) == {"slug": "one-two"}
        with pytest.raises(ValueError, match="no letter"):
            chinese.slugify(text="！？")


class TestRegex:
    def test_finds_and_replaces(self) -> None:
        got = regexes.test_regex(
            pattern=r"(?P<y>\d{4})-(\d+)?", text="2026-12 2027-", replacement=r"\g<y>年", flags=["ascii"]
        )
        assert [match["groups"] for match in got["matches"]] == [["2026", "12"], ["2027", None]]
        assert got["matches"][0]["named"] == {"y": "2026"}
        assert (got["replaced"], got["replacements"]) == ("2026年 2027年", 2)

    def test_limits(self) -> None:
        got = regexes.test_regex(pattern="a", text="aaa", max_matches=2)
        assert (got["match_count"], got["more"]) == (2, True)

    def test_wrong_patterns_and_endless_ones(self) -> None:
        with pytest.raises(ValueError, match="pattern is wrong"):
            regexes.test_regex(pattern="(", text="")
        with pytest.raises(ValueError, match="invalid group reference"):
            regexes.test_regex(pattern="a", text="a", replacement=r"\9")
        with pytest.raises(TimeoutError, match="backtracking"):
            regexes.test_regex(pattern=r"(a+)+$", text="a" * 40 + "!")


class TestRunPython:
    def test_prints(self, tmp_path: Path) -> None:
        code = "import sys\nprint('你好', input())\nprint('err', file=sys.stderr)\nsys.exit(3)"
        got = programs.run_python(code=code, stdin="世界\n", context=context(tmp_path))
        assert (got["stdout"], got["stderr"], got["exit_code"], got["stopped"]) == ("你好 世界\n", "err\n", 3, "")

    def test_errors_show_the_programs_own_lines(self, tmp_path: Path) -> None:
        got = programs.run_python(code="x = 1\n1/0", context=context(tmp_path))
        assert 'File "program.py", line 2' in got["stderr"]
        assert got["exit_code"] == 1

    @pytest.mark.parametrize(
        ("code", "stopped"),
        [
            ("while True: pass", "time"),
            ("import time; time.sleep(60)", "time"),
            ("while True: print('x' * 1000)", "output"),
            ("import os, time\nif os.fork(): os._exit(0)\ntime.sleep(60)", ""),
            ("import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)", "time"),
        ],
    )
    def test_is_stopped(self, code: str, stopped: str, tmp_path: Path) -> None:
        got = programs.run_python(code=code, seconds=1, context=context(tmp_path))
        assert got["seconds"] < 5
        assert got["stopped"] == stopped or got["exit_code"] < 0
        assert len(got["stdout"]) <= programs.MAX_OUTPUT

    def test_memory_and_file_sizes_are_limited(self, tmp_path: Path) -> None:
        got = programs.run_python(code="x = bytearray(10**9)", memory_mb=128, context=context(tmp_path))
        assert "MemoryError" in got["stderr"]
        code = "f = open('big', 'wb')\nwhile True: f.write(b'x' * 10**7)"
        assert programs.run_python(code=code, context=context(tmp_path))["exit_code"] != 0

    def test_sees_no_secrets_and_leaves_nothing(self, tmp_path: Path) -> None:
        code = "import os, sys\nprint(dict(os.environ), os.listdir(), sys.argv)\nopen('x', 'w').close()"
        got = programs.run_python(code=code, context=context(tmp_path, API_TOKEN="token-123456"))
        assert "token-123456" not in got["stdout"]
        assert got["stdout"].rstrip().endswith("[] ['program.py']")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the children of a killed process")
def test_a_child_does_not_outlive_its_killed_parent(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    work = f"import time\nwhile True:\n    open({str(mark)!r}, 'w').write(str(time.time()))\n    time.sleep(0.02)"
    script = (
        "import sys; from tooldisco_cli.builtin import child; import os\n"
        f"child.run([sys.executable, '-c', {work!r}], environment=os.environ, seconds=60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script])
    deadline = time.monotonic() + 20
    while not mark.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert mark.exists()
    parent.kill()
    parent.wait()
    time.sleep(0.3)
    mark.unlink()
    time.sleep(0.3)
    assert not mark.exists()


class TestSignatures:
    def test_aliyun_as_in_its_documentation(self) -> None:
        """The worked example of alibabacloud.com/help/en/sdk/product-overview/v3-request-structure-and-signature."""
        headers = aliyun.signed_headers(
            host="ecs.cn-shanghai.aliyuncs.com",
            action="RunInstances",
            version="2014-05-26",
            query={"ImageId": "win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd", "RegionId": "cn-shanghai"},
            key="YourAccessKeyId",
            secret="YourAccessKeySecret",
            date="2023-10-26T10:22:32Z",
            nonce="3156853299f313e23d1673dc12e1703d",
        )
        assert headers["Authorization"] == (
            "ACS3-HMAC-SHA256 Credential=YourAccessKeyId,SignedHeaders=host;x-acs-action;x-acs-content-sha256;"
            "x-acs-date;x-acs-signature-nonce;x-acs-version,"
            "Signature=06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0"
        )

    def test_dingtalk_and_feishu_differ(self) -> None:
        assert chatbots.dingtalk_sign("1", "k") != chatbots.feishu_sign("1", "k")
        assert len(base64.b64decode(chatbots.dingtalk_sign("1", "k"))) == 32


class TestPublicAddresses:
    @pytest.mark.parametrize(
        "address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
    )
    def test_public(self, address: str) -> None:
        assert web.is_public(address)

    @pytest.mark.parametrize(
        "address",
        [
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fe80::1%eth0",
            "fd00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "::127.0.0.1",
            "2001:db8::1",
            "fec0::1",
        ],
    )
    def test_not_public(self, address: str) -> None:
        assert not web.is_public(address)


class TestHtml:
    @given(st.text(alphabet="<>/ab &;!-\"'=phiddenscriptbody\n", max_size=200))
    def test_any_markup_is_read(self, text: str) -> None:
        assert isinstance(pages.text_of_html(text), str)

    @pytest.mark.parametrize(
        ("html", "text"),
        [
            ("<p>a<p>b", "a\n\nb"),
            ("a<script>x</script>b", "ab"),
            ("<div hidden>x</div>y", "y"),
            ("a<br>b", "a\nb"),
            ("<table><tr><td>1<td>2<tr><td>3</table>", "1\t2\n\n3"),
            ("&lt;b&gt; &amp; &#20013;", "<b> & 中"),
            ("<style>p</style><b>x</b>", "x"),
            ("<svg><title>t</title></svg>z", "z"),
            ("<img hidden>a", "a"),
            ("<script>if (a < b) { '</p>' }</script>ok", "ok"),
            ("<noscript><p>x</p></noscript>y", "y"),
        ],
    )
    def test_shows_what_a_browser_shows(self, html: str, text: str) -> None:
        assert pages.text_of_html(html) == text


class TestCalendar:
    def invite(self, folder: Path, **more: Any) -> str:
        calendars.create_calendar_invite(
            path="a.ics", title="x", **{"start": "2027-03-05T14:00", **more}, context=context(folder)
        )
        return (folder / "a.ics").read_bytes().decode()

    def test_lines_cannot_be_smuggled_in(self, tmp_path: Path) -> None:
        text = self.invite(tmp_path, description="x\r\nATTACH:http://evil\rBEGIN:VALARM\x00", location="a;b,c\\d")
        assert "\r\nATTACH" not in text
        assert text.count("\r\nBEGIN:") == 1
        assert "LOCATION:a\\;b\\,c\\\\d\r\n" in text
        with pytest.raises(ValueError, match="no e-mail address"):
            calendars.create_calendar_invite(
                path="b.ics", title="x", start="2027-03-05T14:00", organizer="a@b.c\r\nX:y", context=context(tmp_path)
            )

    def test_times_that_do_not_exist(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="put forward"):
            self.invite(tmp_path, start="2027-03-28T02:30", zone="Europe/Berlin")
        with pytest.raises(ValueError, match="is no time"):
            self.invite(tmp_path, zone="Mars/Base")

    @given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
    def test_folding_breaks_no_character(self, text: str) -> None:
        folded = calendars._folded("SUMMARY:" + calendars._text(text))
        assert folded.endswith("\r\n")
        lines = folded.removesuffix("\r\n").split("\r\n")
        assert all(len(line.encode()) <= 75 for line in lines)
        assert lines[0] + "".join(line[1:] for line in lines[1:]) == "SUMMARY:" + calendars._text(text)


class TestStatements:
    @pytest.mark.parametrize(
        ("sql", "word"),
        [
            ("select 1", "SELECT"),
            (" \n-- x\n/* y */ ((SELECT 1))", "SELECT"),
            ("", ""),
            ("/* x", ""),
            ("1", ""),
        ],
    )
    def test_first_word(self, sql: str, word: str) -> None:
        assert statements.first_word(sql) == statements.first_word(sql, mysql=True) == word

    def test_what_mysql_would_run_inside_a_comment_is_not_passed_over(self) -> None:
        for sql in ("/*!50000 DELETE FROM t */", "/*M! DELETE FROM t */ SELECT 1"):
            assert statements.first_word(sql, mysql=True) == ""

    def test_a_hash_begins_no_comment_in_postgresql(self) -> None:
        assert statements.first_word("# x\nSELECT 1") == ""
        assert statements.first_word("# x\nSELECT 1", mysql=True) == "SELECT"


def test_values_of_databases_become_json() -> None:
    import datetime as dt
    from decimal import Decimal

    given_values = [
        Decimal("1.50"),
        Decimal(3),
        Decimal("0.1234567890123456789"),
        float("nan"),
        dt.date(2026, 1, 2),
        dt.timedelta(hours=1),
        b"abc",
        b"\xff",
        uuid.UUID(int=0),
        {"a": (1, b"x")},
        Decimal("NaN"),
        None,
        True,
    ]
    assert [rows.plain(value) for value in given_values] == [
        1.5,
        3,
        "0.1234567890123456789",
        "nan",
        "2026-01-02",
        "1:00:00",
        "abc",
        {"base64": "/w=="},
        "00000000-0000-0000-0000-000000000000",
        {"a": [1, "x"]},
        "NaN",
        None,
        True,
    ]
    assert rows.plain("x" * 30_000).endswith("(10,000 more characters)")
