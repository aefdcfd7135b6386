"""What a judge is asked about the quality of answers, by task, and for qualities of an application's own.

Source: the criteria of the enterprise perturbation paper, section 4.2 and appendix A.4, in words of our
own. A version in the hundreds tells the wording of a task from the generic one under the same name:
1 generic, 101 case, 201 chat, 301 questions, the last digits counting revisions.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from evenkeel.metrics.judge.prompts import Prompt, rubric_prompt
from evenkeel.metrics.protocol import SCALE

if TYPE_CHECKING:
    from collections.abc import Mapping


BY_CONTENT: Final = """\
- Judge by content alone. The answer may be in another language than the request, or in another format \
(prose, JSON, YAML, XML, HTML, Markdown): translated, reordered or reformatted content is the same content.
- Wording, layout and spelling mistakes are of no concern."""
"""Ends every list of criteria: variants ask for other languages and formats."""

CASE_FAITHFULNESS: Final = Prompt(
    name="faithfulness",
    version=101,
    role="You check whether the summary of a support case stays true to the case.",
    question=f"""\
The request holds a support case and asks for a summary of it; the answer is that summary. Does the \
summary say only what the case supports?

- Every problem, event, cause, person, number and resolution in the summary must be stated in the case \
or follow from it by ordinary reasoning.
- A resolution that the case does not report, a cause it does not name, or events in an order it does not \
give are unsupported, as is anything read wrongly or put down to the wrong person or system.
- Leaving something out is no fault here: neither lower the rating for it nor mention it.
{BY_CONTENT}""",
    scale="""\
Scale:
3 - Nothing is invented; whatever is inferred has its grounds in the case.
2 - Small slips: something in the case is misread or put wrongly, the account as a whole stands.
1 - Large parts are invented or not in the case, or the summary is about something else.""",
)

CASE_COMPLETENESS: Final = Prompt(
    name="completeness",
    version=101,
    role="You check whether the summary of a support case holds what its reader needs.",
    question=f"""\
The request holds a support case and asks for a summary of it; the answer is that summary. Does the \
summary carry over the key content of the case?

- First list for yourself the sections of the summary; a summary without sections is one section.
- Then decide for each section which details and specifics of the case matter most for it: case, account \
and error numbers, people and how to reach them, systems and versions, dates, what was done, how it ended.
- A section is complete if it has those. Not every detail of the case has to be there.
- Invented or wrong statements are of no concern here.
{BY_CONTENT}""",
    scale="""\
Scale:
3 - Every section has the specifics that matter most for it, and most key details of the case are there.
2 - There are relevant details, but some section lacks what matters most for it.
1 - Hardly any of the relevant details and specifics are there.""",
)

CHAT_FAITHFULNESS: Final = Prompt(
    name="faithfulness",
    version=201,
    role="You check whether the summary of a chat stays true to what was said in it.",
    question=f"""\
The request holds the transcript of a chat and asks for a summary of it; the answer is that summary. Does \
the summary say only what the transcript supports?

- Everything in the summary must be said in the chat or be a reasonable reading of it. That goes for moods \
and intentions as well: they may be inferred, if there are grounds for it in what was said.
- Check who said or did what: words or promises put into the wrong mouth are misrepresentations.
- A suggestion is not an action, and an announcement is not a result.
- Leaving something out is no fault here: neither lower the rating for it nor mention it.
{BY_CONTENT}""",
    scale="""\
Scale:
3 - Nothing is invented; every reading of the chat has its grounds in it.
2 - Small slips: something that was said is misread or misrepresented.
1 - Substantial inventions or statements that the chat does not hold, or a summary of something else.""",
)

CHAT_COMPLETENESS: Final = Prompt(
    name="completeness",
    version=201,
    role="You check whether the summary of a chat holds what its reader needs.",
    question=f"""\
The request holds the transcript of a chat and asks for a summary of it; the answer is that summary. Does \
the summary carry over the key content of the chat?

- First list for yourself the sections of the summary; a summary without sections is one section.
- Then decide for each section what in the chat matters most for it: what the person wanted, who took \
part, what was asked for and given (numbers, names, dates, error messages), what was tried, what was \
agreed, what is open, and the person's mood if a section is about it.
- A section is complete if it has those. Greetings, waiting and single turns need not be there.
- Invented or wrong statements are of no concern here.
{BY_CONTENT}""",
    scale="""\
Scale:
3 - Every section has the specifics that matter most for it, and most key points of the chat are there.
2 - There are relevant points, but some section lacks what matters most for it.
1 - Hardly any of the relevant points and specifics are there.""",
)


ANSWER_FAITHFULNESS: Final = Prompt(
    name="faithfulness",
    version=301,
    role="You check whether an answer stays true to the documents it was to be drawn from.",
    question=f"""\
The request holds documents and a question; the answer was to rest on these documents. Does it say only \
what they support?

- A statement is supported if a document says it or if it follows from the documents by ordinary \
reasoning. What is merely true, or common knowledge, is not supported.
- Saying that the documents do not answer the question is faithful if that is so, and a wrong statement \
if they do answer it.
- What is left out, and how sources are cited, is of no concern here.
{BY_CONTENT}""",
    scale="""\
Scale:
3 - Every statement is supported by the documents.
2 - Small slips: a detail is misread or goes a little beyond the documents, the substance stands.
1 - Invented or contradicted statements, a wrong conclusion, or knowledge from elsewhere as the main part.""",
)

ANSWER_COMPLETENESS: Final = Prompt(
    name="completeness",
    version=301,
    role="You check whether an answer holds everything in the documents that the question needs.",
    question=f"""\
