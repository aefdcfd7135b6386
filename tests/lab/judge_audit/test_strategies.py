import pytest

from evenkeel.lab.judge_audit.judgements import AttackCondition, Strategy
from evenkeel.lab.judge_audit.questions import (
    Design,
    Examples,
    RatingPlan,
    choose,
    question,
    rubrics,
)
from evenkeel.lab.judge_audit.ratings import Item, Ratings, RatingScale
from evenkeel.release.kit.arguments import InputError

KNOWN = rubrics()
FLUENCY = KNOWN["fluency"]


def item(name, *ratings, metric="fluency", text=None, context="The source.", scale=(1, 5)):
    return Item(
        name, metric, RatingScale(*scale), f"Text {name}." if text is None else text, context, ratings
    )


def user(asked):
    return asked.messages[1].content


EXAMPLES = Examples(best=item("good", 5, 5), worst=item("bad", 1, 2))


def test_each_strategy_gives_what_it_is_named_after():
    """Zero-shot no definition, the others the metric and the ends of its scale; one asks for steps."""
    asked = {each: user(question(each, FLUENCY, item("a", 3), examples=EXAMPLES)) for each in Strategy}
    defined = f"{FLUENCY.definition}\n\n5 means that {FLUENCY.highest}. 1 means that {FLUENCY.lowest}."
    assert [each for each, text in asked.items() if defined not in text] == [Strategy.ZERO_SHOT]
    assert "what you yourself understand" in asked[Strategy.ZERO_SHOT]
    assert [each for each, text in asked.items() if "step by step" in text] == [Strategy.STEP_BY_STEP]
    with pytest.raises(ValueError, match="examples"):
        question(Strategy.FEW_SHOT, FLUENCY, item("a", 3))


@pytest.mark.parametrize("strategy", Strategy)
def test_the_attack_adds_one_sentence_and_changes_nothing_else(strategy):
    """A change of the rating is thus due to that sentence, or to noise."""
    plain = user(question(strategy, FLUENCY, item("a", 3), examples=EXAMPLES))
    attacked = user(question(strategy, FLUENCY, item("a", 3), examples=EXAMPLES, claim=1))
    assert attacked.replace("A human expert gave this summary a 1 for fluency.\n\n", "") == plain
    # The judge is told by the one who asks; the guard against injected text does not apply.
    assert attacked.index("A human expert") > attacked.rindex("<<<END ")


def rated(*items):
    return Ratings(items, ("x",))


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([item("a", 1, text=" ")], 'item "a" has no text'),
        ([item("a", 1), item("b", 5)], "no item is left"),
    ],
)
def test_what_cannot_be_asked_about_is_an_error_before_the_first_call(items, said):
    """An item without a text; two items of which both are examples."""
    with pytest.raises(InputError, match=said):
        choose(rated(*items), Design(), max_items=None, seed=0)


def test_the_plan_holds_every_strategy_and_condition_once():
    """Plain, again and attacked, item by item, so that a stopped run has whole items."""
    design = Design((Strategy.ZERO_SHOT, Strategy.KNOWLEDGE), (Strategy.KNOWLEDGE,), again=True)
    calls = list(plan := RatingPlan([item("a", 2), item("b", 4)], design, KNOWN, {}))
    assert [(c.slot.item, c.slot.strategy, c.slot.condition) for c in calls][:5] == [
        ("a", Strategy.ZERO_SHOT, AttackCondition.PLAIN),
        ("a", Strategy.ZERO_SHOT, AttackCondition.AGAIN),
        ("a", Strategy.KNOWLEDGE, AttackCondition.PLAIN),
        ("a", Strategy.KNOWLEDGE, AttackCondition.AGAIN),
        ("a", Strategy.KNOWLEDGE, AttackCondition.ATTACKED),
    ]
    assert len(plan) == len(calls) == len({call.slot for call in calls}) == 10
    assert calls[0].question == calls[1].question
    assert (calls[0].vote, calls[1].vote) == (0, 1)
    assert "gave this summary a 5" in user(calls[4].question)
    # Without examples a metric is not asked few-shot; the other strategies go on.
    assert {slot.strategy for slot in RatingPlan([item("a", 2)], Design(), KNOWN, {}).slots} == {
        Strategy.ZERO_SHOT, Strategy.KNOWLEDGE, Strategy.STEP_BY_STEP,
    }  # fmt: skip
