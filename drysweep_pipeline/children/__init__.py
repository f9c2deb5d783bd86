"""Child processes: how they are started and ended, what they may reach, and what runs in those that call functions."""
