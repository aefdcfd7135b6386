"""Clusters: what joins, what stays apart, and what an exchange costs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import string
from pathlib import Path

import pytest

from evenkeel.core.exchange import Exchange
from evenkeel.shadow.clusters import Clusters, masked
from evenkeel.shadow.original import Reader
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.prompt import CHAT, PromptView

DATA = Path(__file__).parents[3] / "shared" / "data"
JSON = (("content-type", "application/json"),)
TICKET = (
    "Summarise ticket {number} for the team lead: the printer on floor {floor} takes no jobs since the "
    "update of {date}, reported by {name} <{name}@example.com>."
)


def view(*texts, api=CHAT, **members):
    """A conversation whose turns alternate between user and assistant."""
    roles = ("user", "assistant")
    messages = [{"role": roles[place % 2], "content": text} for place, text in enumerate(texts)]
    return PromptView.parse(json.dumps({"messages": messages} | members).encode(), api=api)


def ticket(number, name="anna"):
    """A prompt of a scheduled job."""
    return TICKET.format(number=number, floor=number % 9, date=f"2026-03-{number % 28 + 1:02d}", name=name)


def one_by_one(views, clusters=None, **given):
    """The clusters of exchanges that come in this order, each answered by its number."""
    clusters = clusters or Clusters()
    known = {"route": "r", "template": None, "session": None} | given
    return [
        clusters.of(
            known["route"], known["template"], one, answer=f"Answer {place}.", session=known["session"]
        )
        for place, one in enumerate(views)
    ]


def test_values_case_and_white_space_are_masked():
    """A number, an id, an e-mail address, a URL, a date and a quoted value leave a mark each."""
    assert masked('Write  to ANNA@example.com about INC-4711: "no toner" since 12 March 2026!') == (
        "write to 0 about 0 0 since 0"
    )
    assert masked("See https://example.com/a?b=1 on 2026-03-12, 10:30.") == "see 0 on 0 0"
    assert masked("チケット4711の要約") == "チケット 0 の要約"


def test_values_stay_where_nothing_else_is_left():
    """Numbers alone are the question, and quoted values are where they are most of the text."""
    assert masked("4711") == "4711"
    assert masked('{"title": "no toner", "asked": "today"}') == "title no toner asked today"


def test_retries_and_scheduled_jobs_join():
    """The same prompt twice, and prompts that differ in values only, have one name in every worker."""
    names = one_by_one([view(ticket(number)) for number in (4711, 4711, 4712, 5)])
    assert len(set(names)) == 1
    assert one_by_one([view(ticket(99))]) == names[:1]


def test_words_that_differ_a_little_join_and_other_questions_do_not():
    """A name or a slip of the pen joins; the same length of other words does not."""
    asked = (
        "Write a short letter to Anna that her parcel has been delayed by the snow and will arrive on Monday."
    )
    near = asked.replace("Anna", "Robert"), asked.replace("parcel", "parcle"), asked.replace("snow", "snwo")
    other = (
        "Write a short letter to Anna that her contract has been extended by a year and we thank her for it."
    )
    first, *rest, last = one_by_one([view(text) for text in (asked, *near, other)])
    assert rest == [first] * 3
    assert last != first


def test_routes_templates_and_documents_keep_apart():
    """Nothing is shared by routes or templates; the same question about another document is another."""
    prompt = view(ticket(1))
    names = {
        *one_by_one([prompt]),
        *one_by_one([prompt], route="other"),
        *one_by_one([prompt], template="t1"),
    }
    assert len(names) == 3
    about = [
        f"Summarise this.\n\n<document>\n{' '.join(random.Random(n).choices(WORDS, k=80))}\n</document>"
        for n in range(2)
    ]
    assert len(set(one_by_one([view(text) for text in about]))) == 2


WORDS = [
    "".join(random.Random(number).choices(string.ascii_lowercase, k=2 + number % 9)) for number in range(500)
]


def test_a_session_joins_whatever_it_says():
    """Other words under one session id, by header or in the body, are one cluster in every worker."""
    texts = [view("Where is my order?"), view("Can you translate this letter into French for me?")]
    assert len(set(one_by_one(texts, session="s1"))) == 1
    assert one_by_one(texts, session="s1") != one_by_one(texts, session="s2")
    asked = [
        view("Where is my order?", metadata={"session_id": "s3"}),
        view("Thanks, and the invoice?", metadata={"session_id": "s3"}),
    ]
    first, second = one_by_one(asked)
    assert first == second == one_by_one(asked[1:])[0]


def test_near_prompts_of_several_sessions_join():
    """A scheduled job that opens a session for each call is one cluster all the same."""
    clusters = Clusters()
    names = [one_by_one([view(ticket(n))], clusters, session=f"s{n}")[0] for n in range(5)]
    assert len(set(names)) == 1


def test_the_turns_of_a_conversation_join():
    """Without a session id the first words and the first answer are what the turns have in common."""
    asked = "My invoice of last month is wrong, what can I do about it?"
    turns = [
        view(asked),
        view(asked, "Answer 0.", "It says that I bought a piano."),
        view(asked, "Answer 0.", "It says that I bought a piano.", "Answer 1.", "Thank you, bye."),
    ]
    assert len(set(one_by_one(turns))) == 1
    elsewhere = view(asked, "Please call us.", "When are you open?")
    assert one_by_one([*turns, elsewhere])[-1] != one_by_one(turns)[0]


def test_a_greeting_is_nobodys_beginning():
    """Two conversations that begin with "Hi" have nothing in common until they say what they are about."""
    first = view("Hi", "Hello!", "Why is my invoice wrong? It lists a piano.", "Let me look.", "Thanks")
    second = view("Hi", "Hello!", "How do I return a lamp that came in pieces?", "Let me look.", "Thanks")
    assert len(set(one_by_one([first, second]))) == 2


def test_images_count():
    """The same words about two images are two clusters, about one image they are one."""
    shown = [
        PromptView.parse(
            json.dumps(
                {
                    "messages": [
                        {
                            "role": "user",
                            "content": [
                                {"type": "text", "text": "What is shown here, in one sentence?"},
                                {"type": "image_url", "image_url": {"url": f"data:{image}"}},
                            ],
                        }
                    ]
                }
            ).encode()
        )
        for image in "aab"
    ]
    first, again, other = one_by_one(shown)
    assert first == again != other


@pytest.mark.parametrize("kind", [[], {}, None, 7])
def test_a_part_may_be_of_any_kind(kind):
    """Whatever a client writes as its type, its words and the rest are read."""
    content = [{"type": "text", "text": "What is this?"}, {"type": kind, "x": 1}, {"type": "image_url"}]
    body = json.dumps({"messages": [{"role": "user", "content": content}]}).encode()
    (name,) = one_by_one([PromptView.parse(body)])
    assert name


def test_a_prompt_without_text_is_alone():
    """Nothing to compare, no cluster."""
    assert one_by_one([view("")]) == [""]


def test_memory_is_bounded(monkeypatch):
    """The input that was matched longest ago is forgotten with all its keys."""
    monkeypatch.setattr("evenkeel.shadow.clusters._MOST", 10)
    clusters = Clusters()
    texts = [" ".join(random.Random(n).choices(WORDS, k=20)) for n in range(40)]
    one_by_one([view(text, "x", "y") for text in texts], clusters)
    assert len(clusters._inputs) == 10
    assert {id(one) for crowd in clusters._by_key.values() for one in crowd} <= set(map(id, clusters._inputs))
    assert len(clusters._by_key) <= 80


@pytest.mark.parametrize("unit", ["a", "1", "a1 ", "a@", '"a ', "http://", "12 march ", "-", "日", "\ud800"])
def test_a_hostile_input_costs_what_is_read_of_it(unit):
    """Long input of any kind has a cluster; patterns see 200,000 characters of it."""
    text = unit * (400_000 // len(unit))
    assert len(masked(text)) <= 200_001
    assert one_by_one([view(text)]) == one_by_one([view(text)])


def edits(text, rng):
    """A prompt as it comes again: other values and another name, a slip of the pen, another case."""
    name = rng.choice(["Anna", "Bob", "Maria", "Priya", "John", "Omar"])
    yield f"{text} Ticket {rng.randrange(10**4)}, order INC-{rng.randrange(10**5)}, for {name}."
    place = rng.randrange(len(text) - 1)
    slip = text[:place] + text[place + 1] + text[place] + text[place + 2 :]
    yield f"{slip} Ticket 1, order INC-2, for Emma."
    yield f"{text}  Ticket 1,  order INC-2, for Emma.".upper()


def recorded(name):
    """Rows of a table of public data."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"no {name} beside the repository")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(io.StringIO(file.read())))


