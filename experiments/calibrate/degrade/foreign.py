"""Sentences and fields that belong to nearly no answer: what is added to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Sequence

SENTENCES: Final = (
    "The harbour office closes its counter at noon on the first Monday of each month.",
    "Visitors are asked to leave umbrellas in the stand beside the cloakroom.",
    "A second ferry was ordered after the old one had run aground.",
    "The choir meets in the gymnasium while the hall is being painted.",
    "Most of the orchard was planted with pears in the spring after the flood.",
    "The museum shop sells prints of the lighthouse in three sizes.",
    "Bees kept on the roof produce some forty jars of honey a year.",
    "The bridge was repainted green, as the villagers had voted.",
    "Anyone who finds a lost glove may hang it on the fence by the pond.",
    "The bakery on the corner has switched to an electric oven.",
    "Rehearsals for the summer play begin two weeks earlier than usual.",
    "The tram depot keeps one carriage from the opening day.",
    "Swimming in the quarry lake is allowed from May to September.",
    "The clock of the town hall runs four minutes fast.",
    "Every third lamp along the canal is switched off after midnight.",
    "The library lends out garden tools as well as books.",
    "A pair of storks has nested on the old brewery's chimney.",
    "The chess club donated its trophies to the local school.",
    "Parking on the market square is free during the winter fair.",
    "The mountain hut serves soup until the last cable car leaves.",
)
"""Plausible, self-contained, and about a town that no answer is about."""

FIELDS: Final = (
    ("harbour_office", "closed at noon"),
    ("umbrella_stand", "beside the cloakroom"),
    ("ferry_of_the_day", "the old one"),
    ("choir_room", "gymnasium"),
    ("orchard", "pears"),
    ("lighthouse_print", "three sizes"),
    ("honey_jars", "forty a year"),
    ("bridge_colour", "green"),
    ("lost_gloves", "on the fence by the pond"),
    ("bakery_oven", "electric"),
    ("summer_play", "two weeks earlier"),
    ("tram_carriage", "from the opening day"),
    ("quarry_lake", "swimming allowed"),
    ("town_hall_clock", "four minutes fast"),
    ("canal_lamps", "every third one off"),
    ("garden_tools", "lent out"),
    ("stork_nest", "on the chimney"),
    ("chess_trophies", "donated"),
    ("market_square", "free parking"),
    ("mountain_hut", "soup until the last cable car"),
)
"""Key and value. Keys are snake_case, and names that XML allows."""


def drawn(choice: Sequence[str], own: Collection[str], count: int, rng: random.Random) -> list[str]:
    """So many texts that are not among `own`; each again only when all have had their turn.

    Raises:
        NotDegradableError: "nothing_foreign": the answer has them all.
    """
    free = [text for text in choice if text not in own]
    if not free:
        raise NotDegradableError("nothing_foreign", "the answer holds everything that could be added")
    texts: list[str] = []
    while len(texts) < count:
        texts += rng.sample(free, min(len(free), count - len(texts)))
    return texts
