"""``drysweep findings``: the findings there are, the life of one, and what people do to them."""

from pathlib import Path
from typing import Annotated

import typer

from drysweep_pipeline.cli.options import ByOption, HomeOption, JsonOption, ReasonOption

app = typer.Typer(
    name="findings",
    help="List findings, tell their lives, and act on them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

FindingArgument = Annotated[
    str, typer.Argument(metavar="FP", help="A fingerprint, at least six of its first characters, or the label.")
]
FindingsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FP...",
        help="Fingerprints (six first characters do) or labels; after -- where one begins with a dash.",
    ),
]
SweepOption = Annotated[str | None, typer.Option("--sweep", help="The sweep; else the one that has the finding.")]
CampaignOption = Annotated[
    str | None, typer.Option("--campaign", help="Record it in this campaign, [SWEEP/]ID; else in the newest.")
]
EvidenceOption = Annotated[
    str | None, typer.Option("--evidence", help="What it rests on: file:LINE, file::test, a URL or a digest.")
]
FileOption = Annotated[
    str | None,
    typer.Option("--file", metavar="FILE", help="A YAML list of findings, or of mappings; - reads it from stdin."),
]


@app.command("list")
def list_(
    what: Annotated[
        str | None, typer.Argument(metavar="SWEEP|CAMPAIGN", help="Only this sweep's, or this campaign's.")
    ] = None,
    status: Annotated[list[str] | None, typer.Option(help="Only of this status, or several with commas.")] = None,
    severity: Annotated[list[str] | None, typer.Option(help="Only of this severity, or several with commas.")] = None,
    owner: Annotated[str | None, typer.Option(help="Only of this owner.")] = None,
    rejected: Annotated[bool, typer.Option("--rejected", help="The rejected ones too.")] = False,
    limit: Annotated[int | None, typer.Option(min=0, help="At most so many.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """List findings, the open and worst ones first.

    With the outcome that they stand under.

    Example: drysweep findings list my_sweep --severity blocker --status open,reopened
    """
    from drysweep_pipeline.cli.findings_shown import Filter, listed

    return listed(home, Filter(what, _words(status), _words(severity), owner, rejected, limit), json)


@app.command("show")
def show(finding: FindingArgument, sweep: SweepOption = None, home: HomeOption = None, json: JsonOption = False) -> int:
    """Show what a finding is, and where it stands.

    What was said of it, by whom, and why.

    Example: drysweep findings show api/no_owner
    """
    from drysweep_pipeline.cli.findings_shown import shown

    return shown(home, finding, sweep, json)


@app.command("explain")
def explain(
    finding: FindingArgument, sweep: SweepOption = None, home: HomeOption = None, json: JsonOption = False
) -> int:
    """Tell a finding's life in order.

    Sightings, verdicts, events, and what it is worth where it was not seen.

    Example: drysweep findings explain 3f2a9c
    """
    from drysweep_pipeline.cli.findings_shown import explained

    return explained(home, finding, sweep, json)


@app.command("fix")
def fix(
    findings: FindingsArgument = None,
    by: ByOption = None,
    reason: ReasonOption = None,
    evidence: EvidenceOption = None,
    revision: Annotated[str | None, typer.Option(help="The revision that the fix is in.")] = None,
    scope: Annotated[str | None, typer.Option(help="What the fix touched; else the scope of the finding.")] = None,
    file: FileOption = None,
    sweep: SweepOption = None,
    campaign: CampaignOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Record findings as fixed.

    That settles nothing, and a later sighting reopens them.

    Example: drysweep findings fix api/no_owner --revision d44f0bf
    """
    given = {"by": by, "reason": reason, "evidence": evidence, "revision": revision, "scope": scope}
    return _act("fix", findings, file, given, sweep, campaign, home, json)


def _alike(act: str, help: str) -> None:
    """Have a command for an act that takes what all acts take, and nothing else."""

    @app.command(act, help=help)
    def command(
        findings: FindingsArgument = None,
        by: ByOption = None,
        reason: ReasonOption = None,
        evidence: EvidenceOption = None,
        file: FileOption = None,
        sweep: SweepOption = None,
        campaign: CampaignOption = None,
        home: HomeOption = None,
        json: JsonOption = False,
    ) -> int:
        given = {"by": by, "reason": reason, "evidence": evidence}
        return _act(act, findings, file, given, sweep, campaign, home, json)


_alike(
    "contest",
    """Settle findings as wrong.

    By name, and with evidence that a reader can open.

    Example: drysweep findings contest api/no_owner --evidence services/api.yaml:3 --by ann
    """,
)


@app.command("accept-risk")
def accept_risk(
    findings: FindingsArgument = None,
    by: ByOption = None,
    reason: ReasonOption = None,
    evidence: EvidenceOption = None,
    expires: Annotated[
        str | None, typer.Option(metavar="DATE", help="The last day it is accepted for, such as 2026-01-31.")
    ] = None,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take an accepted risk back.")] = False,
    file: FileOption = None,
    sweep: SweepOption = None,
    campaign: CampaignOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Settle findings as risks that somebody lives with.

    Until a day, or until their file changes.

    Example: drysweep findings accept-risk api/no_owner --expires 2026-12-31 --reason "retired by then"
    """
    given = {"by": by, "reason": reason, "evidence": evidence, "expires": expires}
    return _act("withdraw" if withdraw else "accept_risk", findings, file, given, sweep, campaign, home, json)


_alike(
    "decline",
    """Record nits that will not be fixed.

    Nothing worse can be declined.

    Example: drysweep findings decline api/trailing_space --reason "generated file"
    """,
)
_alike(
    "escalate",
    """Hand findings to a person.

    They stay unsettled until that person decides.

    Example: drysweep findings escalate api/no_owner --reason "who runs this?"
    """,
)
_alike(
    "confirm",
    """Say that findings are right after all.

    A rejection is overruled by name and with a reason.

    Example: drysweep findings confirm api/no_owner --reason "the exemption has ended" --by ann
    """,
)
_alike(
    "withdraw",
    """Take back what was said of findings.

    A contest, an accepted risk, a fix, a decline; they are open again.

    Example: drysweep findings withdraw api/no_owner --reason "the wrong line" --by ann
    """,
)


@app.command("apply")
def apply(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A YAML list of actions; - reads it from stdin.")],
    by: Annotated[str | None, typer.Option("--by", help="Your name, for actions that give none.")] = None,
    sweep: SweepOption = None,
    campaign: CampaignOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Do what a file of mixed actions says, all of it or nothing.

    Example: drysweep findings apply decided.yaml --by ann
    """
    from drysweep_pipeline.cli.findings_acts import apply_file

    return apply_file(file, by, sweep, campaign, home, as_json=json)


def _words(given: list[str] | None) -> tuple[str, ...]:
    """Return what was given with an option, also where it was given several times or with commas."""
    return tuple(word.strip() for each in given or () for word in each.split(","))


def _act(
    act: str,
    findings: list[str] | None,
    file: str | None,
    given: dict[str, str | None],
    sweep: str | None,
    campaign: str | None,
    home: Path | None,
    json: bool,
) -> int:
    from drysweep_pipeline.cli.findings_acts import do

    return do(act, findings or [], file, given, sweep, campaign, home, as_json=json)
