//! The golden traces of the repository, which the eBPF programs follow, too: up to its first reduction a
//! trace holds nothing that TCP and QUIC tell differently.

use crate::control::controller;
use crate::driver::Driver;
use ackclock_cc::Signal;
use ackclock_units::Time;
use std::path::Path;

/// The engine's segments.
const MTU: u16 = 1500;

type Told<'a> = (char, &'a str);
type Answer = (char, f64);

/// Letters and values of a line, and what stands behind its arrow.
fn parts(line: &str) -> (Vec<Told<'_>>, Vec<Answer>) {
    let (told, answer) = line.split_once('>').expect("a line has an answer");
    let words = told.split_whitespace().skip(1);
    let told = words.filter(|word| word.len() > 1).map(|word| (word.as_bytes()[0] as char, &word[1..]));
    let answer = answer
        .split_whitespace()
        .map(|word| (word.as_bytes()[0] as char, word[1..].parse().expect("a number")));
    (told.collect(), answer.collect())
}

/// Plays the trace to a driver; returns the acknowledgements before the first reduction.
fn play(name: &str, text: &str) -> usize {
    let control =
        text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("it names its controller");
    let control = controller(control).expect("as in a scenario").uncontrolled();
    let mut driver =
        Driver::new(&control.slow_start("standard").expect("it is there"), MTU, Time::from_nanos(0));
    let (mut nxt, mut heard, mut cwnd, mut ssthresh) = (0, 0, 10.0, f64::INFINITY);
    let mut now = Time::from_nanos(0);
    for line in text.lines().skip(1) {
        let (told, answer) = parts(line);
        let of = |letter| told.iter().find(|(it, _)| *it == letter).map(|(_, value)| *value);
        let number = |letter| of(letter).map(|value| value.parse::<f64>().expect("a number"));
        now = number('t').map_or(now, |ns| Time::from_nanos(ns as u64));
        for (letter, value) in &answer {
            match letter {
                'c' => cwnd = *value,
                'h' => ssthresh = *value,
                _ => {}
            }
        }
        match line.as_bytes()[0] {
            // The start: the host's window and threshold.
            b'e' => {
                (cwnd, ssthresh) = (number('W').unwrap_or(cwnd), number('H').unwrap_or(ssthresh));
                driver.window.cwnd = cwnd;
                driver.window.ssthresh = ssthresh;
            }
            b's' => {
                if number('M').is_some() || number('S').is_some() || number('L').is_some() {
                    return heard;
                }
                let upto = number('n').map_or(nxt, |it| it as u64);
                let rtt = number('R').expect("every acknowledgement has a round-trip time");
                let sent = Time::from_nanos(now.as_nanos() - rtt as u64);
                // What left since the last acknowledgement is already in flight when this one comes.
                for _ in nxt..upto {
                    driver.on_sent(now, MTU.into());
                }
                nxt = upto;
                driver.on_acked(sent, number('A').expect("of new data") as u64 * u64::from(MTU), None);
                driver.recorded = number('D');
                driver.on_ack_end(now, None, Some(heard as u64), true, false);
                heard += 1;
            }
            b'g' => {
                assert_eq!(
                    (driver.window.cwnd, driver.window.ssthresh),
                    (cwnd, ssthresh),
                    "{name}, line {line}"
                );
            }
            _ => {
                assert_eq!(&line[..6], "c loss", "{name}: {line}");
                let cut = answer.iter().find(|(letter, _)| *letter == '=').expect("it reacts").1;
                let reacted = driver.ask(now, Signal::Loss);
                assert!(reacted && driver.window.ssthresh == cut.max(2.0), "{name}: {line}");
                return heard;
            }
        }
    }
    heard
}

#[test]
fn the_golden_traces_hold_up_to_their_first_reduction() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden");
    let mut played = 0;
    for entry in std::fs::read_dir(&folder).expect("golden/ is there") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if name.starts_with("none") {
            continue; // its window is the receiver's, which QUIC does not tell
        }
        let heard = play(&name, &std::fs::read_to_string(&path).expect("text"));
        println!("{name}: {heard} acknowledgements");
        assert!(heard >= 8, "{name}: only {heard}");
        played += 1;
    }
    assert!(played >= 20, "only {played} traces");
}
