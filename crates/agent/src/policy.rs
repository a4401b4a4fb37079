//! What an agent does for whom: read from a TOML file, decided without clock or I/O.

use crate::protocol::Refusal;
use crate::spec::{MAX_DURATION, Protocol, Role, Spec};
use ackclock_sockets::{Prefix, covers};
use ackclock_units::{Bytes, Duration, Rate};
use serde::Deserialize;
use std::net::IpAddr;
use thiserror::Error;

/// Minutes of a day.
const DAY: u32 = 24 * 60;

/// What an agent does for whom.
#[derive(Clone, PartialEq, Debug)]
pub struct Policy {
    rules: Vec<Rule>,
    /// What clients of iperf3's protocol may do.
    pub iperf3: Rule,
}

/// What some controllers may do. Limits hold for each test, but those of sockets and of tests per day for all
/// tests of a controller together.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// The names in the certificates of controllers. Empty: everybody with a certificate.
    who: Vec<String>,
    /// The networks of the other ends.
    towards: Vec<Prefix>,
    /// Bit/s.
    rate: Option<u64>,
    bytes: Option<u64>,
    /// In us.
    duration: u64,
    /// Tests at once.
    sockets: usize,
    /// Minutes of the day, UTC: from the first to before the second.
    hours: Option<(u32, u32)>,
    tests_per_day: u64,
    /// The networks towards which TCP may go without congestion control.
    no_control: Vec<Prefix>,
}

/// What a controller wants.
#[derive(Clone, Debug)]
pub struct Wish<'a> {
    /// The names in its certificate.
    pub who: &'a [String],
    /// The address of the other end.
    pub towards: IpAddr,
    /// What the test does.
    pub spec: &'a Spec,
    /// The tests that this controller has at once already.
    pub sockets: usize,
    /// The tests that this controller has had today.
    pub tests_today: u64,
    /// The minute of the day, UTC.
    pub minute: u32,
}

/// The limits of a test that may be: the agent keeps them, whatever was asked for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Grant {
    /// The greatest rate, bit/s.
    pub rate: Option<u64>,
    /// The greatest number of bytes.
    pub bytes: Option<u64>,
    /// The longest time, us.
    pub duration: u64,
}

/// A policy file is not valid.
#[derive(Debug, Error, miette::Diagnostic)]
#[error("{name}: {reason}")]
#[diagnostic(help(
    "a rule looks like this:\n[[allow]]\nwho = [\"controller\"]\ntowards = [\"192.0.2.0/24\"]\nrate = \"1 Gbit/s\""
))]
pub struct PolicyError {
    name: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    allow: Vec<RuleFile>,
    iperf3: Option<RuleFile>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RuleFile {
    who: Vec<String>,
    towards: Vec<String>,
    rate: Option<String>,
    bytes: Option<String>,
    duration: Option<String>,
    sockets: Option<usize>,
    hours: Option<[String; 2]>,
    tests_per_day: Option<u64>,
    no_control: Vec<String>,
}

impl Default for Policy {
    /// Without a file: only towards the host itself.
    fn default() -> Policy {
        let own = |text: &str| text.parse().unwrap_or_else(|_| unreachable!("{text} is a network"));
        let rule = Rule {
            who: Vec::new(),
            towards: vec![own("127.0.0.0/8"), own("::1/128")],
            rate: None,
            bytes: None,
            duration: 3_600_000_000,
            sockets: 4096,
            hours: None,
            tests_per_day: u64::MAX,
            no_control: Vec::new(),
        };
        Policy { rules: vec![rule.clone()], iperf3: rule }
    }
}

impl Policy {
    /// Reads the policy `text` from the file called `name`.
    ///
    /// # Errors
    ///
    /// If it is not valid; the message names the line or the rule.
    pub fn read(name: &str, text: &str) -> Result<Policy, PolicyError> {
        let wrong = |reason: String| PolicyError { name: name.to_owned(), reason };
        let file: File = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let mut rules = Vec::new();
        for (number, rule) in file.allow.into_iter().enumerate() {
            rules.push(rule.read().map_err(|reason| wrong(format!("rule {}: {reason}", number + 1)))?);
        }
        let iperf3 = match file.iperf3 {
            None => Policy::default().iperf3,
            Some(rule) if !rule.who.is_empty() => {
                return Err(wrong("[iperf3]: who: its clients have no names".to_owned()));
            }
            Some(rule) => rule.read().map_err(|reason| wrong(format!("[iperf3]: {reason}")))?,
        };
        Ok(Policy { rules, iperf3 })
    }

