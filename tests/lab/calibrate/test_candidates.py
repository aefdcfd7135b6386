"""Which goldens a calibration is made on."""

from __future__ import annotations

import pytest

from evenkeel.core.pair import Answer
from evenkeel.lab.calibrate.candidates import UnfitGoldensError, choose
from evenkeel.stores.goldens import Golden

PROSE = "The kettle is hot. The cup is cold."
DATA = '{"kettle": "hot", "cup": "cold"}'


def golden(name, text=PROSE, **more):
    return Golden(id=name, answer=Answer(text), **more)


def test_the_newest_version_counts_unless_it_is_retired():
    """An old answer does not come back when its successor goes."""
    chosen = choose(
        [
            golden("a", version=2, note="new"),
            golden("a", version=1, note="old"),
            golden("b"),
            golden("b", version=2, retired_at=1.0),
            golden("c"),
        ]
    )
    assert [(one.id, one.note) for one in chosen.goldens] == [("a", "new"), ("c", "")]
    assert chosen.retired == 1
    with pytest.raises(UnfitGoldensError, match="all 1 goldens are retired"):
        choose([golden("b", version=2, retired_at=1.0), golden("b")])


def test_the_form_of_nine_in_ten_is_taken():
    """One of ten is left out and named, as is what has no form; two of ten are a question."""
    prose = [golden(f"p{i}") for i in range(9)]
    chosen = choose([*prose, golden("d0", DATA)])
    assert (chosen.form, len(chosen.goldens), dict(chosen.others)) == ("prose", 9, {"data": 1})
    assert dict(choose([*prose, golden("e0", "")]).others) == {"empty": 1}
    with pytest.raises(UnfitGoldensError, match="--form prose"):
        choose([*prose[:8], golden("d0", DATA), golden("d1", DATA)])
    assert choose([*prose[:8], golden("d0", DATA), golden("d1", DATA)], "data").form == "data"