The request holds documents and a question; the answer was to rest on these documents. Does it contain \
what they offer on the question?

- First find the facts, conditions, exceptions, figures and steps in the documents that bear on the \
question, every part of it if it has several.
- Then check which of them the answer has. Documents or passages that do not bear on it need not be there.
- If the documents do not answer the question, saying so is complete.
- Wrong or unsupported statements are of no concern here.
{BY_CONTENT}""",
    scale="""\
Scale:
3 - All or nearly all that the documents offer on the question is there.
2 - The question is answered in part: something important that the documents offer is missing.
1 - Little or nothing of what the documents offer on the question is there.""",
)

RELEVANCE: Final = Prompt(
    name="relevance",
    version=1,
    role="You check whether an answer keeps to the question it was asked.",
    question=f"""\
The request holds a question, maybe with documents. Sort the sentences of the answer, every single one:

- direct: it answers the question or a part of it;
- related: it does not answer it but is about the same matter, such as background or a reason;
- unrelated: it has nothing to do with what was asked, or repeats what was already said.

Example: asked when the library opens, "It opens at nine" is direct, "The hours were extended last year" \
is related, and "Reading is good for the mind" is unrelated.

- Whether a sentence is true, complete or supported is of no concern here.
- Citations and lists of sources are not sorted. Saying that the documents have no answer is direct.
{BY_CONTENT}""",
    scale="""\
Scale:
3 - No sentence is unrelated, and at least half of the answer is direct.
2 - No sentence is unrelated, but more than half of the answer is only related.
1 - There is something unrelated in the answer.""",
)

CITATIONS: Final = Prompt(
    name="citations",
    version=1,
    role="You check whether the statements of an answer are attributed to the right documents.",
    question=f"""\
The request holds documents with labels and a question. Go through the answer sentence by sentence:

- A sentence that states a fact from the documents needs a citation, at its end or within it, and the \
cited document must support what the sentence states.
- A sentence that states no such fact (a greeting, a question, a remark that there is no answer) needs none.
- A sentence is in order if it needs no citation, or if it has one that supports it. It is out of order \
if a citation is missing, names a document that is not there, or names one that does not say so.
- Where the request asks for a list of sources instead of citations in the text, a sentence is in order \
if a document in the list supports it.
- How citations are spelled does not matter if it is clear which document is meant.
{BY_CONTENT}""",
    scale="""\
Scale:
3 - All sentences are in order.
2 - Not all, but at least half of the sentences are in order.
1 - Fewer than half of the sentences are in order.""",
)

CONCISENESS: Final = Prompt(
    name="conciseness",
    version=1,
    role="You check whether an answer is as brief as its question allows.",
    question=f"""\
The request holds a question, maybe with documents. Grade the answer in four respects, most important \
first, each as good (nothing to object to), fair (small issues that hardly matter) or poor (issues that \
make the answer clearly less concise):

1. Repetition and filler: is anything said twice, or said only to be polite or sympathetic?
2. Length: is it fit for the question? A general question, maybe a single keyword, calls for an overview; \
a specific one may have a longer answer, but not a long one.
3. Level of detail: are specific questions answered with specifics, and general ones without details \
nobody asked for?
4. Substance of lists: where a question is vague, do the items give the information itself instead of \
telling what a document is about? For specific questions this is good.

- Necessary details and the citations that the request asks for are no lack of concision.
- Whether the answer is true or complete is of no concern here.
{BY_CONTENT}
- Languages and formats differ in length: judge what is said, not how many characters it takes.""",
    scale="""\
Scale:
3 - All four are good, or all but one, which is fair.
2 - Anything in between: at most one is poor.
1 - Two or more are poor.""",
)


RESERVED: Final = frozenset(
    ("similarity", "probe", "faithfulness", "completeness", RELEVANCE.name, CITATIONS.name, CONCISENESS.name)
)
"""Names that mean something already."""
_RESERVED_ENDING: Final = "_proxy"
_LONGEST_NAME: Final = 40
_FIRST_VERSION: Final = 1_000_000


def custom_prompt(name: str, description: str, scale: Mapping[int, str]) -> Prompt:
    """What a judge is asked about a quality that is described in words.

    The version follows from the words, in the millions: two wordings under one name are never taken for
    the same metric.

    Args:
        name: Snake case, up to 40 characters, e.g. "politeness".
        description: What to look at, in whole sentences.
        scale: What 3 (best), 2 and 1 mean; exactly these, as all ratings add up to one score.

    Raises: ValueError naming the quality and what is wrong with it.
    """
    if name in RESERVED:
        raise ValueError(f"the quality {name!r} is built in; choose another name")
    if name.endswith(_RESERVED_ENDING):
        raise ValueError(
            f"the quality {name!r} is judged, and names in _proxy are for stand-ins without a judge"
        )
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"the quality {name!r} has a name of more than {_LONGEST_NAME} characters")
    if tuple(sorted(scale)) != SCALE:
        given = ", ".join(str(step) for step in sorted(scale)) or "nothing"
        raise ValueError(f"the quality {name!r} must say what 3, 2 and 1 mean; it says {given}")
    texts = [name, " ".join(description.split()), *(" ".join(scale[step].split()) for step in SCALE)]
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).digest()
    version = _FIRST_VERSION + int.from_bytes(digest[:4], "big") // 4
    return rubric_prompt(name, description, scale, version=version)
