"""Perturbations of texts as people send them: tables in columns, scripts with marks of their own, code."""

from __future__ import annotations

import random

import pytest

from evenkeel.shadow.perturbations import NotApplicable, by_name
from tests.cases import cases
from tests.shadow.pretended_rewriter import asked, variant

CASES = cases(__file__)


@pytest.mark.parametrize(
    "rows",
    [
        "red sofa\t12\t\nold desk\t9\tin the back",
        "one\t\tlast one\n\ttwo of them\t7",
        "red sofa   12  left\nold desk   9   sold",
    ],
)
def test_rows_in_columns_stay(rows):
    """A tab or a run of blanks more or less would move a value to another column."""
    text = f"Which of these sold best?\n\n{rows}\n\nPlease say why you think so."
    for name in ("whitespace", "spelling", "casing", "punctuation"):
        for seed in range(30):
            assert rows in variant(f"general.{name}", text, 0.9, seed)


@pytest.mark.parametrize("text", CASES["no full stop"])
def test_no_full_stop_is_added_where_the_script_has_another_or_none(text):
    """Thai ends no sentence with a mark; Hindi, Urdu, Armenian and Amharic have marks of their own."""
    result = by_name(["general.punctuation"])[0].apply(asked(text), 1.0, random.Random(1))
    assert isinstance(result, NotApplicable)


@pytest.mark.parametrize(
    "text", ["Где мой заказ", "הזמנתי מדפסת", "وصلت الطابعة", "چاپگر نرسید", "주문했습니다", "Περιμένω"]
)
def test_a_full_stop_is_added_where_the_script_has_a_point(text):
    """Cyrillic, Hebrew, Arabic, Persian, Korean and Greek end a sentence with a point."""
    assert f"{text}." in {variant("general.punctuation", text, 1.0, seed) for seed in range(50)}


@pytest.mark.parametrize("text", ["ดีมาก!", "بہت خوب!", "Շատ լավ!"])
def test_no_full_stop_replaces_an_exclamation_mark_where_the_script_has_none(text):
    """The mark is left out or repeated."""
    made = {variant("general.punctuation", text, 1.0, seed) for seed in range(50)}
    assert made == {text[:-1], f"{text}!"}


def test_a_greek_question_mark_is_no_semicolon():
    """A comma in its place would ask nothing."""
    made = {variant("general.punctuation", "Πού είναι; Περιμένω, λοιπόν", 0.9, seed) for seed in range(50)}
    assert all("είναι; Περιμένω" in text for text in made)


PYTHON = """import csv
from pathlib import Path

@app.route("/sales")
def sales(path):
    rows = list(csv.reader(open(path)))

    # skip the header line
    total, count = 0, 0
    for row in rows[1:]:  # each sale
        total += float(row[2])
    return total

print(sales(Path("march.csv")), [{"price": 20, "lamps": 2}])
raise_alarm(sales(today), level(severe))"""
SCRIPT = """const load = async (name) => {
  const answer = await fetch(name);
  return answer;
}
let items = load(lamps)
items.filter(item => item.left).map(item => item.name)
  .forEach(show);
// now show them
return nothing;"""
C = """#include <stdio.h>
int main() {
    printf("hello world");
}
for (int i = first; i < last; i++)
    sum += values[i];"""
SHELL = """$ sudo systemctl restart nginx
ann@web:~$ tail -f /var/log/syslog
docker run -d \\
  --name shop \\
  -v data:/data shop:latest
PS C:\\Users\\ann> Get-Process chrome"""
SQL = """SELECT shop, sum(price) AS total
FROM sales
LEFT JOIN shops ON shops.name = sales.shop
WHERE placed > 'May'
  AND status = 'open'
ORDER BY total DESC;"""
NAMED_SQL = """WITH recent AS (
  SELECT customer, max(placed) AS latest
  FROM orders
)
SELECT customer
FROM recent;"""
OTHERS = """package main

import "format"
lamps.each do |lamp|
  puts lamp.name
end
export default greet"""
SMALL_SQL = """select name,
       price
from lamps
where left > 3"""

