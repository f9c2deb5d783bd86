"""Telling people and programs what a campaign came to, once it stands still: who is declared under ``notify``.

What is told of, and when, is ``occasions``; what was told, ``record``; how it is put, ``message`` and ``slack``; how it
is sent, ``sending``. Nothing here decides anything of a campaign, and no failure here is one of the campaign.
"""
