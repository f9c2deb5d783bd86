"""Keeping what was recorded: whether it is what was written, the ledger made anew from it, and what may go.

Landing is the truth; nothing here changes a landed file.
"""
