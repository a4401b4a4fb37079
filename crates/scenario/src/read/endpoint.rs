//! The settings of a flow's endpoints, from what says least about it to what says most: the defaults, what
//! its controller asks for, `[segment]` and `[tcp]`, and the flow's own keys. Each may name a stack, whose
//! settings stand before its own keys.

use super::document::Document;
use super::reader::{At, Result};
use super::segment::read_segment;
use super::tcp::{check_pair, check_timeouts, check_undo, read_keys};
use crate::stack::{Setting, Stack};
use ackclock_cc::Settings;
use ackclock_registry::Listed;
use ackclock_tcp::{Config, Undo, detection};

/// What a scenario says about all endpoints.
pub(crate) struct Ground<'a> {
    pub(crate) segment: Option<At<'a>>,
    pub(crate) tcp: Option<At<'a>>,
}

impl Ground<'_> {
    /// The settings of a flow with this controller, as far as they are not the flow's own: first what the
    /// controller asks for, then the stack, then the keys.
    pub(crate) fn endpoint(&self, control: Option<&Settings>) -> Result<Endpoint> {
        let mut endpoint = Endpoint::new(Config { payload: 1000, header: 40, ..Config::default() });
        if let Some(control) = control {
            let origin = format!("the control {}", control.scheme().name);
            endpoint.preset(&origin, control.endpoint().iter().copied())?;
        }
        if let Some(at) = &self.segment {
            read_segment(at, &mut endpoint.config)?;
        }
        if let Some(at) = &self.tcp {
            endpoint.read(at, self.segment.as_ref(), control.map(|control| control.scheme().name))?;
        }
        Ok(endpoint)
    }

    /// Takes a flow's own keys.
    pub(crate) fn read(&self, endpoint: &mut Endpoint, at: &At<'_>, control: &Settings) -> Result<()> {
        endpoint.read(at, self.segment.as_ref(), Some(control.scheme().name))
    }
}

/// The settings of an endpoint, and what the scenario itself has said. What a controller asks for, or a stack
/// sets, gives way to that where the two do not fit together.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) config: Config,
    detection_said: bool,
    undo_said: bool,
}

impl Endpoint {
    pub(crate) fn new(config: Config) -> Endpoint {
        Endpoint { config, detection_said: false, undo_said: false }
    }

    /// Takes settings that the scenario does not contain: those of a stack, or what a controller asks for.
    /// `origin` says whose they are.
    pub(crate) fn preset(&mut self, origin: &str, settings: impl Iterator<Item = Setting>) -> Result<()> {
        let lines: Vec<_> = settings.map(|(key, value)| format!("{key} = {value}\n")).collect();
        let document = Document::parse(origin, &lines.concat())?;
        let at = At::new(&document.root, "", &document.source);
        let table = at.table()?;
        if let Some(at) = table.get("segment") {
            read_segment(&at, &mut self.config)?;
        }
        read_keys(&table, &mut self.config)?;
        table.finish()
    }

    /// Takes the keys of a `[tcp]` table, or of a flow's `tcp = { ... }`, for a flow of this controller. A
    /// key that is not given stays as it is. The keys of `[segment]` stand beside those of a stack, and win.
    pub(crate) fn read(
        &mut self,
        at: &At<'_>,
        segment: Option<&At<'_>>,
        control: Option<&str>,
    ) -> Result<()> {
        let table = at.table_like("{ recovery = \"newreno\", initial_window = 2 }")?;
        if let Some(at) = table.get("stack") {
            let word = at.text()?;
            let stack = Stack::find(word).ok_or_else(|| at.unknown(Stack::KIND, word, &Stack::names()))?;
            self.preset(&format!("the stack {word}"), stack.settings(control))?;
            segment.map(|at| read_segment(at, &mut self.config)).transpose()?;
        }
        read_keys(&table, &mut self.config)?;
        self.undo_said |= table.get("undo").is_some();
        self.said(table.get("detection").as_ref(), table.get("recovery").as_ref())?;
        if let Some(at) = table.get("undo") {
            check_undo(&at, &self.config)?;
        }
        check_timeouts(at, &self.config)?;
        table.finish()
    }

