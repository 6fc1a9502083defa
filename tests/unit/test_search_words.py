"""Text analysis: what counts as one word, in every script that a catalog may speak."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.search import intents, query, words
from tooldisco_cli.search.folding import fold, without_accents
from tooldisco_cli.search.query import one_edit_apart, payload_spans
from tooldisco_cli.search.segmentation import index_terms
from tooldisco_cli.search.words import MAX_WORD, bigrams, identifier_words, latin_terms, runs, scripts, stems

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("ＥＭＡＩＬ　１２３", "EMAIL 123"),
        ("發送電子郵件到資料庫", "发送电子邮件到资料库"),
        ("ﬁle", "file"),
        ("a\x00b\x07c", "a b c"),
        ("send\ud800mail", "send mail"),
        ("zero\u200bwidth", "zero width"),
        ("\u202eevil", " evil"),
    ],
)
def test_folding_gives_one_spelling(written: str, folded: str) -> None:
    assert fold(written) == folded


@given(ANY_TEXT)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(ANY_TEXT)
def test_folded_text_can_be_given_to_the_engine(text: str) -> None:
    folded = fold(text)
    folded.encode("utf-8")
    assert not any(unicodedata.category(char) == "Cc" for char in folded)


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("sendEmail", ["send", "email"]),
        ("SendEmail", ["send", "email"]),
        ("HTTPServer", ["http", "server"]),
        ("parseXMLFile", ["parse", "xml", "file"]),
        ("MySQL", ["my", "sql"]),
        ("sha256", ["sha256"]),
        ("SENDEMAIL", ["sendemail"]),
        ("Résumé", ["resume"]),
    ],
)
def test_identifiers_are_cut_where_their_case_changes(identifier: str, words: list[str]) -> None:
    assert identifier_words(identifier) == words


def test_a_product_name_is_one_word_as_well() -> None:
    assert {"mysql", "sql"} <= set(latin_terms("MySQL"))
    assert "github" in latin_terms("GitHub")
    assert "sendemail" not in latin_terms("sendEmail")


def test_a_key_or_hash_is_no_word() -> None:
    assert identifier_words("a" * (MAX_WORD + 1)) == []
    assert identifier_words("aB" * 5000) == []


def test_snake_kebab_and_dotted_names_have_the_same_words() -> None:
    assert (
        latin_terms("send_email")
        == latin_terms("send-email")
        == latin_terms("send.email")
        == latin_terms("sendEmail")
    )


def test_runs_separate_the_scripts() -> None:
    found = [(run.text, run.script) for run in runs("用send_email发送メール 한국어！")]
    assert found == [
        ("用", "han"),
        ("send", "word"),
        ("email", "word"),
        ("发送", "han"),
        ("メール", "syllabic"),
        ("한국어", "syllabic"),
    ]


def test_chinese_gives_words_of_the_dictionary_and_pairs_of_characters() -> None:
    words, grams = index_terms(fold("发送电子邮件"))
    assert {"发送", "邮件", "电子邮件"} <= set(words)
    assert grams == ["发送", "送电", "电子", "子邮", "邮件"]


def test_japanese_and_korean_give_pairs_of_characters() -> None:
    words, _ = index_terms(fold("メール 이메일"))
    assert words == ["メー", "ール", "이메", "메일"]


def test_stop_words_of_both_languages_are_not_indexed() -> None:
    words, _ = index_terms(fold("the 的 of 请 weather 我们"))
    assert words == ["weather"]


def test_inflected_words_meet_in_their_stem() -> None:
    assert len(set(stems(["query", "queries", "queried", "querying"]))) == 1


@given(st.lists(st.text(st.characters(categories=["Ll", "Lu", "Nd", "Lo"]), min_size=1, max_size=12), max_size=8))
def test_every_word_has_exactly_one_stem(words: list[str]) -> None:
    assert len(stems(words)) == len(words)


@given(ANY_TEXT)
def test_index_analysis_never_fails_and_gives_terms_without_space(text: str) -> None:
    words, grams = index_terms(fold(text))
    assert all(term and not any(char.isspace() for char in term) for term in [*words, *grams])


@given(ANY_TEXT)
def test_letters_and_digits_are_analysed_alike_for_index_and_explanation(text: str) -> None:
    folded = fold(text)
    words, _ = index_terms(folded)
    assert [term for term in latin_terms(folded) if term not in words] == []


@given(st.text(min_size=1, max_size=20))
def test_pairs_cover_every_character(run: str) -> None:
    pairs = bigrams(run)
    assert "".join(pair[0] for pair in pairs) + pairs[-1][1:] == run


@given(st.text(max_size=30))
def test_removing_accents_twice_changes_nothing(word: str) -> None:
    assert without_accents(without_accents(word)) == without_accents(word)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("emial", "email"),
        ("databse", "database"),
        ("weaather", "weather"),
        ("wexther", "weather"),
        ("eather", "weather"),
    ],
)
def test_one_typing_error_is_one_edit(one: str, other: str) -> None:
    assert one_edit_apart(one, other)
    assert one_edit_apart(other, one)


@pytest.mark.parametrize(("one", "other"), [("email", "email"), ("emial", "emails"), ("cat", "dog")])
def test_no_edit_or_more_than_one_is_not_one(one: str, other: str) -> None:
    assert not one_edit_apart(one, other)


@pytest.mark.parametrize(
    ("query", "payload", "opaque"),
    [
        ("read /home/ann/report.xlsx now", "/home/ann/report.xlsx", True),
        (r"open C:\temp\notes.txt please", r"C:\temp\notes.txt", True),
        ("fetch https://example.com/a?b=c and stop", "https://example.com/a?b=c", True),
        ("mail bob@example.com the plan", "bob@example.com", True),
        ("id 123e4567-e89b-12d3-a456-426614174000 ok", "123e4567-e89b-12d3-a456-426614174000", True),
        ("say 'hello dear world' to all", "'hello dear world'", False),
        ("把“会议取消”发给大家", "“会议取消”", False),
    ],
)
def test_values_inside_a_query_are_seen_as_such(query: str, payload: str, opaque: bool) -> None:
    start = query.index(payload)
    assert (start, start + len(payload), opaque) in payload_spans(query)


@pytest.mark.parametrize(
    "query",
    [
        '"send an email to bob"',
        "“发送邮件给客户”",
        "don't stop the server's job",
        "read/write files",
        "send_email and query_mysql",
    ],
)
def test_plain_words_are_no_payload(query: str) -> None:
    assert payload_spans(query) == []


MIXED = st.text(st.sampled_from("aB1é_ -./@'\"“”中文邮发かなカ한국ไทย々〇\U00020000。；;!?\n"), max_size=60)


@given(MIXED)
def test_short_texts_are_cut_without_the_expression_as_with_it(text: str) -> None:
    folded = fold(text)
    found = [(m.group(), m.lastgroup, m.start()) for m in words._expression().finditer(folded)]
    assert [tuple(run) for run in words._runs_by_character(folded)] == found
    assert [tuple(run) for run in words.runs(folded)] == found


@given(
    st.lists(
        st.sampled_from(["then", " Finally ", "afterwards", "secondly", "再", "还需要", "。", ". ", "x", "邮件"])
    )
)
def test_a_query_without_a_sign_of_a_border_has_none(parts: list[str]) -> None:
    folded = fold("".join(parts))
    found = [m.start() for m in re.finditer(intents._BORDERS, folded, re.IGNORECASE)]
    assert intents.clause_borders(folded) == found


@given(MIXED | st.text("0123456789abcdef-", min_size=30, max_size=60))
def test_a_query_without_a_sign_of_a_value_has_none(text: str) -> None:
    folded = fold(text)
    spans = [(m.start(), m.end(), m.lastgroup == "opaque") for m in re.finditer(query._PAYLOAD, folded)]
    assert payload_spans(folded) == [span for span in spans if span[2] or span[1] - span[0] < 0.8 * len(folded)]


@pytest.mark.parametrize("text_of", [ANY_TEXT, ANY_TEXT.map(lambda text: (text + "邮件 mail ") * 60)])
def test_an_index_and_a_query_cut_texts_into_the_same_runs(text_of: st.SearchStrategy[str]) -> None:
    @given(text_of)
    def check(text: str) -> None:
        folded = fold(text)
        assert list(scripts(folded)) == [(run.text, run.script) for run in runs(folded)]

    check()
