"""How much redaction finds of made-up values, and how often it takes something else for one.

    python -m benchmarks.redaction

Prints recall and precision by kind as a table in Markdown. A near miss counts against the kind it is like.
"""

from __future__ import annotations

from tests.kit.redaction_corpus import corpus, measured


def main() -> None:
    """Measure and print."""
    print("| kind | values | recall | near misses | taken for one | precision |\n|---|---|---|---|---|---|")
    for one in measured(corpus()):
        print(
            f"| `{one.kind}` | {one.values} | {one.recall:.1%} | {one.near_misses} | {one.mistaken} "
            f"| {one.precision:.1%} |"
        )


if __name__ == "__main__":
    main()
