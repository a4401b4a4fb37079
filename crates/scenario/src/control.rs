//! What decides how fast a flow sends: a controller of TCP's window, or a rate-based transport.

use ackclock_cc as cc;
use ackclock_rate::Transport;
use ackclock_registry::Chosen;

/// The control of a flow, with its settings.
#[derive(Clone, PartialEq, Debug)]
pub enum Control {
    /// A congestion controller. The flow is TCP.
    Window(cc::Settings),
    /// A rate-based transport: it has endpoints of its own, with their own repair of losses.
    Rate(Chosen<Transport>),
}

impl Control {
    /// The name.
    pub fn name(&self) -> &'static str {
        match self {
            Control::Window(settings) => settings.scheme().name,
            Control::Rate(chosen) => chosen.name(),
        }
    }

    /// The same for the flow with this number, of the group with this label.
    pub(crate) fn of_flow(self, number: usize, label: &str) -> Control {
        match self {
            Control::Window(settings) => Control::Window(settings.of_flow(number, label)),
            rate => rate,
        }
    }

    /// The controller, if the flow is TCP.
    pub fn window(&self) -> Option<&cc::Settings> {
        match self {
            Control::Window(settings) => Some(settings),
            Control::Rate(_) => None,
        }
    }

    /// The transport, if the flow is not TCP.
    pub fn transport(&self) -> Option<&Chosen<Transport>> {
        match self {
            Control::Window(_) => None,
            Control::Rate(chosen) => Some(chosen),
        }
    }
}
