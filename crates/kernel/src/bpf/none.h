/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * No congestion control, the step function: the receiver's window is the only limit.
 *
 * Source: A. Sundaresan's thesis on TCP without congestion control (University of Kansas, 2001). The engine's
 * crates/cc/src/none.rs is the definition.
 */
#ifndef ACKCLOCK_NONE_H
#define ACKCLOCK_NONE_H

#include "window.h"

struct ac_none_parameters {
	u32 cap;	 /* segments; the limit if the receiver's window is larger or unknown */
	u32 reserved;
};

/* For every event. With a closed window the connection still needs one segment to probe it. */
AC_INLINE void ac_none_open(const struct ac_none_parameters *p, struct ac_window *w, u32 peer_window)
{
	u32 cwnd = peer_window < p->cap ? peer_window : p->cap;

	if (cwnd > AC_CWND_MOST)
		cwnd = AC_CWND_MOST;
	w->cwnd = cwnd ? cwnd : 1;
}

#endif
