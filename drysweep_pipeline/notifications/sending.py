"""Sending what there is to tell, side by side, within each receiver's time; what fails is recorded, never raised.

Addresses are held to the rules of services: https or this machine, redirects to the same place only, nothing from the
environment but the variables that are named.
"""

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import filelock

from drysweep_pipeline import addresses
from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.declaration.model import Endpoint, Receiver, Slack, Webhook
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.redacting import redactor_of
from drysweep_pipeline.errors import DrysweepError, FinderError
from drysweep_pipeline.history import history
from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.notifications import record, slack
from drysweep_pipeline.notifications.message import message
from drysweep_pipeline.notifications.occasions import Stand, with_stop
from drysweep_pipeline.notifications.record import Notice, Stop
from drysweep_pipeline.posting import Postbox
from drysweep_pipeline.redaction import hidden
from drysweep_pipeline.reports.beside import home_option, stand_of, sweep_argument
from drysweep_pipeline.reports.steps import Step, next_steps
from drysweep_pipeline.reports.summary import told_of
from drysweep_pipeline.reports.threshold import new_at
from drysweep_pipeline.values import Outcome, Severity

_PARALLEL = 8
_ANSWER_BYTES = 1 << 16
_WAIT_SECONDS = 120.0


def notify(campaign: Campaign) -> tuple[Notice, ...]:
    """Tell whom the campaign's sweep declares what there is to tell where it stands, and return what was not taken.

    Nothing is told twice, nor of a campaign that goes on, that looked again, or that is muted. A receiver that fails is
    in what is returned and in the record; only what was not taken is sent again when this is called again.
    """
    if not campaign.declaration.sweep.notify or campaign.looked_again is not None:
        return ()
    # No campaign's own lock: an id has no hyphen.
    lock = filelock.FileLock(campaign.state_path.with_name(f"{campaign.id}-notify.lock"), timeout=_WAIT_SECONDS)
    try:
        with lock:
            return _told(campaign)
    except (DrysweepError, OSError, filelock.Timeout) as error:
        # What cannot be read or recorded cannot be told; the campaign is what it is all the same.
        return (record.unreadable(hidden(str(error), 500)),)


def mute(campaign: Campaign, why: str) -> None:
    """Have nobody told of a campaign, from now on."""
    if campaign.declaration.sweep.notify:
        landing = campaign.home.landing(campaign.id)
        record.write(landing, replace(record.read(landing), muted=why))


def _told(campaign: Campaign) -> tuple[Notice, ...]:
    landing, receivers = campaign.home.landing(campaign.id), campaign.declaration.sweep.notify
    with history(campaign.home.home) as connection:
        past = Past(connection, campaign.home.name, campaign.id)
        facts, blockers = told_of(past, campaign.home.home), new_at(past, Severity.BLOCKER)
    facts = {**facts, "steps": _steps(campaign, facts["why"])}
    known = record.read(landing)
    if known.muted or Outcome(facts["outcome"]) is Outcome.RUNNING:
        return ()
    stop = Stop(facts["outcome"], facts["reason"], facts["rounds"])
    before = facts["since"]["outcome"] if facts["since"] else None
    now = with_stop(known, Stand(stop, before, tuple(row["fp"] for row in blockers)), receivers)
    if now.due:
        record.write(landing, now)
        now = now.after(_sent(campaign, now.due, facts, blockers))
    if now != known:
        record.write(landing, now)
    return now.due


def _steps(campaign: Campaign, why: Mapping[str, str] | None) -> tuple[Step, ...]:
    """Return what may be done next, as ``status`` has it: nothing needs to be where it converged."""
    standing, home = stand_of(campaign), campaign.home.home
    if standing.standing.outcome is Outcome.CONVERGED:
        return ()
    return next_steps(standing, sweep_argument(home, campaign.home.name, campaign.id), home_option(home), why)


def _sent(
    campaign: Campaign, notices: Sequence[Notice], facts: Mapping[str, Any], blockers: Sequence[Row]
) -> list[Notice]:
    """Send notices side by side and return them as they are then."""
    with ThreadPoolExecutor(_PARALLEL) as pool, Children() as underway:
        sending = [pool.submit(_send, campaign, each, facts, blockers, underway) for each in notices]
        try:
            return [each.result() for each in sending]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _send(
    campaign: Campaign, notice: Notice, facts: Mapping[str, Any], blockers: Sequence[Row], underway: Children
) -> Notice:
    receiver = campaign.declaration.sweep.notify[notice.receiver]
    tried = replace(notice, at=datetime.now(UTC).isoformat(), times=notice.times + 1)
    try:
        box = _postbox(receiver, campaign)
        mine = [row for row in blockers if row["fp"] in notice.blockers]
        said = redactor_of(campaign).data(message(notice, facts, mine, facts["steps"]))
        said = {**said, "id": notice.id}
        body = slack.blocks(said) if isinstance(receiver, Slack) else said
        box.post(json.dumps(body, ensure_ascii=False, default=str).encode(), _again, underway)
    except Exception as error:
        # Whatever it is: a notice that fails is no failure of the campaign.
        why = str(error) if isinstance(error, DrysweepError) else f"{type(error).__name__}: {error}"
        return replace(tried, status="failed", why=hidden(why, 500))
    return replace(tried, status="sent", why=None)


def _again() -> None:
    """Allow a retry: those of a notice are bounded by its receiver, and are nothing that a budget pays for."""


def _postbox(receiver: Receiver, campaign: Campaign) -> Postbox:
    """Return where a receiver is posted to. Raises ``FinderError`` where its address cannot be used."""
    address = _address(receiver)
    headers = receiver.headers if isinstance(receiver, Webhook) else {}
    # Not looked at again: in an address that is kept secret, a parameter may hold what makes it so.
    endpoint = Endpoint.model_construct(
        url=address,
        headers=headers,
        allow_plain_http=receiver.allow_plain_http,
        ca_file=receiver.ca_file,
        retries=receiver.retries,
    )
    base, secret = campaign.declaration.base, (address,) if receiver_variable(receiver) else ()
    return Postbox(endpoint, base, receiver.timeout_s, _ANSWER_BYTES, media=(), secrets=secret)


def receiver_variable(receiver: Receiver) -> str | None:
    """Return the variable that holds a receiver's address; None where it is written out."""
    return receiver.url_env if isinstance(receiver, Webhook | Slack) else None


def _address(receiver: Receiver) -> str:
    name = receiver_variable(receiver)
    if name is None:
        assert isinstance(receiver, Webhook)
        assert receiver.url is not None
        return receiver.url
    address = os.environ.get(name, "").strip()
    if not address:
        raise FinderError(f"the variable {name} is not set, which holds the address", help=f"set {name}")
    fault = addresses.fault_of_secret_url(address, allow_plain_http=receiver.allow_plain_http)
    if fault is not None:
        raise FinderError(f"the variable {name} holds no address that can be posted to", help=fault)
    return address
