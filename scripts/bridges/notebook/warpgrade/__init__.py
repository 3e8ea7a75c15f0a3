"""Warpgrade in a notebook: `%load_ext warpgrade`, then `%%cuda_lab spmm` or `%%triton_lab softmax`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What `%load_ext warpgrade` calls: nothing else of this package needs IPython."""
    from warpgrade.magics import register  # noqa: PLC0415 - IPython is there where this is called, and only there

    register(shell)
