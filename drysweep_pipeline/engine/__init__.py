"""The engine: a campaign from its start to its outcome, on landing, ledger and state files. Imports no Dagster.

``campaign`` starts one, ``wave`` searches, ``rounds`` takes in, judges and decides, ``people`` records what persons
say, ``journal`` folds it all into where the campaign stands, ``state`` is what its driver reads.
"""