    /// The scenario says how losses are detected or repaired. What it has not said gives way.
    pub(crate) fn said(&mut self, detection: Option<&At<'_>>, recovery: Option<&At<'_>>) -> Result<()> {
        self.detection_said |= detection.is_some();
        let config = &mut self.config;
        let selective = config.recovery.scheme().selective;
        if config.detection.scheme().selective && !selective && !self.detection_said {
            config.detection = detection::Settings::defaults(&detection::DUPACKS);
        }
        let undoes = match config.undo {
            Undo::Never => true,
            Undo::Duplicates => selective,
            Undo::Eifel => config.timestamps,
        };
        if !undoes && !self.undo_said {
            config.undo = Undo::Never;
        }
        detection.or(recovery).map_or(Ok(()), |at| check_pair(at, config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use crate::stack::{PLAIN, stacks, unsaid};
    use ackclock_cc::schemes;
    use ackclock_registry::mistakes;
    use ackclock_units::Duration;

    /// The settings of the only flow of a scenario with these lines at the top, and these in the flow.
    fn endpoint(top: &str, control: &str, flow: &str) -> Result<Config> {
        read(top, &format!("control = \"{control}\"\n{flow}"))
    }

    fn of_flow(top: &str, flow: &str) -> Config {
        read(top, flow).unwrap_or_else(|error| panic!("{error}"))
    }

    fn read(top: &str, flow: &str) -> Result<Config> {
        let text = format!(
            "duration = \"1 s\"\n{top}\n[topology.dumbbell]\nbottleneck = {{ rate = \"1 Mbit/s\", delay = \"1 ms\" \
             }}\n[[flows]]\n{flow}\n"
        );
        Scenario::read(Document::parse("test.toml", &text)?).map(|scenario| scenario.groups[0].config.clone())
    }

    fn right(top: &str, control: &str, flow: &str) -> Config {
        endpoint(top, control, flow).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Detection, recovery (with PRR or without) and slow start.
    fn names(config: &Config) -> String {
        let prr = config.recovery.name() == "sack" && config.recovery.get::<bool>("proportional_rate");
        let recovery = if prr { "prr" } else { config.recovery.name() };
        format!("{} {recovery} {}", config.detection.name(), config.slow_start.name())
    }

    #[test]
    fn all_that_controllers_ask_for_and_stacks_set_is_read() {
        assert_eq!(mistakes::<Stack>(), Vec::<String>::new());
        for scheme in schemes() {
            right("", scheme.name, "");
            for stack in stacks() {
                right(&format!("tcp.stack = \"{}\"", stack.entry.name), scheme.name, "");
                right("", scheme.name, &format!("tcp.stack = \"{}\"", stack.entry.name));
            }
            let asked: Vec<_> =
                unsaid(scheme).iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
            let said = right(&format!("[tcp]\n{}", asked.concat()), scheme.name, "");
            assert_eq!(format!("{said:?}"), format!("{:?}", right("", scheme.name, "")), "{}", scheme.name);
        }
        for (control, _) in stacks().iter().flat_map(|stack| stack.sets_for) {
            assert!(ackclock_cc::scheme(control).is_some(), "{control}");
        }
    }

    #[test]
    fn what_is_not_said_is_what_the_controller_asks_for() {
        assert_eq!(names(&right("", "cubic", "")), "rack prr hystart++");
        assert_eq!(names(&right("", "bbr", "")), "rack prr standard");
        assert_eq!(names(&right("", "bbr3", "")), "rack prr standard");
        for scheme in schemes().iter().filter(|scheme| scheme.endpoint.is_empty()) {
            assert_eq!(names(&right("", scheme.name, "")), "dupacks sack standard");
        }
        let over = |name: &str| format!("control.pert.over = \"{name}\"");
        assert_eq!(names(&of_flow("", &over("cubic"))), "rack prr hystart++");
        assert_eq!(names(&of_flow("tcp.stack = \"plain\"", &over("cubic"))), "dupacks sack standard");
        assert_eq!(names(&of_flow("", &over("layered"))), "dupacks sack standard");
    }

    #[test]
    fn what_is_said_wins_and_the_nearest_most() {
        for (top, flow, expected) in [
            ("tcp.detection = \"dupacks\"", "", "dupacks prr hystart++"),
            ("", "detection = \"ncr\"", "ncr prr hystart++"),
            ("tcp.recovery = \"sack\"", "", "rack sack hystart++"),
            ("tcp.slow_start = \"standard\"", "", "rack prr standard"),
            ("tcp.slow_start = \"hystart\"", "tcp.slow_start = \"standard\"", "rack prr standard"),
            ("tcp.stack = \"plain\"", "", "dupacks sack standard"),
            ("tcp.stack = \"linux\"", "", "rack prr hystart"),
            ("tcp = { stack = \"linux\", recovery = \"sack\" }", "", "rack sack hystart"),
            ("tcp = { stack = \"linux\", recovery = \"sack\" }", "tcp.stack = \"linux\"", "rack prr hystart"),
            ("tcp.stack = \"linux\"", "recovery = { sack = {} }", "rack sack hystart"),
            ("tcp.stack = \"linux\"", "tcp.stack = \"plain\"", "dupacks sack standard"),
        ] {
            assert_eq!(names(&right(top, "cubic", flow)), expected, "{top}; {flow}");
        }
    }

    /// A recovery without selective acknowledgements: a detection that needs them is dropped if nobody named
    /// it, and an error if somebody did.
    #[test]
    fn what_nobody_said_gives_way() {
        for (top, flow) in [
            ("tcp.recovery = \"newreno\"", ""),
            ("", "recovery = \"newreno\""),
            ("tcp.stack = \"linux\"", "recovery = \"newreno\""),
        ] {
            assert_eq!(right(top, "cubic", flow).detection.name(), "dupacks", "{top}; {flow}");
        }
        for (top, flow) in [
            ("tcp = { recovery = \"newreno\", detection = \"rack\" }", ""),
            ("tcp.detection = \"rack\"", "recovery = \"newreno\""),
            ("tcp.recovery = \"newreno\"", "detection = \"rack\""),
        ] {
            assert!(endpoint(top, "cubic", flow).is_err(), "{top}; {flow}");
        }
        let without = right("tcp = { stack = \"linux\", timestamps = false }", "cubic", "");
        assert_eq!((without.undo, without.timestamps), (Undo::Never, false));
        assert!(
            endpoint("tcp = { stack = \"linux\", timestamps = false, undo = \"eifel\" }", "cubic", "")
                .is_err()
        );
    }

    #[test]
    fn the_linux_stack() {
        let linux = right("tcp.stack = \"linux\"", "reno", "");
        assert_eq!((linux.payload, linux.segment_bytes(), linux.initial_window), (1448, 1500, 10.0));
        assert_eq!(linux.delayed_ack, Some(Duration::from_millis(40)));
        assert_eq!((linux.undo, linux.timestamps), (Undo::Eifel, true));
        assert_eq!(names(&linux), "rack prr standard"); // HyStart is CUBIC's
        let own =
            right("tcp = { stack = \"linux\", initial_window = 3 }\nsegment.payload = \"500 B\"", "reno", "");
        assert_eq!((own.payload, own.header, own.initial_window), (500, 52, 3.0));
        assert_eq!(right("", "reno", "tcp.stack = \"linux\"").payload, 1448);
        let own = right("segment.payload = \"500 B\"", "reno", "tcp.stack = \"linux\"");
        assert_eq!((own.payload, own.header), (500, 52));
    }

    /// One line pins a scenario to what all controllers had before they could ask for something.
    #[test]
    fn the_plain_stack_is_the_endpoints_own_default() {
        let default = Config { payload: 1000, header: 40, ..Config::default() };
        assert_eq!(PLAIN.sets.len(), 3);
        for scheme in schemes() {
            let plain = right("tcp.stack = \"plain\"", scheme.name, "");
            assert_eq!(format!("{plain:?}"), format!("{default:?}"), "{}", scheme.name);
        }
    }

    #[test]
    fn an_unknown_stack_says_what_was_probably_meant() {
        let error = endpoint("tcp.stack = \"linus\"", "reno", "").expect_err("there is none");
        let text = format!("{:?}", miette::Report::new(error));
        assert!(text.contains("linux"), "{text}");
    }
}
