"""Files that hold tables, read in a child process of their own: whatever they hold, it costs that child.

``python -m drysweep_pipeline.tabular`` is the child. It is handed copies of the files, and what it imports of drysweep
is next to nothing, so that it starts fast. What tables a material has is ``material.tabular``.
"""
