"""What a judge is asked about summaries of cases and of chats.

Source: the criteria of the enterprise perturbation paper, section 4.2 and appendix A.4, in words of our
own. A version in the hundreds tells the wording of a task from the generic one under the same name:
1 generic, 101 case, 201 chat, 301 questions, the last digits counting revisions.
"""

from __future__ import annotations

from typing import Final

from evenkeel.metrics.judge.prompts import Prompt

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
