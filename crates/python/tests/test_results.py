"""Results are those of the command line, as tables."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import ROOT

import ackclock
from ackclock import _native

SCENARIOS = sorted((ROOT / "scenarios").rglob("*.toml"))
# What is expected of these looks at later moments than the others need: they run as they are.
WHOLE = [
    "5.1-variable-capacity", "5.2-variable-capacity-two-flows", "5.3-congested-feedback", "5.8-pause-and-resume"
]
# The program of this checkout, or the one that is named.
PROGRAM = Path(os.environ.get("ACKCLOCK", ROOT / "target" / "debug" / "ackclock"))
# Crates that the program has nothing of.
OTHERS = ("python", "quic")
# What two runs of the same have not in common.
TIMED = ("wall_s", "segments_per_wall_s")


def nested(row: dict) -> dict:
    """A row with fields of fields again. What is null all through is null."""
    whole: dict = {}
    for name, value in row.items():
        at = whole
        *outer, last = name.split(".")
        for part in outer:
            at = at.setdefault(part, {})
        at[last] = value
    return whole


def same(table, contract) -> bool:
    """A value of a table is that of the contract, which leaves out what is zero, false or empty."""
    if isinstance(contract, dict):
        table = {key: table.get(key) for key in {*table, *contract}}
        return all(
            same(value, contract[key]) if key in contract else nothing(value) for key, value in table.items()
        )
    if isinstance(contract, list):
        return len(table) == len(contract) and all(map(same, table, contract))
    return nothing(table) if contract is None else table == contract


def nothing(value) -> bool:
    if isinstance(value, dict):
        return all(map(nothing, value.values()))
    return value in (None, 0, False, [])


def short(path: Path) -> ackclock.Scenario:
    """A scenario of which a part is enough."""
    scenario = ackclock.Scenario(path)
    if path.stem in WHOLE:
        return scenario
    whole = scenario.to_dict()
    whole.pop("measure", None)
    whole["duration"] = "3 s"
    if "seeds" in whole:
        whole["seeds"] = 2
    for group in [*whole["flows"], *whole.get("traffic", [])]:
        group.pop("stop", None)
        if group.get("start") not in (None, "0 s"):
            group["start"] = "0 s"
    return ackclock.Scenario(whole)


def test_there_are_scenarios():
    """All of them can be simulated, those for emulators too."""
    assert len(SCENARIOS) >= 42 and {*WHOLE} <= {path.stem for path in SCENARIOS}


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_tables_say_what_the_contract_says(path, monkeypatch):
    monkeypatch.chdir(path.parent)  # scenarios name files beside them
    results = ackclock.run(short(path), probes=False)
    points = results.to_dict()["points"]
    for name in ("flows", "groups", "links", "traffic", "expectations"):
        table = results.table(name)
        assert len({*table.columns}) == len(table.columns)
        rows = table.to_pylist()
        contract = [(point, entry) for point in points for entry in point[name]]
        assert len(rows) == len(contract), name
        for row, (point, entry) in zip(rows, contract):
            for axis in point["parameters"]:
                shown = row.pop(f"sweep.{axis}" if f"sweep.{axis}" in row else axis)
                value = point["parameters"][axis]
                if isinstance(value, (int, float, str)):
                    assert shown == value
                else:
                    assert isinstance(shown, str) and shown
            assert row.pop("seed") == point["seed"]
            entry.pop("seen", None)
            assert same(nested(row), entry), (name, row, entry)
    for row, point in zip(results.points.to_pylist(), points, strict=True):
        for field in ("seed", "drawn", "duration_s", "jain", "delivered_segments"):
            assert row[field] == point[field]
        assert [row["measure_from_s"], row["measure_to_s"]] == point["measure_s"]
        assert row["warnings"] == point.get("warnings", [])


def comparable(document: dict) -> dict:
    """A document without what differs from run to run."""
    for point in document["points"]:
        for key in TIMED:
            point.pop(key)
    return document


@pytest.mark.parametrize("name", ["first", "sweep-buffers", "l4s", "rrul", "rate/rfc8867/5.4-same-control", "kernel/paths"])
def test_documents_are_those_of_the_program(name, tmp_path):
    if not PROGRAM.exists():
        pytest.skip(f"the program is not built: {PROGRAM}")
    built = PROGRAM.stat().st_mtime
    sources = [path for path in (ROOT / "crates").glob("*/src/**/*.rs") if path.parts[len(ROOT.parts) + 1] not in OTHERS]
    newer = [path for path in sources if path.stat().st_mtime > built]
    if newer and "ACKCLOCK" not in os.environ:
        pytest.skip(f"the program is older than {newer[0]}: cargo build -p ackclock")
    file = tmp_path / "short.toml"
    file.write_text(short(ROOT / "scenarios" / f"{name}.toml").to_toml() + "\n")
    ran = subprocess.run([PROGRAM, "run", file, "--json"], capture_output=True, text=True, check=False)
    # What is expected of the whole run may not hold in its first seconds.
    assert ran.returncode in (0, 1), ran.stderr
    document = comparable(json.loads(ran.stdout))
    assert document == comparable(ackclock.run(file, probes=False).to_dict())


def test_libraries_read_tables_as_they_are(small):
    import pandas
    import polars
    import pyarrow

    groups = ackclock.run(small, seeds=2).groups
    rows = groups.to_pylist()
    assert len(groups) == len(rows) == 4
    assert pyarrow.table(groups).column("jain").to_pylist() == [row["jain"] for row in rows]
    assert isinstance(groups.to_pandas(), pandas.DataFrame)
    assert groups.to_pandas()["goodput_bps.total"].to_list() == groups["goodput_bps.total"]
    assert isinstance(groups.to_polars(), polars.DataFrame)
    assert groups.to_polars()["flows.0.control"].to_list() == ["reno", "reno", "cubic", "cubic"]
    assert [*groups] == rows


def test_series_are_there_if_probes_are(small):
    seen = ackclock.run(small, seeds=1, set={"probe": "100 ms"})
    assert len(seen.series) == 2 * 21 and {row["label"] for row in seen.series} == {"reno", "cubic"}
    assert len(seen.link_series) == 2 * 2 * 21
    times = seen.series["time_s"]
    assert times[:3] == [0.0, 0.1, 0.2]
    assert all(value >= 1 for value in seen.series["cwnd"][1:21])
    without = ackclock.run(small, seeds=1, probes=False)
    assert len(without.series) == 0
    assert without.flows.to_pylist() == seen.flows.to_pylist()


def test_errors_are_those_of_the_command_line(tmp_path):
    text = 'duration = "5 s"\n[topology.dumbbell]\nbottleneck = { rate = "1 Mbit/s", dely = "1 ms" }\n'
    file = tmp_path / "wrong.toml"
    file.write_text(text + '[[flows]]\ncontrol = "reno"\n')
    with pytest.raises(ackclock.Error) as caught:
        ackclock.run(file)
    assert caught.value.line == 3 and caught.value.key.endswith("dely")
    assert "delay" in caught.value.remedy and "wrong.toml" in str(caught.value)
    file.write_text(file.read_text().replace("dely", "delay"))
    with pytest.raises(ackclock.Error) as caught:
        ackclock.run(file, set={"flows.0.control": "cubics"})
    assert caught.value.line is None and '"cubic"' in caught.value.remedy
    with pytest.raises(ackclock.Error) as caught:
        ackclock.run(tmp_path / "nothing.toml")
    assert "there is no such file" in caught.value.message
    with pytest.raises(ackclock.Error, match="did you mean"):
        ackclock.show("cubicc")
    with pytest.raises(ackclock.Error, match="cannot be a value"):
        ackclock.Scenario({"duration": None})


def test_an_error_travels_between_processes():
    import pickle

    with pytest.raises(ackclock.Error) as caught:
        ackclock.run("duration = 5\n")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.line, again.remedy) == (str(caught.value), caught.value.line, caught.value.remedy)


def test_values_replace_those_of_the_file(small):
    results = ackclock.run(small, set={"flows.0.count": 3, "flows.0.control": "vegas"}, seeds=[7])
    assert results.axes == ["flows.0.control"] and len(results) == 1
    assert results.points["seed"] == [7]
    assert results.flows["control"] == ["vegas"] * 3


def test_a_comparison_is_the_command_lines():
    results = ackclock.compare("reno", "cubic", rate="10 Mbit/s", rtt="20 ms", duration="3 s", seeds=2)
    assert results.groups["flows.0.control"] == ["reno", "reno", "cubic", "cubic"]
    assert results.to_dict()["scenario"]["topology"]["dumbbell"]["bottleneck"]["loss"] == 3e-6
    assert any("<svg" in picture for picture in results.pictures().values())
    assert "<table>" in results._repr_html_() and "<svg" in results._repr_html_()


def test_what_can_be_chosen_is_listed_and_shown():
    kinds = {entry["kind"] for entry in ackclock.list()}
    assert {"controls", "queues", "experiments"} <= kinds
    assert {entry["kind"] for entry in ackclock.list("queues")} == {"queues"}
    assert ackclock.show("cubic")["kind"] == "controls"
    assert any(parameter["name"] == "c" for parameter in ackclock.show("cubic")["parameters"])


def test_predictors_and_published_experiments(small):
    plain = {key: value for key, value in small.items() if key not in ("sweep", "seeds")}
    found = ackclock.predict(plain, samples=100)
    assert found["samples"] > 0 and len(found["predictors"]) == 10
    experiment = ackclock.list("experiments")[0]["name"]
    assert ackclock.show(experiment)["id"] == experiment


def test_stubs_name_everything_that_is_there():
    import ast

    tree = ast.parse((Path(_native.__file__).parent / "_native.pyi").read_text())
    declared = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    there = {name for name in dir(_native) if not name.startswith("_")}
    assert set(declared) == there
    for name, node in declared.items():
        if isinstance(node, ast.ClassDef) and name != "Error":
            members = {it.name for it in node.body if isinstance(it, ast.FunctionDef)}
            members |= {it.target.id for it in node.body if isinstance(it, ast.AnnAssign)}
            own = {it for it in vars(getattr(_native, name)) if not it.startswith("_")}
            assert own == {it for it in members if not it.startswith("_")}, name


def test_other_threads_go_on_while_the_engine_runs(small):
    count, over = [0], threading.Event()

    def counting():
        while not over.is_set():
            count[0] += 1
            over.wait(0.001)

    thread = threading.Thread(target=counting)
    thread.start()
    ackclock.run(small, seeds=1, probes=False, set={"duration": "300 s"})
    over.set()
    thread.join()
    assert count[0] > 5


def test_ctrl_c_ends_a_run():
    program = (
        "import ackclock, sys; print('begun', flush=True)\n"
        "ackclock.compare('cubic', rate='10 Gbit/s', duration='10000 s', probes=False)"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"begun\n"
    threading.Event().wait(0.5)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in stderr and process.returncode != 0


def test_a_scenario_travels(small):
    import pickle

    scenario = ackclock.Scenario(small, set={"duration": "1 s"}, seeds=3)
    again = pickle.loads(pickle.dumps(scenario))
    assert again == scenario and again.count == 6
    assert again.axes == {"flows.0.control": ["reno", "cubic"]}
    assert json.loads(json.dumps(again.to_dict()))["seeds"] == 3


def test_a_type_checker_sees_what_is_there(tmp_path):
    here = Path(__file__).parent
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path), "tests/typed.py"]
    ran = subprocess.run(command, cwd=here.parent, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
