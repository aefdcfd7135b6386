"""Messages of every channel in each scenario, as files to be read: `python -m tests.monitor.notify.messages`.

A scenario is a verdict log in the making; its fold, the notifier and the channels are the real ones, and the
services behind them refuse what does not follow their schemas.
"""

import sys
from functools import partial
from pathlib import Path

from evenkeel.core.incidents import Decision
from evenkeel.core.verdict import BASELINE, QualityScore, Verdict
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.monitor.incidents import IncidentBoard, worst_trials
from evenkeel.monitor.measuring import HoldUp
from evenkeel.monitor.notify import Channel, Contact, Notifier, Writer
from evenkeel.monitor.notify.services import PagerDuty, Slack, Teams, Webhook
from evenkeel.shadow.perturbations import catalogue  # noqa: F401 - publishes what rewordings are called
from evenkeel.stores.verdict_log import LoggedVerdict, Stretch, logged
from tests.kit.records import altered
from tests.monitor.notify.scene import Store
from tests.monitor.notify.services import KEY, SECRET, TOKEN, Services
from tests.monitor.planted_sightings import answered
from tests.monitor.planted_verdicts import VERDICT
from tests.monitor.stored_state import restarted

FOLDER = Path(__file__).with_name("messages")
SETTINGS = MonitorSettings(threshold=0.1, mean_trials_between_false_alarms=500, min_trials=10)
KINDS = ("general.spelling", "general.casing", "general.tone", "format.yaml")
NOON = 1_795_435_200.0
"""23 November 2026, 12:00 UTC."""
GROUPS = ("together.4_general", "together.3_positional")
STEP_S = 2.0
WORSE = (QualityScore("faithfulness", 1, 3, 1),)
JUDGE_FAILS = HoldUp(
    "judge",
    "The judge gpt-judge fails again and again: 12 of 12 calls timed out",
    "Check judge.base_url.",
    NOON,
)
CONTACTS = {
    "support": Contact("@support-ml", "https://wiki.example/support", "helm rollback support"),
    "billing": Contact("@billing", "", "https://deploy.example/billing/rollback"),
}


class Play:
    """A deployment with four channels, and its traffic."""

    def __init__(self):
        self.services = Services()
        self.store = Store()
        self.store.incidents = lambda: [incident.to_bytes() for incident in self.state.incidents()]
        self.state = MonitorState(SETTINGS)
        self.verdicts = []
        self.causes = []
        self.place = 0
        self.at = NOON
        self.notifier = self._started()

    def _started(self):
        client = self.services.client
        sinks = (
            Slack(TOKEN, "#llm", client, "https://slack.example/api"),
            Teams("https://teams.example/workflow", client),
            PagerDuty(KEY, client, "https://pagerduty.example/v2/enqueue"),
            Webhook("https://webhook.example/evenkeel", SECRET, client, lambda: self.at),
        )
        writer = Writer(CONTACTS, "https://keel.example", self.state.reports, partial(worst_trials, self))
        said = []
        channels = [
            Channel(sink, self.store, writer, said.append, lambda: self.at, lambda: self.causes)
            for sink in sinks
        ]
        return Notifier(IncidentBoard(self.store), said.append, channels)

    def restart(self):
        """Stop the monitor and start it again from its checkpoint."""
        self.state = restarted(self.state, SETTINGS)
        self.notifier = self._started()

    def read_before(self, offset, limit, narrow):
        """Read it as a verdict log."""
        found = [
            entry for entry in self.verdicts[::-1] if entry.offset < offset and narrow.admits(entry.verdict)
        ]
        return Stretch(found[:limit], 0, len(found))

    def add(self, entry):
        """Add an entry to the log, which takes two seconds; the notifier looks every time."""
        self.place += 1
        self.at += STEP_S
        if isinstance(entry, Verdict):
            entry = altered(entry, id=f"v{self.place}", scored_at=self.at)
        one = logged(self.place, entry)
        if isinstance(one, LoggedVerdict):
            self.verdicts.append(one)
        self.store.add(*self.state.apply(one).events)
        self.notifier.deliver()

    def wait(self, seconds):
        """Time in which nothing happens."""
        for _ in range(round(seconds)):
            self.at += 1
            self.notifier.deliver()

    def answers(
        self,
        count,
        model,
        broken=(),
        routes=("support",),
        *,
        kinds=KINDS,
        rating=1,
        noise=0,
        worse=(),
        **said,
    ):
        """Add so many exchanges of each route; `noise` in ten shift under the resend as well."""
        for number in range(count):
            noisy = 7 * number % 10 < noise
            for route in routes:
                own = {"model": model, "route": route, "exchange_id": f"{route}-{self.place}", **said}
                resend = 2 if noisy else 3
                self.add(altered(VERDICT, perturbation=BASELINE, rating=resend, control_rating=None, **own))
                trial = altered(VERDICT, control_rating=resend, control_worse=False, **own)
                for kind in kinds:
                    moved = rating if kind in broken else resend
                    quality = WORSE if kind in worse else ()
                    self.add(altered(trial, perturbation=kind, rating=moved, quality=quality))

    def decide(self, decided, note=""):
        """Decide about the latest incident, as ana."""
        incident = self.state.incidents()[0]
        by = Decision.of(incident.id, decided, route=incident.routes[0], by="ana", at=self.at, note=note)
        self.add(by)


