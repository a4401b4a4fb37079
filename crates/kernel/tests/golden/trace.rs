//! Golden traces: the calls of a controller in a simulator run, and its answers. They are text with one call
//! per line:
//!
//!   s ...   on_sample       g   grow, after the sample of the same acknowledgement
//!   c why   cut             e what   an event
//!
//! After the call come the values that changed since the line before, each with a letter. The path: t now, u
//! una, n nxt, d delivered, i in flight, s srtt, m smallest RTT, p receiver's window, l limited by cwnd, r
//! recovering; times are in ns. The acknowledgement: A acked, S sacked, L lost, M marked, R raw RTT, D the
//! random number; these are not kept from line to line. The window, if the host has set it: W cwnd, H
//! ssthresh, in segments; `=` is the threshold that the last cut returned. After `>` comes the answer: c and
//! h are the window, `=` is the return value of a cut.

use ackclock_cc::{Ack, Controller, Event, Path, Signal, Window};
use ackclock_units::{Duration, Time};
use std::fmt::Write;

/// RFC 5681 (4), as hosts apply it.
const MIN_SSTHRESH: f64 = 2.0;

const EVENTS: [(&str, Event); 4] = [
    ("start", Event::Start),
    ("recovered", Event::Recovered),
    ("spurious", Event::Spurious),
    ("idle", Event::Idle),
];
const SIGNALS: [(&str, Signal); 3] =
    [("loss", Signal::Loss), ("mark", Signal::Mark), ("timeout", Signal::Timeout)];

/// The members of the path as numbers, in the order of their letters.
const LETTERS: &str = "tundismplr";

fn numbers(path: &Path) -> [f64; 10] {
    [
        path.now.as_nanos() as f64,
        path.una as f64,
        path.nxt as f64,
        path.delivered as f64,
        path.in_flight,
        path.srtt.as_nanos() as f64,
        if path.rtt_min == Duration::MAX { f64::INFINITY } else { path.rtt_min.as_nanos() as f64 },
        path.peer_window,
        f64::from(u8::from(path.cwnd_limited)),
        f64::from(u8::from(path.recovering)),
    ]
}

fn path(numbers: &[f64; 10]) -> Path {
    let [now, una, nxt, delivered, in_flight, srtt, rtt_min, peer_window, limited, recovering] = *numbers;
    Path {
        now: Time::from_nanos(now as u64),
        una: una as u64,
        nxt: nxt as u64,
        delivered: delivered as u64,
        in_flight,
        srtt: Duration::from_nanos(srtt as u64),
        rtt_min: if rtt_min.is_finite() { Duration::from_nanos(rtt_min as u64) } else { Duration::MAX },
        peer_window,
        cwnd_limited: limited > 0.0,
        recovering: recovering > 0.0,
        ..Path::default()
    }
}

/// The state that writer and player carry from line to line.
#[derive(Clone)]
struct Carried {
    path: [f64; 10],
    window: Window,
    asked: Option<f64>,
}

impl Carried {
    fn new() -> Carried {
        Carried { path: [0.0; 10], window: Window { cwnd: 0.0, ssthresh: 0.0, pacing: None }, asked: None }
    }
}

/// A controller that records its calls and answers.
#[derive(Clone)]
pub struct Writer {
    inner: Box<dyn Controller>,
    carried: Carried,
    lines: Vec<String>,
    most: usize,
    hand_over: fn(Vec<String>),
}

impl Writer {
    /// Wraps `inner`. Hands the lines over after `most` lines, or at its end.
    pub fn new(inner: Box<dyn Controller>, most: usize, hand_over: fn(Vec<String>)) -> Writer {
        Writer { inner, carried: Carried::new(), lines: Vec::new(), most, hand_over }
    }

    fn told(&mut self, mut line: String, path: &Path, ack: Option<&Ack>, w: &Window) -> String {
        for ((letter, new), old) in LETTERS.chars().zip(numbers(path)).zip(&mut self.carried.path) {
            if new != *old {
                let _ = write!(line, " {letter}{new}");
                *old = new;
            }
        }
        if let Some(ack) = ack {
            for (letter, value) in
                [('A', ack.acked), ('S', ack.sacked as f64), ('L', ack.lost as f64), ('M', ack.marked as f64)]
            {
                if value != 0.0 {
                    let _ = write!(line, " {letter}{value}");
                }
            }
            if let Some(rtt) = ack.rtt {
                let _ = write!(line, " R{}", rtt.as_nanos());
            }
            if ack.draw != 0.0 {
                let _ = write!(line, " D{}", ack.draw);
            }
        }
        let asked = self.carried.asked;
        for (letter, new, old) in
            [('H', w.ssthresh, self.carried.window.ssthresh), ('W', w.cwnd, self.carried.window.cwnd)]
        {
            match new {
                same if same == old => {}
                taken if Some(taken) == asked => _ = write!(line, " {letter}="),
                other => _ = write!(line, " {letter}{other}"),
            }
        }
        self.carried.window = *w;
        line + " >"
    }

