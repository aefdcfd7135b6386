"""Names of perturbations, the seeds of trials, and perturbations of other packages."""

import logging
import random
import re
from pathlib import Path

import pytest

from evenkeel.core import rewordings
from evenkeel.shadow.perturbations import BUILTIN, by_name, catalogue, seed_for
from evenkeel.shadow.perturbations.contrast import CONTRASTS
from tests.cases import cases
from tests.kit.packages import install_package
from tests.shadow.pretended_rewriter import asked

CASES = cases(__file__)


@pytest.mark.parametrize(("name", "message"), CASES["slips"])
def test_an_unknown_name_is_refused_with_what_was_probably_meant(name, message):
    """A slip in the name of a category is most likely that."""
    assert [kind.name for kind in by_name(["general.casing"])] == ["general.casing"]
    with pytest.raises(ValueError, match=message):
        by_name([name])


def test_builtin_names_are_unique_and_well_formed():
    """Names are `category.kind`, versions count from 1, and the control is the view itself."""
    assert BUILTIN[0].name == "baseline.identical"
    assert BUILTIN[0].apply(view := asked("Hi."), 0.0, random.Random(1)) is view
    names = [kind.name for kind in BUILTIN]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+\.[A-Za-z0-9_>\-]+", name) for name in names)
    assert all(kind.version >= 1 for kind in BUILTIN)


def test_seeds_are_fixed_and_depend_on_every_part():
    """A seed is the same everywhere (written down here) and another for any other trial."""
    first = seed_for("00f1", "general.casing", 0.3, 1)
    assert first == seed_for("00f1", "general.casing", 0.30000000001, 1)
    others = {
        seed_for("00f2", "general.casing", 0.3, 1),
        seed_for("00f1", "general.spelling", 0.3, 1),
        seed_for("00f1", "general.casing", 0.5, 1),
        seed_for("00f1", "general.casing", 0.3, 2),
    }
    assert len(others | {first}) == 5
    assert all(0 <= seed < 2**53 for seed in others | {first})
    assert first == 2_227_256_918_980_195


ROOT = Path(__file__).parents[2]
SHOUT = CASES["shout"]


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs a distribution whose entry point for perturbations has this code."""
    return lambda code: install_package(
        tmp_path, monkeypatch, "evenkeel.perturbations", "OFFERED", shout=code
    )


def test_a_package_offers_a_perturbation(install):
    """The perturbation stands behind the built-in ones, is found by name, and brings its words."""
    install(SHOUT.format(name="acme.shout", offered="[Shout()]"))
    found = catalogue()
    assert [kind.name for kind in found] == [*(kind.name for kind in (*BUILTIN, *CONTRASTS)), "acme.shout"]
    assert by_name(["acme"], found) == found[-1:]
    assert rewordings.label("acme.shout") == "acme: loud"
    assert rewordings.phrase("acme.shout") == "loud, as Acme has it"
    assert max("acme.shout", "compound.typos", key=rewordings.position) == "acme.shout"


@pytest.mark.parametrize(("code", "message"), CASES["broken"])
def test_a_broken_package_is_left_out_with_a_message(install, caplog, code, message):
    """Everything else works as before; the log names the package and says what is wrong."""
    install(code if isinstance(code, str) else SHOUT.format(name=code[0], offered=code[1]))
    with caplog.at_level(logging.ERROR):
        assert catalogue() == (*BUILTIN, *CONTRASTS)
    assert re.search(message, caplog.text)


def test_every_reason_not_to_try_a_rewording_is_said_in_words():
    """Also for the first part of a compound, after whose reason it is named."""
    reasons = set()
    for path in (ROOT / "evenkeel" / "shadow").rglob("*.py"):
        reasons.update(re.findall(r"NotApplicable\(\s*\"(\w+)\"", path.read_text("utf-8")))
    assert len(reasons) > 20
    plain = {reason for reason in reasons if rewordings.why_untried(reason) == reason.replace("_", " ")}
    assert plain == set()
    assert rewordings.why_untried("part_no_input") == "the prompt has no user text"