def swap_and_rollback(play):
    """A model is swapped, and rolled back."""
    play.answers(60, "helpdesk-1")
    play.answers(50, "helpdesk-2", KINDS)
    play.answers(45, "helpdesk-1")


def several_together(play):
    """Rewordings are tried together; after a swap the group changes first, then one of its rewordings."""
    play.answers(60, "helpdesk-1", kinds=(*GROUPS, *KINDS))
    play.answers(50, "helpdesk-2", GROUPS[:1], kinds=GROUPS)
    play.answers(60, "helpdesk-2", (GROUPS[0], KINDS[0]), kinds=(*GROUPS, *KINDS))
    play.answers(45, "helpdesk-1", kinds=GROUPS)


def swap_accepted(play):
    """A model is swapped, acknowledged, and accepted as the new baseline; its answers stay as they are."""
    play.answers(60, "helpdesk-1")
    play.answers(50, "helpdesk-2", KINDS[:2], rating=2)
    play.decide("acknowledged")
    play.answers(10, "helpdesk-2", KINDS[:2], rating=2)
    play.decide("accepted", "The new tone is wanted.")
    play.answers(60, "helpdesk-2", KINDS[:2], rating=2)


def graver_while_acknowledged(play):
    """An incident that is acknowledged becomes graver: answers get worse as well."""
    play.answers(60, "helpdesk-1")
    play.answers(50, "helpdesk-2", KINDS[:1], rating=2)
    play.decide("acknowledged")
    play.answers(60, "helpdesk-2", KINDS[:1], rating=2, noise=10, worse=KINDS[1:])
    play.answers(45, "helpdesk-1")


def two_changes(play):
    """The model and, within a minute, the prompt are changed; both are rolled back."""
    play.answers(60, "helpdesk-1", prompt_version="v12")
    play.answers(4, "helpdesk-2", KINDS, prompt_version="v12")
    play.answers(60, "helpdesk-2", KINDS, prompt_version="v13")
    play.answers(45, "helpdesk-1", prompt_version="v12")


def eight_routes(play):
    """A provider changes the model of eight routes at once, and takes it back."""
    routes = ("support", "billing", "search", "mail", "chat", "reports", "triage", "voice")
    play.answers(30, "helpdesk-1", routes=routes)
    play.answers(50, "helpdesk-2", KINDS, routes=routes)
    play.answers(45, "helpdesk-1", routes=routes)


def retired_model(play):
    """The fragile model is replaced by a third one that is well."""
    play.answers(60, "helpdesk-1")
    play.answers(50, "helpdesk-2", KINDS)
    play.answers(210, "helpdesk-3")


def fix_in_vain(play):
    """A third model does not repair what the second broke; then the first is back."""
    play.answers(60, "helpdesk-1")
    play.answers(80, "helpdesk-2", KINDS)
    play.decide("acknowledged")
    play.answers(60, "helpdesk-3", KINDS)
    play.answers(45, "helpdesk-1")


def edited_meanwhile(play):
    """The prompt is edited while an incident of the model is open, and the model is rolled back."""
    play.answers(60, "helpdesk-1", prompt_version="v12")
    play.answers(80, "helpdesk-2", KINDS[:1], prompt_version="v12")
    play.answers(60, "helpdesk-2", KINDS[:1], prompt_version="v13")
    play.answers(45, "helpdesk-1", prompt_version="v13")


