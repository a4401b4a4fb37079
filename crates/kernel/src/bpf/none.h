/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * No congestion control, the step functions: the receiver's window is the only limit. And reno's window, for connections
 * that must not be without control and that the kernel cannot hand to its own reno.
 *
 * Source: A. Sundaresan's thesis on TCP without congestion control (University of Kansas, 2001). The engine's
 * crates/cc/src/none.rs is the definition.
 */
#ifndef ACKCLOCK_NONE_H
#define ACKCLOCK_NONE_H

#include "reno.h"

struct ac_none_parameters {
	u32 cap;	 /* segments; the limit if the receiver's window is larger or unknown */
	u32 reserved;
};

enum ac_none_mode {
	AC_NONE_UNDECIDED = 0, /* as the kernel hands the state over; held */
	AC_NONE_FREE = 1,      /* without control */
	AC_NONE_ASKED = 2,     /* held until the kernel's reno has been asked for once more */
	AC_NONE_HELD = 3,      /* held to reno's window for good */
};

struct ac_none {
	struct ac_reno reno;
	u32 mode;
	u32 window; /* segments: the connection's own, by a socket option; 0: it has set none */
};

_Static_assert(sizeof(struct ac_none) <= AC_PRIVATE_BYTES, "none: the private state is too large");

/* RFC 5681's own numbers. */
#define AC_NONE_RENO { .increase_q20 = AC_ONE_Q20, .decrease_q32 = 1u << 31 }

/* For every event. With a closed window the connection still needs one segment to probe it. */
AC_INLINE void ac_none_open(const struct ac_none_parameters *p, struct ac_window *w, u32 peer_window)
{
	u32 cwnd = peer_window < p->cap ? peer_window : p->cap;

	if (cwnd > AC_CWND_MOST)
		cwnd = AC_CWND_MOST;
	w->cwnd = cwnd ? cwnd : 1;
}

/*
 * Held, at every acknowledgement. `reducing`: losses are being repaired, or a mark is answered (RFC 6675 section 5, (4.2):
 * the window is the threshold); `limited`: the window is what keeps the sender from sending more.
 */
AC_INLINE void ac_none_hold(struct ac_none *s, struct ac_window *w, u32 acked, bool reducing, bool limited)
{
	const struct ac_reno_parameters reno = AC_NONE_RENO;

	if (!reducing && limited)
		ac_reno_grow(&reno, &s->reno, w, acked);
	else if (reducing && w->cwnd > w->ssthresh)
		w->cwnd = w->ssthresh;
}

/* Held: the threshold after a loss, a mark or a timeout. */
AC_INLINE u32 ac_none_cut(struct ac_none *s, const struct ac_window *w)
{
	const struct ac_reno_parameters reno = AC_NONE_RENO;

	return ac_reno_cut(&reno, &s->reno, w, 0);
}

#endif
