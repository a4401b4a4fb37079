/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Reno, the step functions, for schemes that wrap another scheme. The kernel has a reno of its own.
 *
 * Source: RFC 5681 section 3.1. The engine's crates/cc/src/reno.rs is the definition. The parameters have the same
 * names and meanings there.
 */
#ifndef ACKCLOCK_RENO_H
#define ACKCLOCK_RENO_H

#include "window.h"

struct ac_reno_parameters {
	u32 increase_q20; /* segments per round trip (section 3.1: one) */
	u32 decrease_q32; /* share that a reduction takes (equation 4: one half) */
	u32 halve_flight; /* of the flight size, not of the window */
	u32 reserved;
};

struct ac_reno {
	u32 part_q20;	     /* fraction of a segment in addition to the host's cwnd */
	u32 part_before_q20; /* part_q20 before the last reduction; restored if that was spurious */
};

_Static_assert(sizeof(struct ac_reno) <= AC_PRIVATE_BYTES, "reno: the private state is too large");

AC_INLINE void ac_reno_start(struct ac_reno *s)
{
	*s = (struct ac_reno){ 0 };
}

/* New data was acknowledged, cwnd limited the sender, no recovery: equation 3, in segments. */
AC_INLINE void ac_reno_grow(const struct ac_reno_parameters *p, struct ac_reno *s, struct ac_window *w, u32 acked)
{
	u64 left_q10 = ac_slow_start_q10(w, s->part_q20, acked);
	u64 window_q20;

	if (!left_q10)
		return;
	window_q20 = ac_window_q20(w, s->part_q20);
	ac_set_window(w, &s->part_q20, window_q20 + ac_growth_q20(p->increase_q20, left_q10, window_q20));
}

/* The window after a reduction: equation 4. */
AC_INLINE u64 ac_reno_left_q20(const struct ac_reno_parameters *p, const struct ac_reno *s,
			       const struct ac_window *w, u32 in_flight)
{
	u64 base_q20 = p->halve_flight ? (u64)in_flight << 20 : ac_cut_from_q20(w, s->part_q20);

	return base_q20 - ac_share(base_q20, p->decrease_q32);
}

/* Once per episode, whatever the signal: the new threshold. */
AC_INLINE u32 ac_reno_cut(const struct ac_reno_parameters *p, struct ac_reno *s, const struct ac_window *w,
			  u32 in_flight)
{
	u64 left_q20 = ac_reno_left_q20(p, s, w, in_flight);

	s->part_before_q20 = s->part_q20;
	return ac_threshold(left_q20, &s->part_q20);
}

/* The last reduction was spurious. The host restores the window. */
AC_INLINE void ac_reno_spurious(struct ac_reno *s)
{
	s->part_q20 = s->part_before_q20;
}

#endif
