"""``drysweep report``: what a campaign found, and why it stopped."""

from typing import Annotated

import typer

from drysweep_pipeline.cli.options import CampaignArgument, HomeOption, find_campaign, home_of
from drysweep_pipeline.errors import Refused


def report(
    campaign: CampaignArgument,
    format: Annotated[str, typer.Option(help="md for people, json for programs.")] = "md",
    home: HomeOption = None,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> int:
    """Print a campaign's report; its outcome stands at the top."""
    from drysweep_pipeline.cli.output import put_document
    from drysweep_pipeline.reports import FORMATS

    wanted = "json" if json else format
    if wanted not in FORMATS:
        raise Refused(f"no report format {wanted!r}", key="format", help=f"there are {', '.join(FORMATS)}")
    place = home_of(home)
    put_document(FORMATS[wanted](place, *find_campaign(place, campaign)).rstrip("\n"))
    return 0