def through(prompts):
    """Their clusters as the worker finds them, templates learned on the way."""
    reader = Reader({"r": RoutePlan((), (0.3,), 0, None)})
    found = []
    for place, prompt in enumerate(prompts):
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}]}).encode()
        answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": f"{place}"}}]}).encode()
        exchange = Exchange(
            *(f"{place:016x}", "r", 0.0, 0.1, "POST", "/v1/chat/completions", 200),
            *(JSON, body, JSON, answer),
        )
        found.append(reader.read(exchange).cluster)
    return found


def test_tickets_under_one_template_stay_apart():
    """Of 500 recorded tickets below 1 % join another one; each of those repeats a whole description."""
    prompts = [
        "You are a support assistant. Summarise the ticket below in two sentences.\n\n"
        f"Ticket {row['number']}\nTitle: {row['short_description']}\n\n{row['description']}\n\n"
        f"Resolution: {row['resolution']}"
        for row in recorded("it_tickets/soba101_500_tickets.csv.gz")
    ]
    found = through(prompts)
    assert len(prompts) - len(set(found)) <= 0.01 * len(prompts)


def test_recorded_questions_stay_apart_and_their_bursts_join():
    """Distinct recorded questions do not join; edited copies of them do in 95 % and more."""
    asked = list(dict.fromkeys(row["query"] for row in recorded("llm_drift/sensitiveq_eval.csv.gz")))
    assert len(set(one_by_one([view(text) for text in asked]))) == len(asked)
    rng = random.Random(1)
    joined = total = 0
    for text in asked:
        clusters = Clusters()
        burst = (f"{text} Ticket 1, order INC-2, for Emma.", *edits(text, rng))
        first, *rest = one_by_one([view(one) for one in burst], clusters)
        joined += rest.count(first)
        total += len(rest)
    assert joined >= 0.95 * total
