"""English, whose sound answers are told with the catalogue's own clauses."""

from typing import Final

from evenkeel.simulate.phrases.language import Labels, Phrases, Tones, Triple, words

ENGLISH: Final = Phrases(
    tag="en",
    names=("english", "englisch", "inglés", "anglais", "engels", "inglese", "inglês", "英語"),
    quote="“{}”",
    labels=Labels(
        ticket="case",
        host="host",
        version="version",
        code="error",
        people="people affected:",
        opened="opened on",
        time="at",
        article="article",
        change="change",
        closed="closed on",
    ),
    good=None,
    different=None,
    worse=Triple(
        "Somebody seems unhappy about {topic}",
        "Roughly {devices} devices might be broken, perhaps for {minutes} minutes already",
        "nobody knows why, and no remedy exists",
    ),
    stock=(
        "The following was written down by the people who looked after the matter",
        "They describe what was seen at the beginning and what was done about it",
        "Some of the details are given here in the way in which they were reported",
        "Please read the whole text with care and keep to what it says",
        "After that the work went on as it had been agreed between the teams",
        "The last part tells how the matter came to an end for everybody",
    ),
    function_words=words(
        "the of and to in is was were that for with this from by which what are be not has have as it"
    ),
    rephrased="In other words,",
    swaps=(
        ("summarise", "sum up"),
        ("was noticed", "was spotted"),
        ("reports", "messages"),
        ("people were affected", "people were concerned"),
        ("there is more", "that is not all"),
        ("what happened", "what took place"),
        ("how it was resolved", "how it was solved"),
        ("confirmed", "acknowledged"),
        ("a short while", "a little while"),
        ("later", "afterwards"),
        ("however", "yet"),
        ("also", "as well"),
        ("because", "since"),
        ("help", "assist"),
        ("need", "require"),
        ("show", "display"),
        ("begin", "start"),
        ("big", "large"),
        ("quickly", "fast"),
        ("problem", "trouble"),
        ("answer", "reply"),
        ("about", "on the subject of"),
    ),
    tones=Tones(
        formal="I hereby submit the following.",
        casual="Hey, quick one.",
        urgent="This is urgent and cannot wait.",
        frustrated="Honestly, this keeps getting more annoying.",
        polite="Would you kindly have a look at this, please.",
    ),
)
