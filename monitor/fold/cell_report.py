"""What is told of a cell: its own figures beside those of its resend, of its judge and of the windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.core.cells import CellReport

if TYPE_CHECKING:
    from evenkeel.core.cells import Estimate, Window, WindowEstimates
    from evenkeel.monitor.fold.cell import Cell
    from evenkeel.monitor.fold.settings import MonitorSettings
    from evenkeel.monitor.noise import JudgeEstimates


def cell_report(
    cell: Cell,
    settings: MonitorSettings,
    *,
    noise_floor: Estimate | None,
    judged: JudgeEstimates,
    windows: dict[Window, WindowEstimates],
) -> CellReport:
    """The report of a cell; the same object as last time if nothing in it has changed.

    Args:
        cell: Keeps the report.
        settings: Say how many observations an estimate needs, and what is allowed.
        noise_floor: Content delta of the identical resend.
        judged: The judge of its route and model.
        windows: Its figures by window.
    """
    alert, shown = cell.alert, cell.shown
    if (
        shown is not None
        and shown.revision == cell.revision
        and shown.windows is windows
        and shown.noise_floor is noise_floor
        and shown.judge_noise is judged.noise
        and shown.decided is judged.decided
    ):
        return shown
    estimates = cell.estimates(settings)
    cell.shown = CellReport(
        key=cell.key,
        scorer=cell.scorer,
        trials=cell.counts.trials,
        failures=dict(cell.counts.failures),
        ratings={int(rating): count for rating, count in cell.counts.rated.items()},
        qualities=cell.counts.qualities,
        pairs=cell.counts.pairs if alert else {},
        last_scored_at=cell.scored_at,
        content_delta=estimates.content_delta,
        quality_delta=estimates.quality_delta,
        quality_worse=estimates.quality_worse,
        quality_better=estimates.quality_better,
        robustness=estimates.robustness,
        noise_floor=noise_floor,
        excess=estimates.excess if alert else None,
        evidence_log10=alert.evidence_log10 if alert else 0.0,
        alarm_log10=alert.alarm_log10 if alert else 0.0,
        threshold=settings.threshold if alert else 0.0,
        alert=alert.up if alert else False,
        judge_noise=judged.noise,
        swap_consistency=judged.swap_consistency,
        cascade_agreement=judged.agreement,
        decided=judged.decided,
        windows=windows,
        drift=cell.drift_report(),
        revision=cell.revision,
    )
    return cell.shown
