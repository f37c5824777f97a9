"""Every notebook runs in a fresh kernel, and still prints the text stored in it.

``pytest --update-golden tests/test_notebooks.py`` stores what the notebooks give now.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

from jupyter_client.kernelspec import KernelSpec  # noqa: E402
from jupyter_client.manager import AsyncKernelManager  # noqa: E402

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SECONDS = 100
"""For one cell."""


def executed(notebook: Any) -> Any:
    """A copy of a notebook with the outputs of a fresh kernel, which is this very interpreter.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        A cell fails.
    """
    fresh = copy.deepcopy(notebook)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    manager = AsyncKernelManager(kernel_name="")
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=command, display_name="this Python", language="python")
    client = nbclient.NotebookClient(
        fresh,
        km=manager,
        timeout=SECONDS,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    client.execute()
    return fresh


def texts(notebook: Any) -> list[tuple[str, str]]:
    """The source of each code cell with all the plain text it gave."""
    return [(cell.source, "".join(map(_text, cell.outputs))) for cell in notebook.cells if cell.cell_type == "code"]


def _text(output: Any) -> str:
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return output.data.get("text/plain", "") + "\n"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, update_golden: bool) -> None:
    stored = nbformat.read(path, as_version=4)
    fresh = executed(stored)
    if update_golden:
        fresh.metadata = stored.metadata
        nbformat.write(fresh, path)
        return
    for (source, now), (_, then) in zip(texts(fresh), texts(stored), strict=True):
        assert now == then, f"the output stored for this cell is stale:\n{source}"


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


def test_a_failing_cell_fails() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="ZeroDivisionError"):
        executed(notebook)


def test_the_kernel_is_this_interpreter() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("import sys; print(sys.executable)")])
    assert texts(executed(notebook))[0][1].strip() == sys.executable
