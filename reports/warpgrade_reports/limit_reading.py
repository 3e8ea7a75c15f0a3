"""Reads what scores.json says of the least times that a device allows."""

from __future__ import annotations

from warpgrade_reports.model import Limit, Limits
from warpgrade_reports.source import Node

_OPERATIONS = "operations_per_s"  # by unit, "fp64 tensor"; in the model each is a rate of its own, fp64_tensor_per_s


def read_limit(node: Node | None) -> Limit | None:
    """A case's limit; None where none is known."""
    us = node.number("us") if node else None
    if node is None or us is None or us <= 0:
        return None
    moved, operations = node.number("bytes") or 0.0, node.number("operations") or 0.0
    return Limit(us, node.text("bound_by"), node.number("share"), moved, operations, node.optional_text("unit"))


def read_limits(node: Node | None) -> Limits | None:
    """The rates behind them; None in scores of before."""
    rates = node.optional_child("rates") if node else None
    if node is None or rates is None:
        return None
    found = {name: rates.number(name) for name in rates.value if name != _OPERATIONS}
    if operations := rates.optional_child(_OPERATIONS):
        found |= {f"{unit.replace(' ', '_')}_per_s": operations.number(unit) for unit in operations.value}
    known = {name: value for name, value in found.items() if value is not None and value > 0}
    return Limits(node.optional_text("device"), known, node.optional_text("source"))
