"""The notebooks of the docs run from beginning to end."""

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient

BOOK = ROOT / "docs" / "src"
NOTEBOOKS = sorted((BOOK / "notebooks").glob("*.ipynb"))


def test_there_are_three_and_the_book_has_them():
    assert len(NOTEBOOKS) == 3
    page = (BOOK / "python.md").read_text()
    assert all(f"(notebooks/{path.name})" in page for path in NOTEBOOKS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert any("text/html" in output.get("data", {}) for output in shown)
