"""An encoder whose vectors anybody can work out: texts are sums of the directions of their words."""

from evenkeel.core.pair import Answer, Pair

AXES = {"north": (0.0, 1.0), "east": (1.0, 0.0), "south": (0.0, -1.0)}


def direction(text):
    return [sum(AXES.get(word, (0.0, 0.0))[axis] for word in text.split()) for axis in range(2)]


def pair(reference, candidate):
    return Pair(Answer(reference), Answer(candidate), "")


def reason(outcome):
    return outcome.reason


def by_mark(text):
    """Tells two languages by one word each."""
    return "en" if "north" in text else "de" if "nord" in text else None


class Compass:
    """A local encoder that remembers its batches and trips over "broken"."""

    def __init__(self):
        self.batches = []

    def encode(self, texts):
        self.batches.append(list(texts))
        if "broken" in texts:
            raise ValueError("cannot encode")
        return [direction(text) for text in texts]
