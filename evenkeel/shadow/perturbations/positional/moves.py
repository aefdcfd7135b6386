"""Parts of a prompt in another order: its context, its output instructions, or parts of one sort."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.core.rewordings import Category, Rewording
from evenkeel.shadow.perturbations.positional.layout import by_rule, laid_out, slots_of
from evenkeel.shadow.perturbations.positional.listing import listed, numbered
from evenkeel.shadow.perturbations.protocol import Draft, NotApplicable, PerturbationBase

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evenkeel.shadow.perturbations.positional.layout import Layout, Part
    from evenkeel.shadow.perturbations.positional.listing import NumberedSlot
    from evenkeel.shadow.perturbations.protocol import Outcome
    from evenkeel.shadow.prompt import PromptView

CATEGORY: Final = Category(
    "positional",
    "Template perturbations: the same parts in another order.",
    order=20,
    on_template=True,
)
_FEWEST: Final = 2


class Positional(PerturbationBase):
    """Base of what moves parts of a prompt.

    By rule only what is plainly free moves. By the rewriter the units of each template and what binds them
    are listed first, so that everything moves that nothing binds; where its list cannot be true, the rule
    counts.
    """

    name: str
    rewording: Rewording

    def __init__(self, by: Literal["rule", "rewriter"] = "rule") -> None:
        """Set who says which parts may move."""
        self.by: Final = by
        self.version = 14 if by == "rule" else 15

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """A variant with parts in another order, as `Perturbation.apply`; severity means nothing to it.

        Not applicable: "no_context", "no_output_instructions", "nothing_to_reorder" where there is nothing of
        the kind; "bound" where nothing of it may move; "too_few_changes" of `MixedMoves`.
        """
        del severity
        by_rule_layouts = by_rule(view)
        lines: list[NumberedSlot] = []
        for slot, segments in slots_of(view) if self.by == "rewriter" else ():
            numbered_slot = numbered(slot, segments)
            if numbered_slot is not None:
                lines.append(numbered_slot)
        if not lines:
            return self.moved(view, by_rule_layouts, rng)

        def finish(replies: Sequence[str]) -> Outcome:
            layouts = {}
            for line, reply in zip(lines, replies, strict=True):
                layouts[line.slot] = listed(line, reply)
            return self.moved(view, [layouts.get(layout.slot) or layout for layout in by_rule_layouts], rng)

        return Draft(tuple(line.task for line in lines), finish)

    def moved(
        self, view: PromptView, layouts: Sequence[Layout], rng: random.Random
    ) -> PromptView | NotApplicable:
        """Return the variant for layouts that are known."""
        for layout in rng.sample(layouts, len(layouts)):
            orders = self.orders(layout, range(len(layout.groups)), rng)
            for order in rng.sample(orders, len(orders)):
                changed = laid_out(view, layout, order)
                if changed.text != view.text:
                    return changed
        return self.absent(layouts)

    def orders(self, layout: Layout, now: Sequence[int], rng: random.Random) -> list[list[int]]:
        """Return the sound orders that one move makes of the present order of a layout's groups."""
        raise NotImplementedError

    def absent(self, layouts: Sequence[Layout]) -> NotApplicable:
        """Return why there is no variant."""
        raise NotImplementedError


class _MovedPart(Positional):
    """Moves one part of a message to another place of it."""

    part: Part
    missing: NotApplicable
    """Outcome for a prompt without such a part."""

    def orders(self, layout: Layout, now: Sequence[int], rng: random.Random) -> list[list[int]]:
        """Implement `Positional`."""
        del rng
        return _elsewhere(layout, now, self.part)

    def absent(self, layouts: Sequence[Layout]) -> NotApplicable:
        """Implement `Positional`."""
        for layout in layouts:
            if any(unit.part == self.part for unit in layout.units):
                return _BOUND
        return self.missing


class Context(_MovedPart):
    """Moves what the task is about, such as documents or a case, to another place of its message."""

    name = "positional.context"
    rewording = Rewording(CATEGORY, phrase="moved context", order=10)
    part = "context"
    missing = NotApplicable("no_context")


class OutputInstructions(_MovedPart):
    """Moves the output instructions to another place of their message."""

    name = "positional.output_instructions"
    rewording = Rewording(CATEGORY, phrase="moved output instructions", order=20)
    part = "output"
    missing = NotApplicable("no_output_instructions")


class Reordering(Positional):
    """Puts documents and demonstrations into another order.

    Steps, transcripts, logs and whatever else says something by its order stay.
    """

    name = "positional.reordering"
    rewording = Rewording(CATEGORY, phrase="reordering", order=30)

    def orders(self, layout: Layout, now: Sequence[int], rng: random.Random) -> list[list[int]]:
        """Implement `Positional`."""
        order: list[int] = []
        position = 0
        while position < len(now):
            end = position + 1
            while end < len(now) and layout.are_alike(now[position], now[end]):
                end += 1
            order += _another_order(now[position:end], rng)
            position = end
        return [order] if order != list(now) and layout.holds(order) else []

    def absent(self, layouts: Sequence[Layout]) -> NotApplicable:
        """Implement `Positional`."""
        del layouts
        return NotApplicable("nothing_to_reorder")


class MixedMoves(Positional):
    """Does at least two of the other positional changes, one after the other.

    Two may come to the same as one of them alone.
    """

    name = "positional.mixed"
    rewording = Rewording(CATEGORY, phrase="several moved parts", order=40)
    parts: Final[tuple[Positional, ...]] = (Context(), OutputInstructions(), Reordering())

    def moved(
        self, view: PromptView, layouts: Sequence[Layout], rng: random.Random
    ) -> PromptView | NotApplicable:
        """Implement `Positional`: each change that applies to what the ones before it have made."""
        changed, done = view, set[str]()
        for layout in rng.sample(layouts, len(layouts)):
            now = list(range(len(layout.groups)))
            for kind in rng.sample(self.parts, len(self.parts)):
                orders = kind.orders(layout, now, rng)
                if orders:
                    now = rng.choice(orders)
                    done.add(kind.name)
            changed = laid_out(changed, layout, now)
        if len(done) < _FEWEST or changed.text == view.text:
            return NotApplicable("too_few_changes")
        return changed


_BOUND: Final = NotApplicable("bound")


def _elsewhere(layout: Layout, now: Sequence[int], part: Part) -> list[list[int]]:
    """Return the sound orders in which the groups of a part, which stand together, stand at another place."""
    runs: list[list[int]] = []
    for is_part, run in groupby(now, lambda group: layout.parts[group] == part):
        if is_part:
            runs.append(list(run))
    if len(runs) != 1:
        # Of documents at two places one may be the end of the other.
        return []
    orders: list[list[int]] = []
    others = [group for group in now if group not in runs[0]]
    for position in range(len(others) + 1):
        order = [*others[:position], *runs[0], *others[position:]]
        if order != list(now) and layout.holds(order):
            orders.append(order)
    return orders


def _another_order(run: Sequence[int], rng: random.Random) -> list[int]:
    order = rng.sample(run, len(run))
    return order if order != list(run) else [*order[1:], *order[:1]]


POSITIONAL: Final[tuple[Positional, ...]] = (Context(), OutputInstructions(), Reordering(), MixedMoves())
"""Every positional perturbation, by rule."""
LISTED: Final[tuple[Positional, ...]] = tuple(type(kind)("rewriter") for kind in POSITIONAL)
"""The same with a model that lists the parts of each template."""
