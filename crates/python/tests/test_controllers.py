"""Controllers in Python."""

import itertools
import re
import time
import traceback

import pytest

import ackclock

PATH = {
    "duration": "20 s",
    "topology": {"dumbbell": {"bottleneck": {"rate": "10 Mbit/s", "delay": "20 ms", "queue": {"droptail": "1 bdp"}}}},
    "flows": [{"label": "prototype", "control": "mine"}],
}


class Reno:
    """What the controller of this name does, in a few lines."""

    def grow(self, path, ack, w):
        acked = ack.acked
        if w.cwnd < w.ssthresh:
            used = min(acked, w.ssthresh - w.cwnd)
            w.cwnd += used
            acked -= used
        w.cwnd += acked / w.cwnd

    def cut(self, path, w, why):
        return w.cwnd / 2


def _flows(results):
    return [{k: v for k, v in row.items() if "control" not in k} for row in results.flows.to_pylist()]


def test_it_is_a_controller_like_any_other():
    results = ackclock.run(PATH, controllers={"mine": Reno})
    beside = ackclock.run(PATH, set={"flows.0.control": "reno"})
    row, other = results.flows.to_pylist()[0], beside.flows.to_pylist()[0]
    assert row["goodput_bps"] == pytest.approx(other["goodput_bps"], rel=0.1)
    assert row["window_cuts"] > 0
    assert _flows(ackclock.run(PATH, controllers={"mine": Reno})) == _flows(results)


def test_an_exception_ends_the_run_with_its_traceback():
    class Broken(Reno):
        def grow(self, path, ack, w):
            if path.now > 1.0:
                raise ZeroDivisionError("on purpose")
            super().grow(path, ack, w)

    begun = time.monotonic()
    with pytest.raises(ZeroDivisionError, match="on purpose") as raised:
        ackclock.run(PATH, set={"duration": "100000 s"}, controllers={"mine": Broken})
    assert time.monotonic() - begun < 30
    (note,) = raised.value.__notes__
    assert note.startswith('in the controller "mine" of flow 0, "prototype", at 1.0')
    assert "in grow" in "".join(traceback.format_tb(raised.value.__traceback__))


def _note_of(counted, flows=None):
    """The note of what the first class raises, which is given the number of its instance."""

    class Counted(Reno):
        made = itertools.count()

        def __init__(self):
            self.number = next(Counted.made)
            counted(self, None)

        def grow(self, path, ack, w):
            counted(self, path)
            super().grow(path, ack, w)

    three = [{"label": "first", "control": "reno"}, {"label": "prototype", "control": "mine", "count": 3}]
    with pytest.raises(ZeroDivisionError) as raised:
        ackclock.run(PATH, set={"flows": flows or three}, controllers={"mine": Counted})
    (note,) = raised.value.__notes__
    return note


def test_the_note_says_which_flow_it_was():
    def later(controller, path):
        if controller.number == 1 and path is not None and path.now > 2.0:
            raise ZeroDivisionError

    note = _note_of(later)
    assert re.fullmatch(r'in the controller "mine" of flow 2, "prototype", at 2\.\d{6} s', note)


def test_the_note_says_whose_instance_was_made():
    def at_once(controller, path):
        if controller.number == 2 and path is None:
            raise ZeroDivisionError

    note = _note_of(at_once)
    assert note == 'in the controller "mine" of flow 3, "prototype", as it was made, after 0.000000 s'

    # A connection for each request: the tenth begins in the course of the run.
    def tenth(controller, path):
        if controller.number == 9 and path is None:
            raise ZeroDivisionError

    requests = {"http": {"persistent": False}, "size": "100 kB", "repeat": 20, "control": "mine"}
    note = _note_of(tenth, [{"control": "reno"}, requests])
    found = re.fullmatch(r'in the controller "mine" of flow 1, "mine", as it was made, after (\d+\.\d{6}) s', note)
    assert found and 0.5 < float(found[1]) < 20


@pytest.mark.parametrize(
    "change, error, says",
    [
        ({"cut": lambda self, path, w, why: "half"}, TypeError, "str"),
        ({"grow": lambda self, path, ack, w: setattr(w, "cwnd", float("nan"))}, ValueError, "cwnd became NaN"),
        ({"__init__": lambda self: 1 / 0}, ZeroDivisionError, "division"),
        ({"needs": ["magic"]}, ackclock.Error, "there are draw"),
        ({"cut": None, "grow": None}, TypeError, "not callable"),
    ],
)
def test_mistakes_have_names(change, error, says):
    with pytest.raises(error, match=says):
        ackclock.run(PATH, controllers={"mine": type("Mine", (Reno,), change)})


def test_names_and_methods_are_checked():
    with pytest.raises(ackclock.Error, match="has no method cut"):
        ackclock.run(PATH, controllers={"mine": type("Mine", (), {"grow": Reno.grow})})
    with pytest.raises(ackclock.Error, match="is a controller already"):
        ackclock.run(PATH, controllers={"cubic": Reno})
    with pytest.raises(ackclock.Error, match='no control called "mine"'):
        ackclock.run(PATH)


def test_all_that_a_controller_can_ask_for_is_there():
    seen = {}

    class Curious(Reno):
        needs = ["rate", "draw", "forward"]

        def on_sample(self, path, ack, w):
            seen.setdefault("samples", []).append((path.now, ack.rtt, ack.rate, ack.draw, ack.forward))

        def on_event(self, path, event, w):
            seen.setdefault("events", set()).add(event)

        def on_lost(self, path, segment, w):
            seen.setdefault("lost", []).append(segment)

    ackclock.run(PATH, controllers={"mine": Curious})
    assert {"start", "recovered"} <= seen["events"]
    assert seen["lost"] and len(seen["samples"]) > 1000
    now, rtt, rate, draw, forward = seen["samples"][500]
    assert 0 < now < 20 and 0.04 <= rtt < 0.2 and rate > 0 and 0 < draw < 1 and 0.02 <= forward < 0.2


def test_a_rate_is_a_controllers_to_set():
    class Paced(Reno):
        needs = ["window", "pacing"]

        def on_sample(self, path, ack, w):
            w.cwnd, w.pacing = 1000.0, 5e6

        def grow(self, path, ack, w):
            pass

    results = ackclock.run(PATH, controllers={"mine": Paced}, probes=False)
    (link,) = [row for row in results.links.to_pylist() if row["name"] == "bottleneck"]
    assert link["utilisation"] == pytest.approx(0.5, abs=0.05)
