"""Questions with four documents each."""

from __future__ import annotations

from typing import Final

from benchmarks.prompts.layout import ApplicationPrompt, Layout, in_turn

LAYOUTS: Final = (
    Layout(
        system="""\
You answer questions of employees from the documents you are given.

- Cite the documents you used by number, like [2].
- If the documents do not answer the question, say so.""",
        user="""\
Documents:

[1] {first}

[2] {second}

[3] {third}

[4] {fourth}

Question: {question}
""",
    ),
    Layout(
        user="""\
Use only the context to answer the question. Keep it to three sentences.

<context>
<document id="1">{first}</document>
<document id="2">{second}</document>
<document id="3">{third}</document>
<document id="4">{fourth}</document>
</context>

<question>{question}</question>

Answer in JSON: {"answer": "<text>", "sources": [<ids>]}
""",
    ),
    Layout(
        user="""\
# Question
{question}

# Sources
## Source A
{first}

## Source B
{second}

## Source C
{third}

## Source D
{fourth}

# Answer format
A short paragraph in Markdown, then a bullet list of the sources used.
""",
    ),
)

_ROWS: Final = (
    (
        "How many days may I work from abroad?",
        "Working from abroad is possible for 20 days a year, if the country is in the European Union.",
        "Home office needs a fixed connection and a room with a door.",
        "Business trips are booked through the travel desk, at least five days before.",
        "Days abroad are entered as code HO-X in the time sheet.",
    ),
    (
        "Who signs orders above 5,000?",
        "Orders up to 500 may be signed by anybody in the team.",
        "The head of a department signs orders up to 10,000.",
        "Frame contracts lie in the folder legal/frames.",
        "Two offers are needed for everything above 1,000.",
    ),
    (
        "What do I do when the cold room alarm rings?",
        "The alarm of the cold room rings at 8 °C and more. Close the door first and wait two minutes.",
        "If it goes on, call the technician: extension 4471, day and night.",
        "Goods that were above 10 °C for an hour are thrown away.",
        "The fire alarm sounds different: a rising tone.",
    ),
    (
        "Can a member bring a guest to the swimming hall?",
        "Members may bring one guest a month for free.",
        "Children under six swim for free, but never alone.",
        "The sauna is closed on Mondays.",
        "Guests leave their name at the front desk and wear a yellow band.",
    ),
    (
        "When is the bridge open for lorries again?",
        "The bridge is closed to vehicles above 7.5 tonnes until the bearings are replaced.",
        "The bearings have been ordered and arrive in week 37.",
        "Replacing them takes ten days if the weather is dry.",
        "Buses use the diversion through the port.",
    ),
    (
        "Which filter fits the model K2?",
        "K1 and K1s take the round filter, part 20-113.",
        "Since 2021 the K2 has been delivered with the flat filter, part 20-140.",
        "Filters are washed with cold water and never with soap.",
        "Older K2 machines have a round housing; an adapter (20-141) is in the spare parts box.",
    ),
    (
        "How do I get my deposit back?",
        "The deposit is three rents, paid before the keys are handed over.",
        "At the end both sides walk through the flat and write down what is broken.",
        "The landlord pays it back within six months, less the cost of repairs.",
        "Small holes in the wall count as normal wear.",
    ),
    (
        "Does the insurance cover a bicycle stolen from the cellar?",
        "Household goods are insured against theft from locked rooms.",
        "A bicycle counts as household goods if it was locked itself.",
        "Cellars shared by several flats count as locked rooms if the house door locks.",
        "Report a theft to the police within three days and keep the number of the report.",
    ),
    (
        "What is the limit of the export?",
        "An export holds 50,000 rows at most; `limit` can make it smaller.",
        "Larger exports are split: call `/exports/next` with the token from the last answer.",
        "Tokens are valid for an hour.",
        "Exports in the format xlsx take about four times as long as csv.",
    ),
    (
        "May volunteers drive the van?",
        "The van holds nine people and may be driven with an ordinary licence.",
        "Drivers are at least 21 years old and have had their licence for two years.",
        "Volunteers are insured on the way to an event, not on the way home.",
        "The key hangs in the office; write the kilometres into the red book.",
    ),
    (
        "How warm must the dough be?",
        "The starter is fed in the evening and stands at 24 °C until morning.",
        "Dough for rye bread is mixed with water of 40 °C and ends at about 30 °C.",
        "Wheat dough should not get warmer than 26 °C.",
        "The oven is heated an hour before the first loaf.",
    ),
    (
        "Where do I hand in a thesis?",
        "A thesis is handed in as a PDF through the portal, by noon of the last day.",
        "Printed copies are no longer needed, except in law.",
        "An extension needs a doctor's note or the consent of the supervisor.",
        "The file name is the matriculation number and nothing else.",
    ),
)

QUESTIONS: Final[tuple[ApplicationPrompt, ...]] = in_turn(
    "question_answering",
    LAYOUTS,
    (dict(zip(("question", "first", "second", "third", "fourth"), row, strict=True)) for row in _ROWS),
)
"""Twelve questions in three layouts."""
