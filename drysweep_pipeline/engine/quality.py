"""Whether fingerprints are good: one that merges findings of different kinds ends the search too early.

What was declared cannot tell; what was reported can. Findings under one fingerprint are taken for different ones
where their subject, their kind or their failure mode differs, or where one strategy told them apart by a word that it
uses of other findings too.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from drysweep_pipeline import landing
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.scratch import scratch

# Evidence, times and places differ from row to row and are of one finding only; a word of a few is what kind it is.
_SUSPECTS = """
    select fp from read_parquet($files, hive_partitioning = false)
    group by fp
    having count(distinct subject) > 1 or count(distinct kind) > 1 or count(distinct attributes) > 1
"""
_MERGED = """
    with given as (
        select fp, strategy, subject, kind, attributes from read_parquet($files, hive_partitioning = false)
    ),
    words as (
        select g.fp, g.strategy, e.key as name, json_extract_string(e.value, '$') as word
        from given as g, json_each(g.attributes) as e
        where e.type = 'VARCHAR' and g.attributes is not null
    ),
    common as (select name, word from words group by name, word having count(distinct fp) > 1),
    merged as (
        select fp, 'subject' as name, list(distinct subject) as words from given group by fp
        union all
        select fp, 'kind', list(distinct kind) from given group by fp
        union all
        select fp, name, list(distinct word) from words where name = 'failure_mode' group by fp, name
        union all
        select fp, name, list(distinct word) from words semi join common using (name, word) group by fp, strategy, name
    )
    select any_value(g.subject), arg_min(m.name, m.place), list_sort(arg_min(m.words, m.place)), m.fp
    from (
        select *, case name when 'subject' then 1 when 'kind' then 2 when 'failure_mode' then 3 else 4 end as place
        from merged
        where len(words) > 1
    ) as m
    join given as g using (fp)
    group by m.fp
    order by 1, 4
"""


@dataclass(frozen=True, slots=True)
class Merged:
    """Fingerprints under which different findings were reported, and what ``field`` told them apart.

    ``example`` names one that may be told, and is None where none may.
    """

    fingerprints: int = 0
    example: str | None = None
    field: str | None = None

    @property
    def sentence(self) -> str | None:
        """What to tell a person, or None where nothing is merged."""
        if not self.fingerprints:
            return None
        merge = "fingerprints merge" if self.fingerprints > 1 else "fingerprint merges"
        example = f", for instance {self.example}" if self.example else ""
        return (
            f"{self.fingerprints} {merge} distinct findings, which differ in {self.field}{example}; "
            "add a field to the fingerprint"
        )


def merged(campaign: Campaign, round: int) -> Merged:
    """Return the fingerprints of a round that merge findings which differ in more than what is told of them.

    There is no example: a round is not judged yet when this is asked, and a rejected finding is not to be named.
    """
    return replace(_merged(landing.readable(campaign.folder(round))), example=None)


def merged_by(campaign: Campaign, rounds: int, unnamed: Collection[str] = ()) -> Merged:
    """Return the same of the first rounds of a campaign together, with an example that is none of the ``unnamed``.

    ``unnamed``: fingerprints as text.
    """
    files = [file for round in range(1, rounds + 1) for file in landing.readable(campaign.folder(round))]
    return _merged(files, unnamed)


def _merged(files: Sequence[Path], unnamed: Collection[str] = ()) -> Merged:
    if not files:
        return Merged()
    with scratch() as connection:
        given = {"files": [str(file) for file in files]}
        # First, because most waves have none, and reading what each row says of itself takes far longer.
        if not connection.execute(f"{_SUSPECTS} limit 1", given).fetchall():
            return Merged()
        rows = connection.execute(_MERGED, given).fetchall()
    if not rows:
        return Merged()
    shown = next((row for row in rows if str(row[3]) not in unnamed), None)
    example = f"{shown[0]}: {', '.join(shown[2])}" if shown else None
    return Merged(len(rows), example, (shown or rows[0])[1])
