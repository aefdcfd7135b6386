"""Which goldens count as one."""

import json
from collections import Counter

from evenkeel.core.pair import Answer
from evenkeel.release.gate.clusters import clusters, sentence
from evenkeel.stores.goldens import Golden


def golden(name, *texts, cluster=None):
    messages = [{"role": "system", "content": "You are the assistant of a shop that sells kettles."}]
    messages += [{"role": "user", "content": text} for text in texts]
    return Golden(id=name, request=json.dumps({"messages": messages}), answer=Answer("Yes."), cluster=cluster)


def test_prompts_that_share_half_of_their_words_are_one_cluster():
    """The last user message decides, not what all prompts have in common; digits are no words."""
    found = clusters(
        [
            golden("a", "Is order 17 on its way?"),
            golden("b", "Is order 4711 on its way?"),
            golden("c", "Is my refund on its way?"),  # is, on, its, way of seven
            golden("d", "May I return a used kettle?"),
            golden("e", "Is order 17 on its way?", "And what does express cost?"),
        ]
    )
    assert found == {"a": "a", "b": "a", "c": "a", "d": "d", "e": "e"}


def test_a_golden_says_its_cluster_itself():
    """Near prompts are told apart by it, and other ones are joined."""
    found = clusters(
        [
            golden("a", "Is order 17 on its way?", cluster="x"),
            golden("b", "Is order 18 on its way?", cluster="y"),
            golden("c", "May I return a used kettle?", cluster="x"),
        ]
    )
    assert found["a"] == found["c"] != found["b"]


def test_goldens_without_a_request_and_other_scripts():
    """An answer alone is a cluster of its own; Chinese is read character by character."""
    alone = [Golden(id=name, answer=Answer("Yes.")) for name in "ab"]
    assert len(set(clusters(alone).values())) == 2
    chinese = [golden("a", "我的订单到哪里了"), golden("b", "我的退款到哪里了"), golden("c", "水壶多少钱")]
    assert clusters(chinese) == {"a": "a", "b": "a", "c": "c"}


def test_clusters_are_told_only_where_there_are_any():
    """The sentence has their number and the size of the largest."""
    assert sentence(Counter({"a": 1, "b": 1})) == ""
    assert sentence(Counter({"a": 3, "b": 1})).startswith(
        "4 goldens form 2 clusters of nearly equal prompts, the largest of 3."
    )
