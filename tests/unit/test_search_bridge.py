"""The term table: what is shipped, and what of it goes into an index."""

from __future__ import annotations

from tooldisco_cli.search.bridge import MAX_TARGETS, PINYIN, SEPARATOR, bridge_terms, table_lines_with, term_table
from tooldisco_cli.search.folding import DATA, fold
from tooldisco_cli.search.words import stems


def row(word: str) -> tuple[str, ...]:
    return next(tuple(line.split("\t")[2].split("|")) for line in term_table() if line.startswith(word + "\t"))


def test_the_table_is_small_enough_to_ship_and_says_whose_it_is() -> None:
    assert (DATA / "terms.tsv.gz").stat().st_size <= 2_000_000
    notice = (DATA / "LICENSES.md").read_text("utf-8")
    assert "CC BY-SA 4.0" in notice
    assert "Apache-2.0" in notice


def test_words_are_sorted_and_folded_so_that_a_folded_query_meets_them() -> None:
    words = [line.split("\t")[0] for line in term_table()]
    assert words == sorted(set(words))
    assert [word for word in words if fold(word) != word] == []


def test_translations_are_stems_as_the_engine_makes_them() -> None:
    """Checked on words that a stemmer changes: the table must have been built with the same one."""
    assert stems(["message", "database", "query"]) == ["messag", "databas", "queri"]
    assert "text_messag" in row("短信")
    assert "databas" in row("数据库")
    assert "queri" in row("查询")


def test_words_of_taiwan_lead_to_those_of_the_mainland() -> None:
    assert "资料库\x1f0数据库" in set(bridge_terms({"数据库": 1}))


def test_only_what_the_index_can_use_is_written() -> None:
    terms = set(bridge_terms({"email": 1, "短信": 1}))
    keys = {term.split(SEPARATOR)[0] for term in terms}
    targets = {term.split(SEPARATOR)[1][1:] for term in terms}
    assert targets == {"email", "短信"}
    assert {"邮件", "text_messag", "sms", PINYIN + "duanxin"} <= keys
    assert set(bridge_terms({})) == set()


def test_a_translation_of_several_words_needs_all_of_them() -> None:
    assert not any("exchang_rate" in term for term in bridge_terms({"rate": 1}))
    assert any(term.startswith("汇率\x1f") for term in bridge_terms({"rate": 1, "exchang": 1}))


def test_no_key_has_more_targets_than_a_query_can_use() -> None:
    everything = {line.split("\t")[0]: 1 for line in term_table()}
    counts: dict[str, int] = {}
    for term in bridge_terms(everything):
        key = term.split(SEPARATOR)[0]
        counts[key] = counts.get(key, 0) + 1
    assert max(counts.values()) == MAX_TARGETS


def test_of_equally_usual_translations_the_most_frequent_in_the_index_are_kept() -> None:
    many = {line.split("\t")[0]: 1 for line in term_table() if "send" in line.split("\t")[2].split("|")}
    many["寄"] = 0
    frequent = {**many, "发送": 50}
    kept = [term.split(SEPARATOR)[1][1:] for term in bridge_terms(frequent) if term.startswith("send" + SEPARATOR)]
    assert kept[0] == "发送"


def test_the_table_is_kept_unpacked_and_unpacked_anew_when_what_is_kept_is_damaged(tmp_path):
    lines = table_lines_with(["邮件"])
    assert table_lines_with(["邮件"], tmp_path) == lines != []
    (kept,) = tmp_path.iterdir()
    whole = kept.read_bytes()
    for damage in (whole[:-1], whole.replace("邮件".encode(), "油件".encode()), b""):
        kept.write_bytes(damage)
        assert table_lines_with(["邮件"], tmp_path) == lines
        assert kept.read_bytes() == whole


def test_where_nothing_can_be_kept_the_table_is_unpacked_each_time(tmp_path):
    assert table_lines_with(["邮件"], tmp_path / "missing") == table_lines_with(["邮件"])
