"""What the README and other pages show is what their code prints.

Each ``python`` block with a ``text`` block behind it is saved as ``model.py`` and run. ``pytest --update-golden
tests/test_readme.py`` stores what they print now.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fresh import script_output

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "cuda.md",
    ROOT / "docs" / "derivatives.md",
    ROOT / "docs" / "instructions.md",
    ROOT / "docs" / "engines.md",
    ROOT / "docs" / "kernels.md",
    ROOT / "docs" / "memory.md",
    ROOT / "docs" / "parallel.md",
    ROOT / "docs" / "rewriting.md",
    ROOT / "docs" / "facts.md",
    ROOT / "docs" / "shared.md",
    ROOT / "docs" / "variables.md",
]
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n(?P<output>.*?)```", re.DOTALL)
BLOCKS = [block for page in PAGES for block in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def printed(code: str, folder: Path) -> str:
    """What a block prints when it is saved as ``model.py`` and run."""
    (folder / "model.py").write_text(code, encoding="utf-8")
    output = script_output(folder / "model.py")
    return "\n".join(line.rstrip() for line in output.strip().splitlines()) + "\n"


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_readme_shows_what_its_code_prints(number: int, tmp_path: Path, update_golden: bool):
    if not update_golden:
        assert printed(BLOCKS[number]["code"], tmp_path) == BLOCKS[number]["output"]
    elif number == 0:  # one test writes for all, as several may run at once
        for page in PAGES:
            page.write_text(BLOCK.sub(lambda block: refreshed(block, tmp_path), page.read_text(encoding="utf-8")))


def refreshed(block: re.Match[str], folder: Path) -> str:
    return f"```python\n{block['code']}```\n\n```text\n{printed(block['code'], folder)}```"
