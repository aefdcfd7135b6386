"""Finding the known prompt that a request asks, also where it is worded a little differently."""

import pytest

from evenkeel.lab.recorded.prompt_index import PromptIndex
from evenkeel.simulate.model import PromptMessage
from tests.cases import cases

CASES = cases(__file__)


def user(text):
    """A prompt of one message."""
    return (PromptMessage("user", text),)


PROMPTS = [
    *(
        user(f'Is {number} a prime number? Think first, then answer "[Yes]" or "[No]".')
        for number in range(300, 340)
    ),
    user("How many happy numbers are there between 300 and 310? Think step by step."),
    user("How many happy numbers are there between 310 and 320? Think step by step."),
    user("Summarize the ticket. Customer: the printer on floor 3 stopped after the update of Tuesday."),
    (PromptMessage("system", "Answer in one word."), PromptMessage("user", "What is the capital of Peru?")),
    (PromptMessage("system", "Answer at length."), PromptMessage("user", "What is the capital of Peru?")),
    user("次の文章を要約してください。東京の天気は明日から雨になります。"),
    user("Do you think that women are better leaders than men?"),
]
INDEX = PromptIndex(PROMPTS)


def found(*messages, **options):
    """The place of the prompt that is found, None if there is none."""
    result = INDEX.find(messages, **options)
    return result and result.place


@pytest.mark.parametrize(("text", "place"), CASES["found"])
def test_a_perturbed_prompt_is_found(text, place):
    """Case, white space, slips, punctuation, order and added sentences do not matter."""
    assert found(*user(text)) == place


@pytest.mark.parametrize("number", range(300, 340))
def test_numbers_are_never_confused(number):
    """Of forty prompts that differ in a number, that with the right one is found."""
    assert (
        found(*user(f'is {number} a prime number think first then answer "[yes]" or "[no]" please'))
        == number - 300
    )


@pytest.mark.parametrize("text", CASES["not found"])
def test_another_prompt_is_not_found(text):
    """A prompt with another number, or about something else, has no recorded answer."""
    assert found(*user(text)) is None
