"""Asking language models, through pydantic-ai: one request at a time, each counted, none of them able to do anything.

pydantic-ai is an extra, takes a second to import, and is imported by ``models`` and ``conversation`` alone, when a
model is asked. ``finders.llm`` and ``judges.llm`` say what is asked; nothing here knows of findings or verdicts.
"""