    /// The limits of this test, if some rule allows it.
    ///
    /// # Errors
    ///
    /// `refused_by_policy`, for the reason of the rule that came closest: the first one for this controller
    /// and this network, or else the last one.
    pub fn decide(&self, wish: &Wish<'_>) -> Result<Grant, Refusal> {
        let mut reason = None;
        let mut close = false;
        for rule in &self.rules {
            match rule.decide(wish) {
                Ok(grant) => return Ok(grant),
                Err((limit, why)) => {
                    let closer = !matches!(limit, "who" | "towards");
                    if reason.is_none() || (closer && !close) {
                        (reason, close) = (Some((limit, why)), closer);
                    }
                }
            }
        }
        let (limit, why) = reason.unwrap_or(("allow", "it has no rules".to_owned()));
        Err(refusal(limit, &why))
    }
}

/// A refusal by the policy.
fn refusal(limit: &str, why: &str) -> Refusal {
    Refusal::new(
        "refused_by_policy",
        format!("the agent's policy refuses this test: {why}"),
        format!("ask who runs the agent to change `{limit}` in its policy file, or ask for less"),
    )
}

impl Rule {
    fn decide(&self, wish: &Wish<'_>) -> Result<Grant, (&'static str, String)> {
        if !self.who.is_empty() && !wish.who.iter().any(|name| self.who.contains(name)) {
            return Err(("who", format!("it has no rule for {}", wish.who.join(", "))));
        }
        if !covers(&self.towards, wish.towards) {
            return Err(("towards", format!("it has no rule for traffic with {}", wish.towards)));
        }
        if let Some((from, to)) = self.hours {
            let inside = if from <= to {
                (from..to).contains(&wish.minute)
            } else {
                wish.minute >= from || wish.minute < to
            };
            if !inside {
                return Err(("hours", format!("tests are from {} to {} UTC", clock(from), clock(to))));
            }
        }
        if wish.sockets >= self.sockets {
            return Err(("sockets", format!("at most {} tests at once", self.sockets)));
        }
        if wish.tests_today >= self.tests_per_day {
            return Err(("tests_per_day", format!("at most {} tests a day", self.tests_per_day)));
        }
        if wish.spec.protocol.no_control() && !covers(&self.no_control, wish.towards) {
            let why = format!("no traffic without congestion control towards {}", wish.towards);
            return Err(("no_control", why));
        }
        self.limits(wish.spec)
    }

    fn limits(&self, spec: &Spec) -> Result<Grant, (&'static str, String)> {
        let (duration, bytes, offered) = match &spec.role {
            Role::Sink { duration, .. } => (*duration, None, None),
            Role::Source(pattern) => (pattern.duration(), pattern.bytes(), pattern.offered()),
        };
        if duration > self.duration {
            let most = Duration::from_micros(self.duration);
            return Err(("duration", format!("tests take at most {most}")));
        }
        if let (Some(asked), Some(most)) = (bytes, self.bytes)
            && asked > most
        {
            return Err(("bytes", format!("at most {most} bytes, not {asked}")));
        }
        let asked = offered.into_iter().chain(spec.protocol.rate()).max();
        if let (Some(asked), Some(most)) = (asked, self.rate)
            && asked > most
        {
            return Err(("rate", format!("at most {most} bit/s, not {asked}")));
        }
        // TCP's full blast says no rate: it is paced at the limit.
        let rate = match (&spec.protocol, &spec.role) {
            (Protocol::Tcp { rate, .. }, Role::Source(_)) => [*rate, self.rate].into_iter().flatten().min(),
            _ => self.rate,
        };
        Ok(Grant { rate, bytes: self.bytes, duration: self.duration })
    }

