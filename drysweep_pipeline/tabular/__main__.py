"""The child: reads a task from stdin, writes each table as Parquet, and says on stdout what became of it.

The task is a JSON object with ``out``, ``scratch`` and ``tables``. A line of the answer is
``{"table", "rows"}`` or ``{"table", "unread"}``, which is why, in the parts of ``Unread``; the last is
``{"drysweep": "end", "count": N}``.
"""

import json
import os
import resource
import sys
from pathlib import Path

from drysweep_pipeline.tabular import table
from drysweep_pipeline.tabular.wanted import Unread, Wanted

# A file that unpacks to more than a machine has costs this process, which ends, and nobody else.
_MOST_MEMORY = 4 << 30
# So that all parts fit into a line, however they are escaped.
_SENT_CHARACTERS = 60_000


def main() -> None:
    """Read what is asked for and write the tables."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    task = json.loads(sys.stdin.readline())
    for said in task["tables"]:
        wanted = Wanted.of(said)
        out = Path(task["out"], f"{wanted.name}.parquet")
        try:
            rows = table.write(wanted, out, Path(task["scratch"]))
            answer: dict[str, object] = {"table": wanted.name, "rows": rows}
        except Unread as error:
            out.unlink(missing_ok=True)
            answer = {"table": wanted.name, "unread": _sent(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    answers.write(json.dumps({"drysweep": "end", "count": len(task["tables"])}) + "\n")
    answers.flush()


def _sent(error: Unread) -> list[str]:
    return [part[:_SENT_CHARACTERS] for part in error.parts]


main()
