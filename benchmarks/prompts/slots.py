"""Messages from which the fields of a schema are filled."""

from __future__ import annotations

from typing import Final

from benchmarks.prompts.layout import ApplicationPrompt, Layout, in_turn

LAYOUTS: Final = (
    Layout(
        system="You fill in a form from what a customer writes. Unknown fields are null.",
        user="""\
Fill in this JSON schema from the message. Return the JSON object and nothing else.

{
  "type": "object",
  "properties": {
    "intent": {"type": "string", "enum": ["book", "change", "cancel", "ask"]},
    "date": {"type": "string", "description": "YYYY-MM-DD"},
    "people": {"type": "integer"},
    "name": {"type": "string"},
    "notes": {"type": "string"}
  },
  "required": ["intent"]
}

Message:
{message}
""",
    ),
    Layout(
        user="""\
Extract the fields from the text between the lines.

Fields:
- intent: book, change, cancel or ask
- date: as the customer wrote it
- people: a number
- name: who writes
- notes: anything else that matters, in one sentence

Example:
Text: Two of us would like to come on Sunday. Ines
Output: {"intent": "book", "date": "Sunday", "people": 2, "name": "Ines", "notes": null}

----
{message}
----

Output:""",
    ),
    Layout(
        system="""\
Read the message and answer with XML:

<form>
  <intent>book|change|cancel|ask</intent>
  <date>text or empty</date>
  <people>number or empty</people>
  <name>text or empty</name>
  <notes>text or empty</notes>
</form>

Leave out nothing. Write no explanation.""",
        user="{message}",
    ),
)

_MESSAGES: Final = (
    (
        "Hello, we would like a table for five on 14 June at half past seven. One of us cannot eat "
        "nuts. Best, "
        "Ruth Vale"
    ),
    "I have to move my appointment from Tuesday to Thursday, same time if possible. My name is Paulo Reis.",
    "please cancel the room for the 3rd of May, booking AZ-4410, our flight was dropped. Hanna",
    "Is the boat trip also suitable for a pram? We would be two grown-ups and a baby, some day next week.",
    (
        "Good morning! Could you add one more person to our tour on 2 September? That makes nine. Sincerely, "
        "Dr. Noor Haddad"
    ),
    (
        "We want to book the seminar room for 11 people on Friday, with a beamer and coffee. "
        "Invoice to Birk & "
        "Sons, please."
    ),
    "Sorry, I can't come tomorrow, the car broke down. Can I have a new date in about two weeks? Yusuf",
    "Do you open on Easter Monday? And do I need a ticket before, or can I buy it at the door?",
    "This is Carla Mendes. I booked for 6, we are only 4 now, everything else stays: 21 July, lunch.",
    "Cancel it, the third time that nobody picks up the phone. Name: Olsen, 8 August, party of twelve.",
    "Hi, one ticket for the evening course starting on October 5, I am a student (ID 90117). Thanks, Mei",
    (
        "My mother turns eighty on the 30th and we are looking for a quiet corner for 16 people. Is there a "
        "piano? Regards, Tomasz Lis"
    ),
)

SLOT_FILLING: Final[tuple[ApplicationPrompt, ...]] = in_turn(
    "slot_filling", LAYOUTS, ({"message": message} for message in _MESSAGES)
)
"""Twelve messages in three layouts, one of them with a JSON schema of typed fields."""