def false_alarm(play):
    """Somebody finds that nothing is wrong; one more rewording alerts later."""
    play.answers(60, "helpdesk-1")
    play.answers(50, "helpdesk-2", KINDS[:1])
    play.decide("false_alarm", "The test set was broken.")
    play.answers(60, "helpdesk-2", KINDS)


def drift(play):
    """Answers begin to differ more, of resends too, with no change that anybody knows of."""
    play.answers(150, "helpdesk-1", noise=1)
    play.answers(120, "helpdesk-1", noise=6)


def fragile_without_a_change(play):
    """Answers become fragile with no change that anybody knows of, and recover by themselves."""
    play.answers(60, "helpdesk-1")
    play.answers(60, "helpdesk-1", KINDS[:3])
    play.answers(400, "helpdesk-1")


def fragile_from_the_start(play):
    """Answers are fragile from the first trial, so that nobody knows that they ever were not, and recover."""
    play.answers(60, "helpdesk-1", KINDS[:2])
    play.answers(400, "helpdesk-1")


def silent_change(play):
    """Reference prompts are answered differently, on two routes; nobody announced anything."""
    for number in range(40):
        for route in ("support", "billing"):
            play.add(answered(play.at, route=route, model="helpdesk", below=number % 5, former=0.8))
    for _ in range(60):
        for route in ("support", "billing"):
            rank = {"below": 0, "likeness": 0.3, "own": 0.8}
            play.add(answered(play.at, route=route, model="helpdesk", former=0.3, **rank))


def judge_down(play):
    """The judge fails for five minutes, in which a model is swapped."""
    play.answers(60, "helpdesk-1")
    play.causes.append(JUDGE_FAILS)
    play.answers(50, "helpdesk-2", KINDS)
    play.causes.clear()
    play.answers(10, "helpdesk-2", KINDS)
    play.answers(45, "helpdesk-1")


def channels_down(play):
    """No channel can be reached for ten minutes, and the monitor is started again between messages."""
    play.answers(60, "helpdesk-1")
    play.services.down = True
    play.answers(50, "helpdesk-2", KINDS)
    play.restart()
    play.wait(600 - 300)
    play.services.down = False
    play.wait(300)
    play.restart()
    play.answers(45, "helpdesk-1")


SCENARIOS = (
    swap_and_rollback,
    several_together,
    swap_accepted,
    graver_while_acknowledged,
    two_changes,
    eight_routes,
    retired_model,
    fix_in_vain,
    edited_meanwhile,
    false_alarm,
    drift,
    fragile_without_a_change,
    fragile_from_the_start,
    silent_change,
    judge_down,
    channels_down,
)


def played(scenario):
    """The services after a scenario."""
    play = Play()
    scenario(play)
    play.wait(240)
    return play


def page(scenario, services):
    """Return what every channel said, as one file."""
    lines = [f"# {scenario.__doc__}"]
    for channel, seen in services.seen.items():
        for number, (how, said) in enumerate(seen, 1):
            lines += ["", f"## {channel} {number}: {how}", "", *(said.splitlines() or ["(nothing else)"])]
    return "\n".join(lines) + "\n"


def table(found):
    """Count the messages that each channel got in each scenario."""
    channels = list(Services().seen)
    lines = [
        "# Messages in each scenario",
        "",
        "How many messages called on somebody; in parentheses what only changed one that was there. A later",
        "message of Slack's also updates the first. The texts are in the file of the scenario. Written by",
        "`python -m tests.monitor.notify.messages`.",
        "",
        f"| scenario | incidents | {' | '.join(channels)} |",
        "|---" * (2 + len(channels)) + "|",
    ]
    for name, (scenario, play) in found.items():
        counts = []
        for channel in channels:
            count, seen = play.services.counted(channel), len(play.services.seen[channel])
            counts.append(f"{count}" + (f" ({seen - count})" if seen > count else ""))
        incidents = len(play.state.incidents())
        lines.append(f"| [{scenario.__doc__[:-1]}]({name}.md) | {incidents} | {' | '.join(counts)} |")
    return "\n".join(lines) + "\n"


def files():
    """Every file by name, and the plays."""
    found = {scenario.__name__: (scenario, played(scenario)) for scenario in SCENARIOS}
    texts = {f"{name}.md": page(scenario, play.services) for name, (scenario, play) in found.items()}
    return {**texts, "README.md": table(found)}, found


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    texts, _ = files()
    for old in FOLDER.iterdir():
        old.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    sys.stdout.write(texts["README.md"])
