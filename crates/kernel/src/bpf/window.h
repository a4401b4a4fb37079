/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The data of every step function: the window as the kernel stores it, and the fraction of a segment in addition to it.
 */
#ifndef ACKCLOCK_WINDOW_H
#define ACKCLOCK_WINDOW_H

#include "fixed.h"

/* The host's value for "no threshold yet". */
#define AC_SSTHRESH_INFINITE 0x7fffffffu
/* RFC 5681 (4): the threshold is never below two segments. */
#define AC_SSTHRESH_LEAST 2u
/* No receiver can advertise more segments than this; it also keeps the arithmetic within 64 bits. */
#define AC_CWND_MOST 0x3fffffffu
/* Bytes of a connection's private state in the kernel (icsk_ca_priv). */
#define AC_PRIVATE_BYTES 104

/* Whole segments, as in tcp_sock. */
struct ac_window {
	u32 cwnd;
	u32 ssthresh;
};

AC_INLINE bool ac_in_slow_start(const struct ac_window *w)
{
	return w->cwnd < w->ssthresh;
}

/*
 * RFC 5681 section 3.1, as in the engine. Returns the rest of `acked` for congestion avoidance, in 1/1024 segments.
 * Below the threshold cwnd is an integer, and the fraction of a segment belongs to the threshold.
 */
AC_INLINE u64 ac_slow_start_q10(struct ac_window *w, u32 part_q20, u32 acked)
{
	u64 room_q10, acked_q10 = (u64)acked << 10;

	if (!ac_in_slow_start(w))
		return acked_q10;
	room_q10 = ((u64)(w->ssthresh - w->cwnd) << 10) + (part_q20 >> 10);
	if (acked_q10 > room_q10) {
		w->cwnd = w->ssthresh;
		acked_q10 -= room_q10;
	} else {
		w->cwnd += acked;
		acked_q10 = 0;
	}
	if (w->cwnd > AC_CWND_MOST)
		w->cwnd = AC_CWND_MOST;
	return acked_q10;
}

/* The window with the fraction of a segment that the host does not see. */
AC_INLINE u64 ac_window_q20(const struct ac_window *w, u32 part_q20)
{
	u64 cwnd = w->cwnd < 1 ? 1 : w->cwnd > AC_CWND_MOST ? AC_CWND_MOST : w->cwnd;

	return cwnd << 20 | part_q20;
}

/* The window to reduce. Below the threshold the fraction of a segment belongs to the threshold. */
AC_INLINE u64 ac_cut_from_q20(const struct ac_window *w, u32 part_q20)
{
	return ac_window_q20(w, ac_in_slow_start(w) ? 0 : part_q20);
}

/* Writes a window back to the host. */
AC_INLINE void ac_set_window(struct ac_window *w, u32 *part_q20, u64 window_q20)
{
	if (window_q20 > (u64)AC_CWND_MOST << 20)
		window_q20 = (u64)AC_CWND_MOST << 20;
	if (window_q20 < AC_ONE_Q20)
		window_q20 = AC_ONE_Q20;
	w->cwnd = window_q20 >> 20;
	*part_q20 = window_q20 & (AC_ONE_Q20 - 1);
}

/* The threshold after a reduction to `after_q20`. The host sets cwnd to it, so the fraction belongs to both. */
AC_INLINE u32 ac_threshold(u64 after_q20, u32 *part_q20)
{
	u32 whole = after_q20 >> 20;

	if (whole < AC_SSTHRESH_LEAST) {
		*part_q20 = 0;
		return AC_SSTHRESH_LEAST;
	}
	*part_q20 = after_q20 & (AC_ONE_Q20 - 1);
	return whole;
}

/* Growth by `per_round_q20` segments per acknowledged window: per_round * acked / window. */
AC_INLINE u64 ac_growth_q20(u64 per_round_q20, u64 acked_q10, u64 window_q20)
{
	const u64 most_per_round_q20 = 1ULL << 36;
	const u64 most_q10 = 1ULL << 26;

	if (per_round_q20 > most_per_round_q20)
		per_round_q20 = most_per_round_q20;
	if (acked_q10 > most_q10)
		acked_q10 = most_q10;
	return per_round_q20 * acked_q10 / (window_q20 >> 10);
}

#endif
