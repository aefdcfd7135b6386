"""Support cases to be summarised."""

from __future__ import annotations

from typing import Final

from benchmarks.prompts.layout import ApplicationPrompt, Layout, in_turn

LAYOUTS: Final = (
    Layout(
        system="You help the support team of a software company. You never invent facts.",
        user="""\
Summarise the support case below.

## Case
Subject: {subject}
Description: {description}

## Comments
{comments}

## Output
Write three headings: Problem, What was tried, Next step. One or two sentences under each.
""",
    ),
    Layout(
        user="""\
### Instructions
Read the case and summarise it for an engineer who takes it over. Keep names, numbers and error messages.

### Case
<case>
<subject>{subject}</subject>
<description>{description}</description>
<comments>
{comments}
</comments>
</case>

### Output format
Return JSON only:
{
  "summary": "<two sentences>",
  "sentiment": "positive | neutral | negative",
  "open_questions": ["<question>"]
}
""",
    ),
    Layout(
        system="""\
You summarise customer cases.

Rules:
- Use plain language.
- At most 80 words.
- Do not mention the name of the agent.""",
        user="""\
Title: {subject}

{description}

History of the case:
{comments}
""",
    ),
)

_CASES: Final = (
    (
        "Invoices arrive twice",
        (
            "Since the update on 4 March each invoice reaches our bookkeeper two times, a minute apart. Both "
            "copies carry the same number, for example RE-20417."
        ),
        (
            "1. Customer: switching off the mail rule did not help.\n"
            "2. Agent: both mails have the same message id, so they are sent once and delivered twice.\n"
            "3. Customer: our mail provider says their side is fine."
        ),
    ),
    (
        "Scanner not found after moving desks",
        (
            "The scanner worked until Friday. Then two colleagues changed places, and now the program says "
            '"no device" at both desks. The cable was swapped once already.'
        ),
        (
            "- Customer tried another USB port\n- Agent asked for the driver version (it is 7.2.1)\n"
            "- Customer will call again at 3 pm"
        ),
    ),
    (
        "Cannot cancel the trial",
        (
            "I want to cancel before the trial ends on 12 May, but the button stays grey. I have "
            "tried Firefox "
            "and Safari; in both the page reloads and nothing else happens."
        ),
        (
            "Agent: the account has an unpaid add-on (code ADD-77), which blocks the button.\n"
            "Customer: I never ordered an add-on!\nAgent: refunded 9.90 EUR and asked the billing team."
        ),
    ),
    (
        "Report shows yesterday's figures",
        (
            "Every morning our sales report still shows the figures of the day before. After a "
            "manual refresh "
            "they are right. This began when the office in Porto joined."
        ),
        (
            "[09:14] Support: which time zone is set for the report?\n"
            "[09:20] Customer: Lisbon, and the server runs on UTC\n"
            "[09:31] Support: the job runs at 00:10 UTC, so the day is not over everywhere"
        ),
    ),
    (
        "App closes when a photo is added",
        (
            "On my phone the app closes as soon as I attach a photo to a claim. Photos below 2 MB "
            "go through. "
            "The phone is a Pixel 6, the app is version 5.18."
        ),
        (
            "> Please send us the log from Settings, Help, Export.\nAttached: log_2291.txt\n"
            "> The log shows that the memory runs out while the photo is scaled."
        ),
    ),
    (
        "Wrong name on the badge",
        (
            "Our new colleague's badge says Marten instead of Maarten. The name is right in the "
            "staff list. A "
            "second badge, printed on Tuesday, had the same fault."
        ),
        (
            "Agent 1: printer template checked, nothing unusual.\n"
            "Agent 2: the badge system copies names at night and drops double vowels; known fault."
        ),
    ),
    (
        "Payment declined although the card is valid",
        (
            "A customer of ours paid with a card that works elsewhere. Our shop shows code 05 and asks for "
            "another card. Four orders were lost this week because of it."
        ),
        (
            "- 10 June: the bank says the address check failed\n"
            "- 11 June: the customer lives in a new street that the check does not know\n"
            "- 12 June: asked whether the check can be switched off for single orders"
        ),
    ),
    (
        "Dark mode hides the save button",
        (
            "In dark mode the save button of the contract form cannot be seen. It is there: "
            "pressing the space "
            "where it should be does save. Everyone in the team sees it."
        ),
        (
            "Support: confirmed in version 3.4.0 and later.\nSupport: a fix is planned; no date yet.\n"
            "Customer: please tell us which setting brings the old colours back."
        ),
    ),
    (
        "Reminder e-mails go to people who left",
        (
            "Former employees still get reminders about open tasks. One of them complained to our data "
            "protection officer, so this is urgent for us."
        ),
        (
            "1) The accounts are locked but not deleted.\n"
            "2) Reminders only look at the task, not at the lock.\n"
            "3) As a workaround 31 tasks were assigned to somebody else."
        ),
    ),
    (
        "Slow search in the archive",
        (
            "Searching the archive takes 40 seconds, last year it took 2. There are about 1,200,000 "
            "documents "
            "now. The status page says that all systems are fine."
        ),
        (
            "Customer: it is fast before eight in the morning.\nAgent: an index is rebuilt each hour.\n"
            "Agent: moved the rebuild to the night; please watch it until Thursday."
        ),
    ),
    (
        "Two-factor code never comes",
        (
            "After a change of phone number I get no code. The old number still stands in my profile and I "
            "cannot edit it, because saving asks for the code."
        ),
        (
            "Support: we may change the number after a check of your identity.\n"
            "Customer: sent a form on Monday, heard nothing.\n"
            "Support: the form lay in the wrong queue, sorry."
        ),
    ),
    (
        "Discount not applied",
        (
            "The code SPRING20 should take 20 % off, but the basket shows the full price. It is my "
            "first order. "
            "The shop says nothing about a minimum."
        ),
        (
            "- the code is valid until 31 May\n- it applies to goods that are not reduced already\n"
            "- two of three articles in the basket are reduced"
        ),
    ),
    (
        "Calendar shows meetings an hour late",
        (
            "All meetings with our partner in Phoenix stand an hour too late in our calendar. Their "
            "clocks did "
            "not change in spring, ours did."
        ),
        (
            "Agent: invitations name the zone as a fixed offset.\n"
            "Customer: who has to change that, we or they?\n"
            "Agent: they do; we sent both sides a short description."
        ),
    ),
)

CASE_SUMMARIES: Final[tuple[ApplicationPrompt, ...]] = in_turn(
    "case_summary",
    LAYOUTS,
    (
        {"subject": subject, "description": description, "comments": comments}
        for subject, description, comments in _CASES
    ),
)
"""Thirteen support cases in three layouts."""