    fn answered(&mut self, mut line: String, w: &Window) {
        if w.cwnd != self.carried.window.cwnd {
            let _ = write!(line, " c{}", w.cwnd);
        }
        if w.ssthresh != self.carried.window.ssthresh {
            let _ = write!(line, " h{}", w.ssthresh);
        }
        self.carried.window = *w;
        self.keep(line);
    }

    fn keep(&mut self, line: String) {
        if self.lines.len() < self.most {
            self.lines.push(line);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        (self.hand_over)(std::mem::take(&mut self.lines));
    }
}

impl Controller for Writer {
    fn on_sample(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        let line = self.told("s".to_owned(), path, Some(ack), w);
        self.inner.on_sample(path, ack, w);
        self.answered(line, w);
    }

    fn grow(&mut self, path: &Path, ack: &Ack, w: &mut Window) {
        let line = self.told("g".to_owned(), path, None, w);
        self.inner.grow(path, ack, w);
        self.answered(line, w);
    }

    fn cut(&mut self, path: &Path, w: &Window, why: Signal) -> Option<f64> {
        let word = SIGNALS.iter().find(|it| it.1 == why).expect("a known signal").0;
        let line = self.told(format!("c {word}"), path, None, w);
        let ssthresh = self.inner.cut(path, w, why);
        self.carried.asked = ssthresh.map(|it| it.max(MIN_SSTHRESH));
        self.keep(line + &ssthresh.map_or(String::new(), |it| format!(" ={it}")));
        ssthresh
    }

    fn on_event(&mut self, path: &Path, event: Event, w: &mut Window) {
        let word = EVENTS.iter().find(|it| it.1 == event).expect("a known event").0;
        let line = self.told(format!("e {word}"), path, None, w);
        self.inner.on_event(path, event, w);
        self.answered(line, w);
    }
}

/// The state after one line: that of the player, and that of the recorded controller.
pub struct Answer {
    pub line: usize,
    pub cwnd: (f64, f64),
    pub ssthresh: (f64, f64),
    pub cut: Option<(f64, f64)>,
}

/// Plays a trace to `controller`. The controller keeps its own window and follows the host's changes. `check`
/// sees the state of both controllers after each line.
pub fn play<C: Controller>(lines: &str, controller: &mut C, mut check: impl FnMut(&C, Answer)) {
    let mut theirs = Carried::new();
    let mut ours = Carried::new();
    let mut last = Ack::default();
    for (at, line) in lines.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let (told, answer) = line.split_once('>').expect("a line has an answer");
        let mut words = told.split_whitespace();
        let call = words.next().expect("a line has a call");
        let what = matches!(call, "c" | "e").then(|| words.next().expect("it says which"));
        let mut ack = Ack::default();
        for word in words {
            heed(word, &mut theirs, &mut ours, &mut ack);
        }
        if call == "s" {
            last = ack;
        }
        let path = path(&theirs.path);
        let w = &mut ours.window;
        let mut cut = None;
        match call {
            "s" => controller.on_sample(&path, &ack, w),
            "g" => controller.grow(&path, &last, w),
            "c" => cut = Some(controller.cut(&path, w, find(&SIGNALS, what))),
            _ => controller.on_event(&path, find(&EVENTS, what), w),
        }
        let mut recorded = None;
        for word in answer.split_whitespace() {
            let value = word[1..].parse().expect("a number");
            match &word[..1] {
                "c" => theirs.window.cwnd = value,
                "h" => theirs.window.ssthresh = value,
                _ => recorded = Some(value),
            }
        }
        if let Some(cut) = cut {
            assert_eq!(cut.is_some(), recorded.is_some(), "line {}: one of them reacts", at + 1);
            ours.asked = cut.map(|it| it.max(MIN_SSTHRESH));
            theirs.asked = recorded.map(|it| it.max(MIN_SSTHRESH));
        }
        let pair = |of: fn(&Window) -> f64| (of(&theirs.window), of(&ours.window));
        let cut = cut.flatten().zip(recorded).map(|(ours, theirs)| (theirs, ours));
        check(
            controller,
            Answer { line: at + 1, cwnd: pair(|w| w.cwnd), ssthresh: pair(|w| w.ssthresh), cut },
        );
    }
}

fn find<T: Copy>(all: &[(&str, T)], word: Option<&str>) -> T {
    all.iter().find(|it| Some(it.0) == word).expect("a known word").1
}

/// Applies one change of a line.
fn heed(word: &str, theirs: &mut Carried, ours: &mut Carried, ack: &mut Ack) {
    let (letter, text) = word.split_at(1);
    if let Some(at) = LETTERS.find(letter) {
        theirs.path[at] = text.parse().expect("a number");
        return;
    }
    for side in [theirs, ours] {
        let value =
            if text == "=" { side.asked.expect("after a cut") } else { text.parse().expect("a number") };
        match letter {
            "W" => side.window.cwnd = value,
            "H" => side.window.ssthresh = value,
            "A" => ack.acked = value,
            "S" => ack.sacked = value as u64,
            "L" => ack.lost = value as u64,
            "M" => ack.marked = value as u64,
            "D" => ack.draw = value,
            "R" => ack.rtt = Some(Duration::from_nanos(value as u64)),
            other => panic!("{other} means nothing"),
        }
    }
}
