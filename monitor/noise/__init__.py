"""What the judge adds to a measurement by itself, apart from what the model and the prompt do.

Three series split what is seen of a cell:

- *target noise*: how often the content of an identical resend is rated as shifted (the baseline
  arm, `noise_floor`). It holds the model's own randomness and the judge's false alarms.
- *judge noise*: how often the same pair gets another rating when it is judged again
  (`evenkeel.metrics.judge.noise` makes the second ratings, `counts` keeps them, `judges` has one for each route and model). Swap
  consistency beside it: how often the rating stays when the two sides change places.
- *perturbation effect*: the paired excess over the resend.

What the noise does to the two-stage score. Let the judge call a pair shifted with probability s if
it is, and f if it is not. An arm whose true shift rate is p shows f + (s − f) · p. So f, the false
alarms, raises the content delta of both arms (and lowers robustness, which is why neither is an
alert by itself), while in the excess it cancels: what remains is (s − f) · (p₁ − p₀). To first
order noise therefore makes an effect look smaller, never out of nothing. That rests on s and f
being the same for both arms; where a judge errs more on one of them (other languages, other
formats), the difference of the two f stays in the excess. Judge noise is about 2f(1 − f) on pairs
of one kind if two ratings err independently, so half of a small noise is what each arm owes the
judge. Noise that repeats itself, such as a judge that always misreads the same table, shows in none
of these series: that takes the judge audit against people.

The monitor counts without any judge's code: nothing of it is imported here.
"""

from evenkeel.monitor.noise.counts import JudgeCounts, JudgeEstimates
from evenkeel.monitor.noise.judges import Judges

__all__ = ["JudgeCounts", "JudgeEstimates", "Judges"]
