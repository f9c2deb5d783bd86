"""The job by which people act on findings from Dagster's pages: the same checks as the command, all or nothing."""

from typing import Any, Literal

import dagster as dg

from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.deed_files import asked
from drysweep_pipeline.engine import deeds
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.deeds import Asked, Done
from drysweep_pipeline.errors import DrysweepError
from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration import showing
from drysweep_pipeline.orchestration.hiding import hiding
from drysweep_pipeline.orchestration.partitions import CAMPAIGN_TAG, SWEEP_TAG
from drysweep_pipeline.reports import write_report
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.reports.text import cell

_SHOWN = 200


class ActConfig(dg.Config):
    """One act on one or several findings; which keys go with which act is as in an action file."""

    act: Literal["fix", "contest", "accept_risk", "decline", "escalate", "confirm", "withdraw"]
    findings: list[str]
    by: str | None = None
    reason: str | None = None
    evidence: str | None = None
    expires: str | None = None
    revision: str | None = None
    scope: str | None = None


class FindingsConfig(dg.Config):
    """What people do to findings; without a campaign it is recorded in the newest one."""

    acts: list[ActConfig]
    campaign: str | None = None


def findings_job(declaration: Declaration) -> dg.JobDefinition:
    """Return the job that records what people do to findings; a refusal fails the run and changes nothing."""
    sweep = declaration.sweep.name

    @dg.op(name=f"{sweep}_record_acts", description=f"Fix, contest, accept, decline, escalate or confirm, in {sweep}.")
    def record_acts(context: dg.OpExecutionContext, config: FindingsConfig, home: dg.ResourceParam[Home]) -> None:
        with hiding(home, declaration):
            campaign, done = _recorded(home, sweep, config)
            facts = summary(home, sweep, campaign.id)
            context.log.info(f"{CAMPAIGN_TAG} {campaign.id}: {len(done)} findings; {facts['verdict']}")
            context.add_output_metadata({"findings": dg.MetadataValue.md(_table(done)), **_metadata(facts)})
            if facts["report"]:
                context.log_event(_report(home, sweep, campaign))

    @dg.job(
        name=f"{sweep}_findings",
        executor_def=dg.in_process_executor,
        description=(
            f"Say what became of findings of {sweep}: fixed, contested with evidence, accepted as a risk, declined, "
            "escalated, confirmed after all, or a risk withdrawn. All of it is recorded, or nothing."
        ),
        tags={SWEEP_TAG: sweep},
        owners=list(declaration.sweep.owners),
    )
    def job() -> None:
        record_acts()

    return job


def _recorded(home: Home, sweep: str, config: FindingsConfig) -> tuple[Campaign, list[Done]]:
    """Record the acts. Raises ``dagster.Failure`` with the reason where the rules do not allow them."""
    try:
        wanted = [each for number, act in enumerate(config.acts) for each in _asked(number, act)]
        campaign = deeds.campaign_for(home, wanted, sweep, config.campaign)
        return campaign, deeds.act(campaign, wanted, overruled_with_reason=True)
    except DrysweepError as error:
        raise dg.Failure(f"nothing was changed: {error}", allow_retries=False) from error


def _asked(number: int, config: ActConfig) -> list[Asked]:
    given = {name: value for name, value in config.model_dump().items() if value is not None and name != "act"}
    return asked(config.act, given, ("acts", number))


def _report(home: Home, sweep: str, campaign: Campaign) -> dg.AssetMaterialization:
    """Write the campaign's report again, and return that as Dagster shows it beside the earlier one."""
    files = write_report(home, sweep, campaign.id)
    return dg.AssetMaterialization(
        asset_key=[sweep, "report"],
        partition=campaign.id,
        metadata={
            **_metadata(summary(home, sweep, campaign.id)),
            **showing.files(files, home),
            "summary": showing.told(files),
        },
    )


def _metadata(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: facts[name] for name in ("outcome", "verdict", "k", "rounds")}


def _table(done: list[Done]) -> str:
    """Return what each finding was and is, as Markdown."""
    lines = ["| finding | act | by | was | is |", "| --- | --- | --- | --- | --- |"]
    for each in done[:_SHOWN]:
        deed = each.deed
        values = (each.finding.label, deed.act, deed.by, each.before.status, each.after.status)
        lines.append(f"| {' | '.join(cell(value) for value in values)} |")
    if len(done) > _SHOWN:
        lines += ["", f"and {len(done) - _SHOWN} more"]
    return "\n".join(lines)
