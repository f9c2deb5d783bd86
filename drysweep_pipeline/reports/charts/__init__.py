"""The charts of a report, as SVG whose colours are the page's own: the discovery curve, and who shared what."""

from drysweep_pipeline.reports.charts.curve import discovery
from drysweep_pipeline.reports.charts.drawing import Chart
from drysweep_pipeline.reports.charts.sets import SETS, STRATEGIES, overlap

__all__ = ["SETS", "STRATEGIES", "Chart", "discovery", "overlap"]
