"""``python -m drysweep_pipeline.cli``, the same as ``drysweep``."""

import sys

from drysweep_pipeline.cli import main

sys.exit(main())
