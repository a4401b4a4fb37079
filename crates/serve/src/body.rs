//! The content of a response: a part of a file in bursts, or a short text.
//!
//! hyper takes what a body gives, and writes it as the socket has room. A body that gave everything at once
//! would hide which burst was late. So a burst is given, then the body waits until the socket has accepted it
//! ([`End`]) and until the next period begins.

use crate::connection::{End, Shared};
use crate::content::Content;
use ackclock_sockets::Alarm;
use ackclock_units::Time;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;

/// The content of a response.
pub(crate) enum Answer {
    /// A text. `None`: all of it was given.
    Text(Option<Bytes>),
    /// A part of a file.
    File(Part),
}

/// A part of a file that is being written.
pub(crate) struct Part {
    content: Content,
    shared: Arc<Shared>,
    bursts: Option<Bursting>,
}

/// The bursts of a part.
struct Bursting {
    size: u64,
    /// What is left of the present burst.
    left: u64,
    /// The clock of the response.
    alarm: AsyncFd<Alarm>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A burst is being given.
    Gives,
    /// The socket has not accepted all of it.
    Written,
    /// The next one is due then.
    Waits(Time),
}

impl Part {
    /// `bursts`: their size, and the clock that showed zero when the response began.
    pub(crate) fn new(content: Content, shared: Arc<Shared>, bursts: Option<(u64, AsyncFd<Alarm>)>) -> Part {
        let bursts = bursts.map(|(size, alarm)| Bursting { size, left: size, alarm, phase: Phase::Gives });
        Part { content, shared, bursts }
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.content.left() == 0 {
            return Poll::Ready(None);
        }
        if let Some(bursts) = &mut self.bursts {
            ready!(bursts.poll_due(context, &self.shared))?;
        }
        let most = self.bursts.as_ref().map_or(u64::MAX, |bursts| bursts.left);
        let piece = ready!(self.content.poll_piece(context, most))?;
        let mut state = self.shared.state();
        let Some(response) = &mut state.response else { return Poll::Ready(None) };
        response.given += piece.len() as u64;
        if let Some(bursts) = &mut self.bursts {
            bursts.left -= piece.len() as u64;
            if bursts.left == 0 {
                bursts.phase = Phase::Written;
                response.ends = Some(End::Burst);
            }
        }
        if self.content.left() == 0 {
            response.ends = Some(End::Response);
        }
        Poll::Ready(Some(Ok(piece)))
    }
}

impl Bursting {
    /// Ready when the present burst may go on, or when the next one may begin.
    fn poll_due(&mut self, context: &mut Context<'_>, shared: &Shared) -> Poll<io::Result<()>> {
        if self.phase == Phase::Written {
            let mut state = shared.state();
            let Some(response) = &mut state.response else { return Poll::Pending };
            if response.ends.is_some() {
                response.waiting = Some(context.waker().clone());
                return Poll::Pending;
            }
            let due = response.timetable.as_ref().and_then(|timetable| timetable.next());
            let due = due.unwrap_or(Time::ZERO);
            drop(state);
            self.alarm.get_ref().set(due)?;
            self.phase = Phase::Waits(due);
        }
        if let Phase::Waits(due) = self.phase {
            while self.alarm.get_ref().now() < due {
                ready!(self.alarm.poll_read_ready(context))?.clear_ready();
            }
            self.left = self.size;
            self.phase = Phase::Gives;
        }
        Poll::Ready(Ok(()))
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let piece = match self.get_mut() {
            Answer::Text(text) => text.take().map(Ok),
            Answer::File(part) => ready!(part.poll_piece(context)),
        };
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.size_hint().exact() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Answer::Text(text) => text.as_ref().map_or(0, Bytes::len) as u64,
            Answer::File(part) => part.content.left(),
        })
    }
}
