//! Hosts: what can drive a controller, and what each can give it.
//!
//! A controller states what it [needs](Needs); a host states what it gives. Where something is missing the
//! host refuses the scheme by name: a scheme without its rate or its marks would be another scheme under the
//! same name. This table decides for the QUIC adapters, and the book prints it.

use crate::{Needs, Settings};
use std::fmt;

/// What can drive controllers.
pub struct Host {
    /// The name in tables and refusals.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// What it can give.
    pub gives: Needs,
    /// The schemes that it has, if each needs a program of its own there.
    pub only: Option<&'static [&'static str]>,
    /// What differs from the simulator, one sentence each.
    pub notes: &'static [&'static str],
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Everything that a controller can ask for.
const EVERYTHING: Needs =
    Needs { draw: true, forward: true, rate: true, marks: true, l4s: true, window: true, pacing: true };

/// What every QUIC adapter gives: random numbers come from the adapter, and the window is the controller's.
const QUIC: Needs = Needs { draw: true, window: true, ..Needs::NOTHING };

/// The notes that hold for every QUIC stack.
macro_rules! of_quic {
    ($($own:literal),* $(,)?) => {
        &[
            "losses are detected and repaired as RFC 9002 says, whatever a scheme's source asks for",
            "the least window is two packets (RFC 9002 section 7.2), and only persistent congestion counts as \
             a timeout",
            "`none` must be asked for twice, and then flow control bounds it",
            $($own),*
        ]
    };
}

/// The simulator, and the endpoints of this project's own TCP.
pub const SIMULATOR: Host =
    Host { name: "simulator", title: "virtual time", gives: EVERYTHING, only: None, notes: &[] };

/// This project's TCP against unmodified hosts.
pub const OWN_TCP: Host = Host {
    name: "own TCP",
    title: "this project's TCP over a TUN device",
    gives: EVERYTHING,
    only: None,
    notes: &[
        "exact marks need a receiver that tells of each: one with accurate ECN (RFC 9768), or Linux with dctcp",
        "one-way delays are differences of the receiver's timestamps, which are taken for milliseconds",
    ],
};

/// quinn 0.11.
pub const QUINN: Host = Host {
    name: "quinn",
    title: "quinn 0.11",
    gives: QUIC,
    only: None,
    notes: of_quic![
        "packets are paced at 1.25 windows per round trip, whatever the controller says",
        "losses come in batches, and spurious ones are not reported",
    ],
};

/// noq 1.4.
pub const NOQ: Host = Host {
    name: "noq",
    title: "noq 1.4, a fork of quinn",
    gives: Needs { rate: true, pacing: true, ..QUIC },
    only: None,
    notes: of_quic!["spurious losses are reported once all lost packets have arrived"],
};

/// s2n-quic 1.91.
pub const S2N_QUIC: Host = Host {
    name: "s2n-quic",
    title: "s2n-quic 1.91",
    gives: Needs { rate: true, marks: true, pacing: true, ..QUIC },
    only: None,
    notes: of_quic!["spurious losses are not reported"],
};

/// The eBPF programs in the running kernel.
pub const KERNEL: Host = Host {
    name: "eBPF",
    title: "a program in the running Linux kernel",
    gives: EVERYTHING,
    only: Some(&["compound", "layered", "none", "pert"]),
    notes: &["windows are whole segments, and recovery is Linux's"],
};

/// All hosts, in the order of the documentation.
pub const fn hosts() -> &'static [&'static Host] {
    &[&SIMULATOR, &OWN_TCP, &QUINN, &NOQ, &S2N_QUIC, &KERNEL]
}

impl Needs {
    /// What is needed and not among what `gives` has, in words.
    pub fn missing_from(self, gives: Needs) -> Vec<&'static str> {
        let all = [
            (self.draw, gives.draw, "a random number with every acknowledgement"),
            (self.forward, gives.forward, "one-way delays, from the receiver's time stamps"),
            (self.rate, gives.rate, "the delivery and the loss of each packet"),
            (self.marks, gives.marks, "the number of marked packets"),
            (self.l4s, gives.l4s, "ECT(1) on packets"),
            (self.window, gives.window, "the window in every state"),
            (self.pacing, gives.pacing, "sending at the controller's rate"),
        ];
        all.into_iter().filter(|&(needed, given, _)| needed && !given).map(|(_, _, what)| what).collect()
    }
}

impl Host {
    /// True if the host has the scheme of `settings`, or could have it.
    pub fn has(&self, settings: &Settings) -> bool {
        self.only.is_none_or(|only| only.contains(&settings.scheme().name))
    }

    /// What the scheme with these settings needs and this host cannot give, in words. Empty: it runs there.
    pub fn missing(&self, settings: &Settings) -> Vec<&'static str> {
        if !self.has(settings) {
            return vec!["a program of its own"];
        }
        settings.needs().missing_from(self.gives)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Given, scheme, schemes};

    fn runs(host: &Host) -> Vec<&'static str> {
        let all = schemes().iter().map(|scheme| Settings::defaults(scheme));
        all.filter(|settings| host.missing(settings).is_empty()).map(|it| it.scheme().name).collect()
    }

    #[test]
    fn a_stack_runs_what_it_can_feed() {
        let everywhere = [
            "reno",
            "highspeed",
            "scalable",
            "bic",
            "cubic",
            "htcp",
            "vegas",
            "fast",
            "westwood",
            "illinois",
            "compound",
            "layered",
            "pert",
            "none",
        ];
        assert_eq!(runs(&SIMULATOR).len(), schemes().len());
        for (host, more) in [
            (&QUINN, [].as_slice()),
            (&NOQ, ["copa", "bbr", "bbr3", "policy"].as_slice()),
            (&S2N_QUIC, ["dctcp", "copa", "bbr", "bbr3", "policy"].as_slice()),
        ] {
            let runs = runs(host);
            for name in everywhere.iter().chain(more) {
                assert!(runs.contains(name), "{name} on {host:?}");
            }
            let others = runs.iter().filter(|name| !everywhere.contains(name) && !more.contains(name));
            assert!(others.copied().all(|name| name == "ledbat"), "{host:?}: {runs:?}");
        }
        assert_eq!(runs(&KERNEL), ["compound", "layered", "pert", "none"]);
    }

    #[test]
    fn what_is_missing_has_a_name() {
        let mut pert = Settings::defaults(scheme("pert").expect("pert is there"));
        assert!(QUINN.missing(&pert).is_empty());
        pert.set("delay", Given::Word("forward")).expect("a known word");
        assert_eq!(QUINN.missing(&pert), ["one-way delays, from the receiver's time stamps"]);
        let bbr = Settings::defaults(scheme("bbr").expect("bbr is there"));
        assert_eq!(QUINN.missing(&bbr).len(), 2);
    }
}