    /// What a client of iperf3's protocol at this address may do, with `sockets` tests going on.
    ///
    /// # Errors
    ///
    /// If it may do nothing.
    pub fn for_client(&self, client: IpAddr, sockets: usize, minute: u32) -> Result<Grant, Refusal> {
        let spec = Spec {
            role: Role::Sink { blocksize: 1, duration: 1 },
            protocol: Protocol::Udp { window: None, rate: None },
            stamps: 0,
        };
        let wish = Wish { who: &[], towards: client, spec: &spec, sockets, tests_today: 0, minute };
        self.decide(&wish).map_err(|(limit, why)| refusal(limit, &why))
    }
}

fn clock(minute: u32) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

fn minute(text: &str) -> Result<u32, String> {
    let wrong = || format!("hours: \"{text}\" is no time of day; write for example \"08:30\"");
    let (hours, minutes) = text.split_once(':').ok_or_else(wrong)?;
    let (hours, minutes): (u32, u32) =
        (hours.parse().map_err(|_| wrong())?, minutes.parse().map_err(|_| wrong())?);
    let minute = hours.saturating_mul(60).saturating_add(minutes);
    if minutes >= 60 || minute > DAY { Err(wrong()) } else { Ok(minute) }
}

fn prefixes(key: &str, texts: &[String]) -> Result<Vec<Prefix>, String> {
    let read = |text: &String| text.parse().map_err(|error| format!("{key}: {error}"));
    texts.iter().map(read).collect()
}

impl RuleFile {
    fn read(self) -> Result<Rule, String> {
        let towards = prefixes("towards", &self.towards)?;
        if towards.is_empty() {
            return Err("towards is missing: write the networks of the other ends, for example \
                        towards = [\"192.0.2.0/24\"]"
                .to_owned());
        }
        let quantity = |key: &str, error: ackclock_units::QuantityError| format!("{key}: {error}");
        let rate =
            self.rate.map(|text| text.parse::<Rate>().map_err(|it| quantity("rate", it))).transpose()?;
        let bytes =
            self.bytes.map(|text| text.parse::<Bytes>().map_err(|it| quantity("bytes", it))).transpose()?;
        let duration =
            self.duration.map(|text| text.parse::<Duration>().map_err(|it| quantity("duration", it)));
        let duration = duration.transpose()?.map_or(3_600_000_000, |span| span.as_nanos() / 1000);
        let hours =
            self.hours.map(|[from, to]| Ok::<_, String>((minute(&from)?, minute(&to)?))).transpose()?;
        Ok(Rule {
            who: self.who,
            towards,
            rate: rate.map(Rate::bps),
            bytes: bytes.map(|bytes| bytes.0),
            duration: duration.min(MAX_DURATION),
            sockets: self.sockets.unwrap_or(4096),
            hours,
            tests_per_day: self.tests_per_day.unwrap_or(u64::MAX),
            no_control: prefixes("no_control", &self.no_control)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{BurstPattern, Late, Number, Pattern};
    use std::sync::LazyLock;

    const POLICY: &str = r#"
[[allow]]
who = ["alice"]
towards = ["192.0.2.0/24"]
rate = "100 Mbit/s"
bytes = "10 MB"
duration = "20 s"
sockets = 3
hours = ["22:00", "06:00"]
tests_per_day = 5
no_control = ["192.0.2.16/28"]

[[allow]]
towards = ["198.51.100.7/32"]
"#;

    fn burst(blocksize: u64, period: u64, duration: u64, nocc: bool) -> Spec {
        let bursts = BurstPattern {
            blocksize: Number::Fixed(blocksize),
            repeats: Number::Fixed(1),
            period: Number::Fixed(period),
            duration,
            late: Late::Delay,
            buffer: None,
            opening: None,
            apart: None,
            gaps: false,
        };
        let protocol = Protocol::Tcp { window: None, control: None, no_control: nocc, rate: None };
        Spec { role: Role::Source(Pattern::Bursts(bursts)), protocol, stamps: 0 }
    }

    static BOB: LazyLock<[String; 1]> = LazyLock::new(|| ["bob".to_owned()]);

    /// The limit that refuses, or "granted".
    fn decided(change: impl FnOnce(&mut Wish<'_>), spec: &Spec) -> String {
        let policy = Policy::read("policy.toml", POLICY).expect("a policy");
        let who = ["alice".to_owned()];
        let towards = "192.0.2.1".parse().expect("an address");
        let mut wish = Wish { who: &who, towards, spec, sockets: 0, tests_today: 0, minute: 60 };
        change(&mut wish);
        match policy.decide(&wish) {
            Ok(_) => "granted".to_owned(),
            Err(refusal) => {
                assert_eq!(refusal.error, "refused_by_policy");
                refusal.help.split('`').nth(1).expect("a limit").to_owned()
            }
        }
    }

    #[test]
    fn each_limit_refuses_by_its_name() {
        let fits = burst(10_000, 10_000, 1_000_000, false);
        assert_eq!(decided(|_| {}, &fits), "granted");
        assert_eq!(decided(|wish| wish.who = &*BOB, &fits), "who");
        assert_eq!(decided(|wish| wish.towards = [203, 0, 113, 1].into(), &fits), "towards");
        assert_eq!(decided(|wish| wish.minute = 6 * 60, &fits), "hours");
        assert_eq!(decided(|wish| wish.minute = 22 * 60, &fits), "granted");
        assert_eq!(decided(|wish| wish.sockets = 3, &fits), "sockets");
        assert_eq!(decided(|wish| wish.tests_today = 5, &fits), "tests_per_day");
        assert_eq!(decided(|_| {}, &burst(10_000, 10_000, 20_000_001, false)), "duration");
        assert_eq!(decided(|_| {}, &burst(125_001, 10_000, 10_000, false)), "rate");
        assert_eq!(decided(|_| {}, &burst(100_000, 10_000, 1_000_000, false)), "bytes");
        let nocc = burst(10_000, 10_000, 1_000_000, true);
        assert_eq!(decided(|_| {}, &nocc), "no_control");
        assert_eq!(decided(|wish| wish.towards = [192, 0, 2, 17].into(), &nocc), "granted");
        assert_eq!(
            decided(|wish| (wish.who, wish.towards) = (&*BOB, [198, 51, 100, 7].into()), &fits),
            "granted"
        );
    }

    #[test]
    fn a_full_blast_is_paced_at_the_limit() {
        let policy = Policy::read("policy.toml", POLICY).expect("a policy");
        let mut spec = burst(1, 1000, 1000, false);
        spec.role = Role::Source(Pattern::Full { blocksize: 32_000, duration: 1000, buffer: None });
        let who = ["alice".to_owned()];
        let towards = "192.0.2.1".parse().expect("an address");
        let wish = Wish { who: &who, towards, spec: &spec, sockets: 0, tests_today: 0, minute: 0 };
        let grant = policy.decide(&wish).expect("granted");
        assert_eq!(grant, Grant { rate: Some(100_000_000), bytes: Some(10_000_000), duration: 20_000_000 });
    }

    #[test]
    fn without_a_file_only_the_host_itself_is_reached() {
        let spec = burst(10_000, 10_000, 1_000_000, false);
        let decide = |towards: [u8; 4]| {
            let wish = Wish {
                who: &[],
                towards: towards.into(),
                spec: &spec,
                sockets: 0,
                tests_today: 0,
                minute: 0,
            };
            Policy::default().decide(&wish).is_ok()
        };
        assert!(decide([127, 0, 0, 1]) && !decide([192, 0, 2, 1]));
    }

    #[test]
    fn mistakes_in_a_file_are_named() {
        for (text, wanted) in [
            ("[[allow]]\nwhom = []\ntowards = [\"::/0\"]", "whom"),
            ("[[allow]]\nwho = []", "towards is missing"),
            ("[[allow]]\ntowards = [\"192.0.2.0/33\"]", "towards"),
            ("[[allow]]\ntowards = [\"::/0\"]\nrate = \"5\"", "unit"),
            ("[[allow]]\ntowards = [\"::/0\"]\nhours = [\"25:00\", \"1:00\"]", "25:00"),
            ("[iperf3]\nwho = [\"a\"]\ntowards = [\"::/0\"]", "names"),
        ] {
            let error = Policy::read("policy.toml", text).expect_err(text).to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
