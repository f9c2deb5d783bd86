"""Scripted campaigns played again: through the pure decision core, or through the real engine and its files.

``scenario`` reads the script, ``core`` and ``pipeline`` play it, ``answer`` says what came of it and what was expected.
"""
