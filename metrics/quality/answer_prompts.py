"""What a judge is asked about answers to questions on documents.

Source: the criteria of the enterprise perturbation paper, section 4.2 and appendix A.4, in words of our
own; versions as in `evenkeel.metrics.quality.summary_prompts`.
"""

from __future__ import annotations

from typing import Final

from evenkeel.metrics.judge.prompts import Prompt
from evenkeel.metrics.quality.summary_prompts import BY_CONTENT

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
