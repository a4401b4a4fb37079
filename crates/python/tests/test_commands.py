"""The other commands as functions: captures, published experiments, pictures for notebooks."""

import matplotlib
import pytest
from conftest import ROOT

import ackclock

matplotlib.use("Agg")
# Two connections of the kernel, and one that was simulated.
KERNEL = ROOT / "crates" / "cli" / "tests" / "captures" / "kernel.pcapng"
SIMULATED = ROOT / "fuzz" / "seeds" / "capture" / "simulated.pcap"


def test_a_capture_is_traced():
    traced = ackclock.trace(KERNEL)
    assert [connection["number"] for connection in traced["connections"]] == [0, 1]
    assert traced["packets"] >= traced["tcp_packets"] > 100
    second = ackclock.trace(str(KERNEL), stream=1)
    assert second["connections"] == traced["connections"][1:]
    with pytest.raises(ackclock.Error, match="there is no connection 2") as caught:
        ackclock.trace(KERNEL, stream=2)
    assert "2 connections" in caught.value.remedy
    with pytest.raises(ackclock.Error, match="cannot be read"):
        ackclock.trace("nothing.pcap")


def test_the_losses_of_a_captured_connection_are_predicted():
    found = ackclock.predict(SIMULATED)
    assert found["samples"] > 10 and len(found["predictors"]) == 10
    assert ackclock.predict(str(SIMULATED), stream=0, threshold="65 ms", samples=10, until_low=True)["predictors"]
    with pytest.raises(ackclock.Error, match="2 TCP connections"):
        ackclock.predict(KERNEL)
    with pytest.raises(ackclock.Error, match="threshold"):
        ackclock.predict(SIMULATED, threshold="65 apples")
    with pytest.raises(ackclock.Error, match="cannot be read"):
        ackclock.predict("nothing.pcapng")


def test_a_published_experiment_runs_again(tmp_path):
    first = ackclock.reproduce("dcr-fig-1", seeds_max=1, store=tmp_path)
    assert [experiment["id"] for experiment in first["experiments"]] == ["dcr-fig-1"]
    claims = first["experiments"][0]["claims"]
    assert sum(first["counts"].values()) == len(claims) == 5 and first["counts"]["holds"] > 0
    assert first["build"] == ackclock.build()
    kept = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    again = ackclock.reproduce("dcr-fig-1", seeds_max=1, store=tmp_path, threads=1)
    assert again["experiments"] == first["experiments"]
    assert kept == sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    with pytest.raises(ackclock.Error, match="nonesuch"):
        ackclock.reproduce("nonesuch")


def test_results_are_plotted(small):
    results = ackclock.run(small, seeds=2)
    axes = results.plot("cwnd")
    assert axes.get_ylabel() == "cwnd" and len(axes.lines) == 4
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["reno reno 0", "reno reno 0", "cubic cubic 0", "cubic cubic 0"]
    first = [row for row in results.series if row["seed"] == 1 and row["label"] == "reno"]
    assert axes.lines[0].get_xydata().tolist() == [[row["time_s"], row["cwnd"]] for row in first]
    assert results.plot("srtt_s", ax=axes) is axes and len(axes.lines) == 8
    with pytest.raises(KeyError, match="there is no column 'nothing'"):
        results.plot("nothing")
    with pytest.raises(ValueError, match="probes=True"):
        ackclock.run(small, seeds=1, probes=False).plot()


def test_notebooks_show_tables_and_pictures(small):
    results = ackclock.run(small, seeds=15, set={"name": "a <name>"})
    assert "a &lt;name&gt;" in results._repr_html_() and "<svg" in results._repr_html_()
    shown = results.groups._repr_html_()
    assert shown.count("<tr>") == 1 + 20 and "10 more rows" in shown and "goodput_bps.total" in shown
    failing = ackclock.run(small, seeds=1, probes=False, set={"expect": [{"that": "utilisation('bottleneck') > 2"}]})
    assert "does not hold: <code>utilisation(&#x27;bottleneck&#x27;) &gt; 2</code>" in failing._repr_html_()
    assert "<pre>" in ackclock.Scenario(small)._repr_html_() and "droptail" in ackclock.Scenario(small)._repr_html_()
    listed = ackclock.list("queues")
    assert listed._repr_html_().count("<tr>") == 1 + len(listed)
    assert "codel" in repr(listed) and "c = " in repr(ackclock.show("cubic"))
