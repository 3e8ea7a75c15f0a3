"""Renders a run's records as one page, plots and tables. `python -m warpgrade_reports RUN_DIR` is the way in."""
