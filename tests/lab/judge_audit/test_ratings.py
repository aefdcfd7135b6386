import gzip
import json

import pytest

from evenkeel.lab.judge_audit.questions import rubrics
from evenkeel.lab.judge_audit.ratings import RatingScale, read_ratings
from evenkeel.release.kit.arguments import InputError
from tests.cases import cases

CASES = cases(__file__)

WIDE = """\
Item,Metric,Scale,Text,Context,rater_ana,rater_bo
a,Maintains Context,1-3,"Sure, tomorrow.",See you?,2,3
b,Maintains Context,1-3,"Two
lines",See you?,1,
"""
LONG = """\
item;metric;scale;rater;rating;text;context
a;maintains_context;1..3;ana;2;Sure, tomorrow.;See you?
a;maintains_context;1..3;bo;3;;
b;maintains_context;1..3;ana;1.0;Two lines;See you?
b;maintains_context;1..3;bo;NA;;
"""


def read(tmp_path, name, content, **options):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return read_ratings(path, **options)


def complaint(tmp_path, name, content, **options):
    with pytest.raises(InputError) as caught:
        read(tmp_path, name, content, **options)
    return str(caught.value)


def essence(ratings):
    return [(item.id, item.metric, item.scale, item.ratings) for item in ratings.items]


EXPECTED = [
    ("a", "maintains_context", RatingScale(1, 3), (2, 3)),
    ("b", "maintains_context", RatingScale(1, 3), (1, None)),
]


def test_a_wide_file_has_one_column_a_person(tmp_path):
    """Cells may hold commas and line breaks; an empty rating is missing; it may be compressed."""
    path = tmp_path / "r.csv.gz"
    path.write_bytes(gzip.compress(WIDE.encode()))
    ratings = read_ratings(path)
    assert ratings.raters == ("rater_ana", "rater_bo")
    assert essence(ratings) == EXPECTED
    assert ratings.items[0].text == "Sure, tomorrow."
    assert ratings.items[1].text == "Two\nlines"
    assert ratings.items[1].given == (1,)


def test_a_long_file_has_one_row_a_rating(tmp_path):
    """The same ratings; texts need to be there once; semicolons are recognised."""
    ratings = read(tmp_path, "r.csv", LONG)
    assert ratings.raters == ("ana", "bo")
    assert essence(ratings) == EXPECTED
    assert ratings.items[0].context == "See you?"


@pytest.mark.parametrize(
    "given", [([2, 3], [1, None]), ({"ana": 2, "bo": "3"}, {"ana": 1}), ([2, 3], [1, "n/a"])]
)
def test_lines_of_json_may_nest_the_ratings(tmp_path, given):
    """Lists go by place, objects by name."""
    rows = [
        {"item": name, "metric": "maintains context", "scale": [1, 3], "ratings": ratings}
        for name, ratings in zip("ab", given, strict=True)
    ]
    lines = "\n".join(json.dumps(row) for row in rows)
    assert essence(read(tmp_path, "r.jsonl", lines)) == EXPECTED
    assert essence(read(tmp_path, "r.json", json.dumps(rows))) == EXPECTED


def test_a_column_says_which_items_belong_together(tmp_path):
    """The column needs to be there once for an item, and says the same wherever it is."""
    head = "item,metric,scale,article,rater_1\n"
    ratings = read(tmp_path, "r.csv", f"{head}a,f,1-5,x,4\nb,f,1-5,7,4\n", cluster="Article")
    assert [item.cluster for item in ratings.items] == ["x", "7"]
    assert ratings.unused == ()
    assert {item.cluster for item in read(tmp_path, "r.csv", f"{head}a,f,1-5,x,4\n").items} == {""}
    said = complaint(tmp_path, "r.csv", f"{head}a,f,1-5,,4\n", cluster="article")
    assert 'line 2, field "article": is empty' in said
    assert 'no column "articel" (did you mean "article"?)' in complaint(
        tmp_path, "r.csv", f"{head}a,f,1-5,x,4\n", cluster="articel"
    )


@pytest.mark.parametrize(("content", "parts"), CASES["wrong tables"])
def test_errors_name_file_line_and_field(tmp_path, content, parts):
    """They say what was meant, where that can be guessed."""
    said = complaint(tmp_path, "r.csv", content)
    assert said.startswith("r.csv")
    for part in parts:
        assert part in said


def test_files_that_cannot_be_read_are_one_sentence(tmp_path):
    """A missing file, other bytes, a torn archive."""
    with pytest.raises(InputError, match="No such file"):
        read_ratings(tmp_path / "absent.csv")
    (tmp_path / "latin.csv").write_bytes("item,metric\né".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_ratings(tmp_path / "latin.csv")
    (tmp_path / "torn.csv.gz").write_bytes(gzip.compress(WIDE.encode())[:40])
    with pytest.raises(InputError, match="not a complete gzip file"):
        read_ratings(tmp_path / "torn.csv.gz")


@pytest.mark.parametrize(("content", "part"), CASES["wrong rubrics"])
def test_errors_in_a_rubric_name_metric_and_field(tmp_path, content, part):
    """Each is one sentence."""
    path = tmp_path / "rubric.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        rubrics(path)
    assert part in str(caught.value)
