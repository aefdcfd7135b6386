"""Chat transcripts to be summarised."""

from __future__ import annotations

from typing import Final

from benchmarks.prompts.layout import ApplicationPrompt, Layout, in_turn

LAYOUTS: Final = (
    Layout(
        system="You summarise chats between customers and agents for the next agent.",
        user="""\
Summarise this conversation in at most four sentences. Say what the customer wants, what was agreed and
what is still open.

Transcript:
{transcript}
""",
    ),
    Layout(
        user="""\
{transcript}

---
The text above is a chat transcript. Write a summary with these parts:
1. Topic
2. Solution, or "none"
3. Mood of the customer at the end
""",
    ),
    Layout(
        system="""\
Task: summarise the chat inside the tags.

Output: a YAML document with the keys topic, outcome and follow_up.

topic: <a few words>
outcome: <one sentence>
follow_up: <who does what, or none>""",
        user="<chat>\n{transcript}\n</chat>",
    ),
)

_TRANSCRIPTS: Final = (
    """\
Customer: Hi, my parcel says delivered but there is nothing here.
Agent: I am sorry about that. May I have the number?
Customer: 3402-7781
Agent: It was left with a neighbour, the note says "green door".
Customer: There is no green door in my street!
Agent: Then I will open a search with the carrier. It takes up to 5 days.
Customer: fine, but please send me a confirmation""",
    """\
[10:02] Lena: the heating in room 214 does not stop
[10:03] Desk: Is the wheel on the left side at zero?
[10:05] Lena: yes, and the window is open and it is still 27 degrees
[10:06] Desk: Then the valve is stuck. Somebody comes this afternoon.
[10:20] Lena: he was here, it is quiet now. thanks!""",
    """\
**Visitor:** Do you ship to Iceland?
**Agent Tom:** Yes, we do. It costs 14 euros and takes about a week.
**Visitor:** And customs?
**Agent Tom:** You pay those when it arrives. We cannot say how much.
**Visitor:** Hm, then I'll think about it.""",
    """\
user: I forgot my password and the reset link says expired
bot: Links are valid for 30 minutes. Shall I send a new one?
user: I already asked for three
bot: Only the newest link works. Please delete the older mails.
user: ok that worked, that was not obvious at all""",
    """\
Caller: I booked a table for six on Saturday, but we will be eight.
Host: Let me see. At seven we only have the long table on the terrace.
Caller: Is it covered? They say it may rain.
Host: It is, and there are heaters.
Caller: Then let us do that. The name is Okafor.
Host: Changed: eight people, Saturday, 7 pm, terrace.""",
    """\
A: My bill is 60 higher than last month.
B: I see a roaming charge on 18 and 19 August.
A: I was at home those days.
B: You live near the border; the phone may have used a mast on the other side.
A: So I pay for living here?
B: I can take it off once. Please switch roaming off for the future.
A: Okay. Where do I do that?
B: Settings, Mobile network, Roaming.""",
    """\
Patient: The new tablets make me dizzy in the morning.
Nurse: How many do you take, and when?
Patient: One at night, one when I get up.
Nurse: The plan says both at night. I will ask the doctor and call you back before noon.
Patient: Should I leave out the one tomorrow?
Nurse: Please wait for my call first.""",
    """\
Agent: Thank you for waiting. I have looked at both contracts.
Customer: And? Can I move to the smaller one?
Agent: Yes, from 1 October. Until then the old price holds.
Customer: My neighbour could change at once.
Agent: That was an offer in spring; it has ended.
Customer: Then please note that I complained.
Agent: Noted. You get a written answer within ten days.""",
    """\
mika: deploy is red again
jo: same test as yesterday?
mika: no, it is test_export_totals now, expected 118 got 117
jo: that one counts holidays. today is one in some places
mika: so it fails once a year? lovely
jo: I'll pin the date in the test, give me an hour
mika: thx, I hold the release until then""",
    """\
Customer: Your courier has broken my gate.
Agent: I am very sorry. Do you have pictures?
Customer: Three, and one of the van: plate KV 88 201.
Agent: Please send them to claims@example.com and name the case 55-1203.
Customer: Who pays for the repair?
Agent: Our insurer, once the pictures are checked. They write to you in about two weeks.""",
    """\
Guest: can i bring my dog to the flat?
Owner: What size is he?
Guest: small, 6 kilos, sleeps all day
Owner: Then yes, but not on the beds please.
Guest: deal! where do we get the key
Owner: From the box beside the door. I send the code on the day before.""",
    """\
Tutor: Where did you get stuck?
Student: In the third step, when the minus goes in front of the bracket.
Tutor: What happens to the signs inside?
Student: They turn round... oh. Both of them?
Tutor: Both.
Student: Then x is 4 and not -2.
Tutor: Right. Try the next two the same way and send me a photo tonight.""",
)

CHAT_SUMMARIES: Final[tuple[ApplicationPrompt, ...]] = in_turn(
    "chat_summary", LAYOUTS, ({"transcript": transcript} for transcript in _TRANSCRIPTS)
)
"""Twelve transcripts in three layouts."""