# Markup, settings, logs, patches, comments and data, by whose first and last line a paragraph is known.
TEMPLATE = """<form method="post">
  <div class="row">
    Enter your address and we will send you a link.
    <input type="text" placeholder="Address">
</form>"""
JINJA = """{% for item in items %}
  {{ item.name }} costs {{ item.price }}
{% else %}
  Nothing to see here
{% endfor %}"""
SETTINGS = """name: tests
on:
  push:
    branches: [main]
steps:
  - uses: checkout
  - name: Run the tests
    run: make check"""
LOG = """Nov 03 08:12:44 shop apache: Could not determine the domain name
Nov 03 08:12:45 shop systemd: Started the server."""
PATCH = """diff --git a/app.py b/app.py
--- a/app.py
+++ b/app.py
@@ -1,2 +1,2 @@
-    return sum(items)
+    return sum(prices)"""
COMMENT = """/**
 * Prints every even number up to the limit.
 * @param limit the last number to look at
 */
public static void evens(int limit) {
}"""
RUBY = """class User < Record
  has_many :orders

  # Returns the newest order of the user
  def latest
    orders.last
  end
end"""
TRACE = """Exception in thread main: Cannot read the file
\tat shop.User.greet(User.java:17)
Caused by: stream closed"""
ROWS = "name;city;status\nAnna;Oslo;active customer\nEva;Oslo;closed account"
BLOCK = 'resource "database" "main" {\n  allocated = twenty\n  # keep the last snapshot\n}'
INSTALLER = "npm ERR! unable to resolve dependency tree\nnpm ERR! could not resolve dependency"
COMPILER = "main.c:12:5: error: expected a bracket\nmain.c:3:10: warning: unused variable"
DATABASE = "ERROR: duplicate key value\nDETAIL: this key already exists"
CALENDAR = "BEGIN:VEVENT\nSUMMARY:weekly planning of the shop\nEND:VEVENT"
FUNCTIONS = "compose f g x = f (g x)\ntwice f = compose f f"
PLAN = "Seq Scan on orders  (cost=0.00 rows=120 width=40)\n  Rows Removed by Filter: many"
DATA = [TEMPLATE, JINJA, SETTINGS, LOG, PATCH, COMMENT, RUBY, TRACE, ROWS]
DATA += [BLOCK, INSTALLER, COMPILER, DATABASE, CALENDAR, FUNCTIONS, PLAN]


def lines_of(text):
    """The lines that are not blank, without blanks at their ends."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


@pytest.mark.parametrize("code", [PYTHON, SCRIPT, C, SHELL, SQL, SMALL_SQL, NAMED_SQL, OTHERS, *DATA])
@pytest.mark.parametrize("name", ["whitespace", "spelling", "casing", "punctuation", "tone"])
def test_code_without_a_fence_stays(code, name):
    """Words of calls, assignments, statements and commands are no words of a person's."""
    text = f"Why does this not work, and what should I change?\n\n{code}\n\nPlease explain it in a few words."
    for seed in range(20):
        made = variant(f"general.{name}", text, 0.9, seed)
        # Blanks at the ends of lines, and blank lines, mean nothing in code.
        assert lines_of(code) in lines_of(made)
        assert "\\ " not in made


@pytest.mark.parametrize(
    "call", ["show(first(items), last name)", "a.b(c)(d e).f(g h)", "print(total([{x: 1}]))"]
)
def test_a_call_within_a_sentence_stays(call):
    """Also one that holds further calls, or is a chain of them."""
    text = f"Then I call {call} at the very end, which does nothing."
    for seed in range(20):
        assert call in variant("general.casing", text, 0.9, seed)


@pytest.mark.parametrize("text", CASES["sentences"])
def test_sentences_that_look_a_little_like_code_are_changed(text):
    """Most of their words can be written another way."""
    made = {word for seed in range(60) for word in variant("general.casing", text, 0.5, seed).split()}
    words = [word for word in text.split() if len(word) >= 6 and word.isalpha() and word.islower()]
    changed = [word for word in words if {word.upper(), word.capitalize()} & made]
    assert len(changed) >= 0.8 * len(words)


def test_quoted_lines_stay():
    """What somebody else wrote is not the sender's to word otherwise."""
    quoted = "> did you try another bulb,\n> or another socket?"
    for name in ("whitespace", "spelling", "casing", "punctuation"):
        for seed in range(20):
            made = variant(f"general.{name}", f"see my answer below\n{quoted}\nyes, both of them", 0.9, seed)
            assert quoted in lines_of(made)
