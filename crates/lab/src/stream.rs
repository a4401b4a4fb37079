//! The content of an answer: a text, or a stream of events (`text/event-stream`) that ends when its run does.

use crate::running::{Ticket, Told};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Events that may wait for a slow reader. Pictures of a run that is under way are dropped instead.
const WAITING: usize = 8;

/// The content.
pub(crate) enum Content {
    /// `None`: all of it was given.
    Text(Option<Bytes>),
    /// Events, and the run that they are about: it ends when nobody reads them.
    Events { events: Receiver<Bytes>, _run: Ticket },
}

/// Where a run tells its events.
#[derive(Clone)]
pub(crate) struct Telling(Sender<Bytes>);

impl Telling {
    /// Tells an event. Without `certain` it is dropped if the reader is slow.
    pub(crate) fn tell(&self, (name, data): Told, certain: bool) {
        let event = Bytes::from(format!("event: {name}\ndata: {data}\n\n"));
        // Nobody reads any more: the run ends by itself.
        if certain {
            let _ = self.0.blocking_send(event);
        } else {
            let _ = self.0.try_send(event);
        }
    }
}

/// Events of a run with this ticket.
pub(crate) fn events(ticket: Ticket) -> (Telling, Content) {
    let (sender, receiver) = channel(WAITING);
    (Telling(sender), Content::Events { events: receiver, _run: ticket })
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Content::Text(text) => Poll::Ready(text.take().map(|data| Ok(Frame::data(data)))),
            Content::Events { events, .. } => {
                events.poll_recv(context).map(|event| event.map(|data| Ok(Frame::data(data))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Content::Text(text) if text.as_ref().is_none_or(Bytes::is_empty))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Content::Text(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
            Content::Events { .. } => SizeHint::default(),
        }
    }
}
