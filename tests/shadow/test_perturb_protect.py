"""Protected spans: what no change of the input may touch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.protected_spans import RULES, protected_spans


def found(text: str) -> list[tuple[str, str]]:
    """(rule, protected text) pairs."""
    return [(span.rule, text[span.start : span.end]) for span in protected_spans(text)]


@pytest.mark.parametrize(
    ("text", "rule", "kept"),
    [
        ("run `make all` now", "code", "`make all`"),
        ("see\n```python\nx = 1\n\ny = 2\n```\nthanks", "code", "```python\nx = 1\n\ny = 2\n```"),
        ("cut off: ```sh\nls -la", "code", "```sh\nls -la"),
        ("so\n    total = price * count\nright", "code_line", "    total = price * count"),
        ("so\nfor item in basket:\nright", "code_line", "for item in basket:"),
        ("so\nlet x = f(a);\nright", "code_line", "let x = f(a);"),
        ("so\nSELECT name FROM users\nright", "sql", "SELECT name FROM users"),
        ("so\nValueError: bad thing\nright", "code_line", "ValueError: bad thing"),
        ("so\n| Anna | red, blue |\nright", "table", "| Anna | red, blue |"),
        ("list\n- one thing", "marker", "- "),
        ("list\n  12. one thing", "marker", "  12. "),
        ("## A heading", "marker", "## "),
        ("due on March 3rd, 2024 at noon", "date", "March 3rd, 2024"),
        ("due on 14 February 2023 at noon", "date", "14 February 2023"),
        ("am 18. November 2019 um zwei", "date", "18. November 2019"),
        ("im März 2024 war es", "date", "März 2024"),
        ("desde el 3 de mayo de 2024 no va", "date", "3 de mayo de 2024"),
        ("en mayo de 2024 no va", "date", "mayo de 2024"),
        ("depuis le 1er mai 2023 rien", "date", "1er mai 2023"),
        ("dal 14 luglio 2023 in poi", "date", "14 luglio 2023"),
        ("sinds 3 mei 2024 niet meer", "date", "3 mei 2024"),
        ("desde 1º de maio não abre", "date", "1º de maio"),
        ("look at https://a.example/b?c=d&e=f#g, please", "url", "https://a.example/b?c=d&e=f#g"),
        ("look at www.example.org.", "url", "www.example.org"),
        ("日本は https://a.example/b。次", "url", "https://a.example/b"),
        ("write to jane.o-neil+x@mail.example.com.", "email", "jane.o-neil+x@mail.example.com"),
        ("ask @ann_b about it", "handle", "@ann_b"),
        ("in <b>bold</b> text", "markup", "<b>bold</b>"),
        ('a <order id="3"> here', "markup", '<order id="3">'),
        ("a &amp; b", "markup", "&amp;"),
        ("<city>東京</city>です", "markup", "<city>東京</city>"),
        ("<letter>昨日から電源が入りません。修理をお願いできますか。</letter>", "markup", "<letter>"),
        ("dear {{ first name }}, hi", "placeholder", "{{ first name }}"),
        ("dear {name}, hi", "placeholder", "{name}"),
        ("dear [YOUR NAME], hi", "placeholder", "[YOUR NAME]"),
        ("dear %(name)s, hi", "placeholder", "%(name)s"),
        ("a [link](http://x.example) here", "placeholder", "[link](http://x.example)"),
        ('got {"a": [1, {"b": null}], "c": "}"} back', "json", '{"a": [1, {"b": null}], "c": "}"}'),
        ('got\n{\n  "ok": true\n}\nback', "json", '{\n  "ok": true\n}'),
        ('config = {\n  "on": true\n}\nback', "data", 'config = {\n  "on": true\n}'),
        ('Config: {\n  "on": true\n}\nback', "json", '{\n  "on": true\n}'),
        ('the answer was {\n  "on": true\n}\nback', "json", '{\n  "on": true\n}'),
        ("so: ```js {\nx\n}\n```\nback", "code", "```js {\nx\n}\n```"),
        ("```{r}\nx\n```\nback", "code", "```{r}\nx\n```"),
        ("so\nfunction run() {\n  go()\n}\nright", "data", "function run() {\n  go()\n}"),
        ("so\nlight up the {room}", "placeholder", "{room}"),
        ("got {'a': 1, 'b': None} back", "object", "{'a': 1, 'b': None}"),
        ('she said "leave it alone" twice', "quotation", '"leave it alone"'),
        ("she said 'it isn't mine' twice", "quotation", "'it isn't mine'"),
        ("she said “leave it” twice", "quotation", "“leave it”"),
        ("elle dit « laissez » deux fois", "quotation", "« laissez »"),
        ("彼は「行く」と言った", "quotation", "「行く」"),
        ("er sagt »lass es« dazu", "quotation", "»lass es«"),
        ("er sagt \u201alass es\u2018 dazu", "quotation", "\u201alass es\u2018"),
        ("on lit \u2039laissez\u203a ici", "quotation", "\u2039laissez\u203a"),
        ("so\nCustomer: it broke\nright", "label", "Customer:"),
        ("so\nOrder number: none\nright", "label", "Order number:"),
        ("一覧\n・項目の名前", "marker", "・"),
        ("次の【氏名】を書く", "placeholder", "【氏名】"),
        ("in /etc/hosts there", "path", "/etc/hosts"),
        ("in ~/notes/today there", "path", "~/notes/today"),
        (r"in C:\Users\ann there", "path", r"C:\Users\ann"),
        ("in src/app/main there", "path", "src/app/main"),
        ("from fe80::1 only", "address", "fe80::1"),
        ("set retries=none please", "setting", "retries=none"),
        ("it costs $1,299.99 now", "number", "$1,299.99"),
        ("only 12.5 % left", "number", "12.5 %"),
        ("minus -40 °C today", "number", "-40 °C"),
        ("on 2024-05-01T10:30:00Z exactly", "number", "2024-05-01T10:30:00Z"),
        ("at 10:30 pm today", "number", "10:30 pm"),
        ("version v3.14.2-rc1 here", "number", "v3.14.2-rc1"),
        ("from 192.168.0.1:8080 only", "number", "192.168.0.1:8080"),
        ("ticket INC-48213 is open", "number", "INC-48213"),
        ("hash 0xDEADBEEF is bad", "number", "0xDEADBEEF"),
        ("weighs 3 kg more", "number", "3 kg"),
        ("kostet 1.234,56 € im Jahr", "number", "1.234,56 €"),
        ("coûte 1 234,56 € par an", "number", "1 234,56 €"),
        ("custa R$ 1.234,56 por ano", "number", "R$ 1.234,56"),
        ("um 14 Uhr am Bahnhof", "number", "14 Uhr"),
        ("cada 15 días se apaga", "number", "15 días"),
        ("après 2 heures de route", "number", "2 heures"),
        ("da 20 anni in uso", "number", "20 anni"),
        ("na 3 weken stuk", "number", "3 weken"),
        ("a 3ª vez que falha", "number", "3ª"),
        ("kostete 1000$ und dann 2000$ mehr", "number", "2000$"),
        ("人口は1400万人です", "number", "1400"),
        ("set max_retry_count here", "identifier", "max_retry_count"),
        ("set maxRetryCount here", "identifier", "maxRetryCount"),
        ("set MaxRetry here", "identifier", "MaxRetry"),
        ("open report.final.pdf here", "identifier", "report.final.pdf"),
        ("in C++ only", "identifier", "C++"),
        ("with --dry-run set", "identifier", "--dry-run"),
        ("call reset(user) first", "call", "reset(user)"),
        ("pay to DE89 3704 0044 0532 0130 00, please", "spaced", "DE89 3704 0044 0532 0130 00"),
        ("call +49 (0)30 1234 5678 now", "spaced", "+49 (0)30 1234 5678"),
        ("at */5 9-17 * * 1-5 daily", "spaced", "*/5 9-17 * * 1-5"),
        ("is x - y right", "formula", "x - y"),
        ("does find . -mtime +7 -delete work", "command", "find . -mtime +7 -delete work"),
        ("why does git rebase main fail", "command", "git rebase main"),
        ("run python manage.py migrate and wait", "command", "python manage.py migrate"),
        ("is SELECT a FROM b WHERE c > 1; slow", "sql", "SELECT a FROM b WHERE c > 1"),
        ("as JSON with keys vendor, total, iban: go", "choices", "keys vendor, total, iban"),
        ("mit den Feldern Name, Betrag und Datum.", "choices", "Feldern Name, Betrag und Datum"),
        ("the mood (positive, neutral, negative) of it", "choices", "(positive, neutral, negative)"),
        ("is it done (yes/no)?", "choices", "(yes/no)"),
        ("a CSV with the columns type;value", "choices", "columns type;value"),
        ("Classify it as spam or ham.", "choices", "Classify it as spam or ham"),
        ("Reply only with APPROVE or REJECT now", "choices", "Reply only with APPROVE or REJECT"),
        (
            "pick one of: hardware, software, network access",
            "choices",
            "one of: hardware, software, network access",
        ),
        ("we need 10⁶ cells", "number", "10⁶"),
        ("الطلب رقم ٤٧١١ هنا", "number", "٤٧١١"),
        ("दाम १२३४ है", "number", "१२३४"),
        ("料金は二百三十円です", "ideograph", "二百三十円"),
        (r"where \(x < y\) holds", "math", r"\(x < y\)"),
    ],
)
def test_each_rule_finds_its_span(text: str, rule: str, kept: str) -> None:
    """Each span is found whole, under the rule that people are shown."""
    assert (rule, kept) in found(text)
    assert rule in RULES


@pytest.mark.parametrize(
    "text",
    [
        "Please summarise the case in three sentences, and mention the mood of the customer.",
        "I don't know why; it's the users' third complaint, isn't it? Maria thinks so.",
        "First line of a mail.\nSecond line, which goes on (with an aside) until the end!",
        "a well-known state of things: nothing moves - ever",
        "it went from $ to £, then from £ to $ again",
        "El martes de mayo que digo no es de abril.",
        "Der Kunde wünscht eine Rückerstattung, weil das Gerät plötzlich ausgeht.",
        "お客様は返金を希望しています。理由は何ですか。",
    ],
)
def test_prose_is_free(text: str) -> None:
    """Ordinary sentences hold nothing that needs protection."""
    assert found(text) == []


def test_spans_are_ordered_and_disjoint_in_a_mixed_text() -> None:
    """Several rules in one text give the spans in reading order."""
    text = 'On May 3 user_a paid $5 for "tea" at https://t.example/x (order #77).\n- ok'
    assert found(text) == [
        ("date", "May 3"),
        ("identifier", "user_a"),
        ("number", "$5"),
        ("quotation", '"tea"'),
        ("url", "https://t.example/x"),
        ("handle", "#77"),
        ("marker", "- "),
    ]


def test_long_text_between_delimiters_stays_free() -> None:
    """Tags and triple quotes around a document protect themselves, not the document."""
    document = "the printer stopped working after the office moved to another floor"
    assert [kept for _, kept in found(f"<case>{document}</case>")] == ["<case>", "</case>"]
    assert [kept for _, kept in found(f'"""{document}"""')] == ['"""', '"""']


_fragments = st.sampled_from([
    "word ", "Word. ", "\n", " - ", "`", '"', "'", "{", "}", "[", "]", '{"a": 1}', "<b>", "</b>", "$4",
    "http://a.b", "a@b.c", "x_y", "aB", "é", "。", "東京", "’s ", "--", "/", "\\", "=", "(", ")", "|",
    ";\n", "\t", "3.5 kg", "\ud800",
])  # fmt: skip


@given(st.one_of(st.text(max_size=200), st.lists(_fragments, max_size=40).map("".join)))
def test_spans_of_any_text_are_ordered_and_disjoint(text: str) -> None:
    """Spans of any text lie within it, in order, without overlap, and are not empty."""
    end = 0
    for span in protected_spans(text):
        assert end <= span.start < span.end <= len(text)
        end = span.end


@given(
    st.text(st.characters(categories=["L", "P", "Zs"]), max_size=30),
    st.from_regex(r"[0-9]{1,6}", fullmatch=True),
)
def test_every_digit_is_protected(around: str, number: str) -> None:
    """Each digit lies in a span, whatever stands around the number."""
    text = f"{around} {number} {around}"
    covered = {place for span in protected_spans(text) for place in range(span.start, span.end)}
    assert {place for place, letter in enumerate(text) if letter in "0123456789"} <= covered


def test_json_is_looked_for_in_a_bounded_number_of_places() -> None:
    """The lenient rule for objects takes over after many brackets that open no JSON."""
    text = "[0 " * 70 + '{"key": "some value"}'
    assert found(text)[-1] == ("object", '{"key": "some value"}')
    assert found("[0 " * 10 + '{"key": "some value"}')[-1] == ("json", '{"key": "some value"}')
