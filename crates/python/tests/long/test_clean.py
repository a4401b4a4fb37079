"""An empty virtual environment: the one command of the book installs the wheel, and the first notebook runs there."""

import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient

ROOT = Path(__file__).parents[4]
BOOK = ROOT / "docs" / "src"


def test_the_first_notebook_runs_where_nothing_else_is(tmp_path, monkeypatch):
    place = tmp_path / "clean"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    python = place / "bin" / "python"
    (command,) = re.findall(r"^pip install (target/.*)$", (BOOK / "python.md").read_text(), re.MULTILINE)
    subprocess.run(f"{python} -m pip install -q --disable-pip-version-check {command}", shell=True, check=True, cwd=ROOT)
    # What a notebook needs itself.
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "ipykernel"], check=True)
    kernel = {"argv": [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"], "language": "python"}
    (tmp_path / "clean-kernel").mkdir()
    (tmp_path / "clean-kernel" / "kernel.json").write_text(json.dumps(kernel | {"display_name": "clean"}))
    KernelSpecManager().install_kernel_spec(str(tmp_path / "clean-kernel"), "clean", prefix=str(tmp_path))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share" / "jupyter"))
    monkeypatch.chdir(tmp_path)
    notebook = nbformat.read(BOOK / "notebooks" / "first-comparison.ipynb", as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("import sys; print(sys.prefix)"))
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, kernel_name="clean", resources=resources).execute()
    assert notebook.cells[0].outputs[0]["text"].strip() == str(place)
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in shown)
