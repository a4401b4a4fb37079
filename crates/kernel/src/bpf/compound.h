/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Compound TCP, the step functions: Reno's loss window plus a delay window (dwnd). The delay window grows while there
 * is no queue, and shrinks when there is one.
 *
 * Source: K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for High-speed and Long Distance
 * Networks", INFOCOM 2006, sections III and V. The engine's crates/cc/src/compound.rs is the definition, with all open
 * points. The parameters have the same names and meanings there.
 *
 * What differs from it: fixed point instead of floats, round-trip times in microseconds, segments counted
 * modulo 2^32.
 */
#ifndef ACKCLOCK_COMPOUND_H
#define ACKCLOCK_COMPOUND_H

#include "window.h"

struct ac_compound_parameters {
	s64 log2_alpha_q24;	  /* alpha: growth of the delay part (section IV.A) */
	u64 gamma_q20;		  /* segments of backlog that count as a queue (section VI.B.4) */
	u64 lowwnd_q20;		  /* segments from which the delay part is active (section V) */
	u32 k_q20;		  /* exponent of the growth (section IV.A) */
	u32 beta_q32;		  /* decrease on loss, share of the window (section IV.A) */
	u32 zeta_q20;		  /* decrease per segment of backlog */
	u32 samples;		  /* a round needs more samples than this (section V) */
	u32 delta_us;		  /* at most RTT / delta samples per round; 0 takes every sample (section V) */
	u32 smoothed_rtt;	  /* diff uses the smoothed RTT, not the average of the round */
	u32 gate_loss_window;	  /* lowwnd is compared with the loss window, not the whole window */
	u32 clear_below;	  /* below lowwnd dwnd becomes 0 */
	u32 no_window_reduction;  /* CTCP-NWR (section VI.B.6) */
	u32 reserved;
};

struct ac_compound {
	u64 dwnd_q20;	      /* the delay window */
	u64 dwnd_before_q20;  /* before the last reduction; restored if that was spurious */
	u64 loss_window_q20;  /* at the last update */
	u64 sum_us;	      /* sum of the round's samples */
	u32 taken;	      /* number of the round's samples */
	u32 most;	      /* their largest number: M of section V */
	u32 last;	      /* the round ends when this segment is acknowledged */
	u32 next;	      /* the next sample is at this segment, or later */
	u32 spacing;	      /* segments between two samples */
	u32 open;	      /* 1 during a round; 0 in recovery */
	u32 base_rtt_us;      /* the smallest raw sample outside recovery; 0 before the first one */
	u32 part_q20;	      /* fraction of a segment in addition to the host's cwnd */
	u32 part_before_q20;  /* part_q20 before the last reduction */
	u32 una;	      /* segments acknowledged so far; for a host that counts in bytes */
};

_Static_assert(sizeof(struct ac_compound) <= AC_PRIVATE_BYTES, "compound: the private state is too large");

/* The state of the host when an acknowledgement arrives. */
struct ac_compound_path {
	u32 una;	  /* first unacknowledged segment */
	u32 nxt;	  /* next new segment */
	u32 srtt_us;
	u32 peer_window;  /* the receiver's, segments */
	u32 cwnd_limited;
	u32 recovering;
};

/* Splits the host's window: the loss window is the window minus dwnd, and at least one segment. */
AC_INLINE void ac_compound_split(struct ac_compound *s, const struct ac_window *w)
{
	u64 window_q20 = ac_window_q20(w, s->part_q20);

	s->loss_window_q20 = window_q20 > s->dwnd_q20 + AC_ONE_Q20 ? window_q20 - s->dwnd_q20 : AC_ONE_Q20;
	if (!ac_in_slow_start(w))
		s->dwnd_q20 = window_q20 > s->loss_window_q20 ? window_q20 - s->loss_window_q20 : 0;
}

AC_INLINE void ac_compound_start(struct ac_compound *s, const struct ac_window *w)
{
	*s = (struct ac_compound){ 0 };
	ac_compound_split(s, w);
}

/* Sets the delay window, and with it the whole window. */
AC_INLINE void ac_compound_set_dwnd(struct ac_compound *s, struct ac_window *w, u64 dwnd_q20)
{
	s->dwnd_q20 = dwnd_q20;
	ac_set_window(w, &s->part_q20, s->loss_window_q20 + dwnd_q20);
	/* A reduction before a queue must not look like the slow start after a loss. */
	if (w->ssthresh > w->cwnd)
		w->ssthresh = w->cwnd;
}

/* min(window, receiver's window). */
AC_INLINE u64 ac_compound_bounded_q20(u64 window_q20, u32 peer_window)
{
	u64 peer_q20 = (u64)peer_window << 20;

	return window_q20 < peer_q20 ? window_q20 : peer_q20;
}

/* The backlog, segments: diff = win (1 - base / rtt) (section III); none if the average is below the base. */
AC_INLINE u64 ac_compound_backlog_q20(u64 win_q20, u32 base_us, u64 rtt_us_q8)
{
	u64 base_us_q8 = (u64)base_us << 8;

	if (rtt_us_q8 <= base_us_q8)
		return 0;
	return ac_share(win_q20, (((rtt_us_q8 - base_us_q8) << 24) / rtt_us_q8) << 8);
}

AC_INLINE void ac_compound_end_of_round(const struct ac_compound_parameters *p, struct ac_compound *s,
					struct ac_window *w, const struct ac_compound_path *path)
{
	u64 win_q20, rtt_us_q8, diff_q20, retreat_q20, growth_q20;

	if (ac_in_slow_start(w))
		return; /* section III: the delay part is off */
	ac_compound_split(s, w);
	win_q20 = ac_compound_bounded_q20(ac_window_q20(w, s->part_q20), path->peer_window);
	if ((p->gate_loss_window ? s->loss_window_q20 : win_q20) < p->lowwnd_q20) {
		if (p->clear_below)
			ac_compound_set_dwnd(s, w, 0);
		return;
	}
	if (s->taken <= p->samples || !path->cwnd_limited || !win_q20)
		return;
	rtt_us_q8 = p->smoothed_rtt ? (u64)path->srtt_us << 8 : (s->sum_us << 8) / s->taken;
	diff_q20 = ac_compound_backlog_q20(win_q20, s->base_rtt_us, rtt_us_q8);
	/* Equation 5, lines 1 and 2. */
	if (diff_q20 < p->gamma_q20) {
		s64 log2_win_q24 = (s64)ac_log2_q24(win_q20) - (20LL << 24);

		growth_q20 = ac_exp2_q20(p->log2_alpha_q24 + ((log2_win_q24 * (s64)p->k_q20) >> 20));
		growth_q20 = growth_q20 > AC_ONE_Q20 ? growth_q20 - AC_ONE_Q20 : 0;
		ac_compound_set_dwnd(s, w, s->dwnd_q20 + growth_q20);
	} else if (!p->no_window_reduction) {
		retreat_q20 = ((diff_q20 >> 14) * p->zeta_q20) >> 6;
		ac_compound_set_dwnd(s, w, s->dwnd_q20 > retreat_q20 ? s->dwnd_q20 - retreat_q20 : 0);
	}
}

/* Starts a round: RTT / delta samples over a window, evenly spread (section V). */
AC_INLINE void ac_compound_start_round(const struct ac_compound_parameters *p, struct ac_compound *s,
				       const struct ac_window *w, const struct ac_compound_path *path)
{
	u64 win_q20 = ac_compound_bounded_q20(ac_window_q20(w, s->part_q20), path->peer_window);

	s->open = 1;
	s->last = path->nxt;
	s->next = path->una;
	s->taken = 0;
	s->sum_us = 0;
	s->most = 0xffffffff;
	s->spacing = 0;
	if (p->delta_us) {
		s->most = path->srtt_us / p->delta_us;
		if (!s->most)
			s->most = 1;
		s->spacing = (win_q20 / s->most) >> 20;
	}
}

/* For every acknowledgement, in every state, before growth. `rtt_us` is the raw sample; 0: there is none. */
AC_INLINE void ac_compound_sample(const struct ac_compound_parameters *p, struct ac_compound *s, struct ac_window *w,
				  const struct ac_compound_path *path, u32 rtt_us)
{
	if (path->recovering) {
		s->open = 0; /* section V: no samples and no change of dwnd during recovery */
		return;
	}
	if (rtt_us) {
		if (!s->base_rtt_us || rtt_us < s->base_rtt_us)
			s->base_rtt_us = rtt_us;
		if (s->open && (s32)(path->una - s->next) >= 0 && s->taken < s->most) {
			s->sum_us += rtt_us;
			s->taken++;
			s->next = path->una + s->spacing;
		}
	}
	if (s->open) {
		if ((s32)(path->una - s->last) <= 0)
			return;
		ac_compound_end_of_round(p, s, w, path);
	}
	ac_compound_start_round(p, s, w, path);
}

/* New data was acknowledged, cwnd limited the sender, and there is no recovery. */
AC_INLINE void ac_compound_grow(struct ac_compound *s, struct ac_window *w, u32 acked)
{
	u64 window_q20, left_q10;

	ac_compound_split(s, w);
	left_q10 = ac_slow_start_q10(w, s->part_q20, acked);
	window_q20 = ac_window_q20(w, s->part_q20);
	/* Equation 2: dwnd is constant, the loss window grows. */
	window_q20 += ac_growth_q20(AC_ONE_Q20, left_q10, window_q20);
	ac_set_window(w, &s->part_q20, window_q20);
	s->loss_window_q20 = window_q20 > s->dwnd_q20 + AC_ONE_Q20 ? window_q20 - s->dwnd_q20 : AC_ONE_Q20;
}

/* Once per episode: the new threshold. */
AC_INLINE u32 ac_compound_cut(const struct ac_compound_parameters *p, struct ac_compound *s,
			      const struct ac_window *w, u32 peer_window)
{
	u64 win_q20, half_q20;

	ac_compound_split(s, w);
	s->dwnd_before_q20 = s->dwnd_q20;
	s->part_before_q20 = s->part_q20;
	s->open = 0;
	win_q20 = ac_compound_bounded_q20(ac_window_q20(w, s->part_q20), peer_window);
	half_q20 = s->loss_window_q20 / 2; /* RFC 5681 equation 4, for the loss part */
	win_q20 -= ac_share(win_q20, p->beta_q32);
	s->dwnd_q20 = win_q20 > half_q20 ? win_q20 - half_q20 : 0; /* equation 5, line 3 */
	s->loss_window_q20 = half_q20;
	return ac_threshold(half_q20 + s->dwnd_q20, &s->part_q20);
}

/* The reduction was for a timeout: the delay part is off until slow start ends (section III). */
AC_INLINE void ac_compound_timeout(struct ac_compound *s)
{
	s->dwnd_q20 = 0;
}

/* The losses are repaired. */
AC_INLINE void ac_compound_recovered(struct ac_compound *s, const struct ac_window *w)
{
	ac_compound_split(s, w);
	s->open = 0;
}

/* The last reduction was spurious. The host restores the window before or after this call. */
AC_INLINE void ac_compound_spurious(struct ac_compound *s, const struct ac_window *w)
{
	s->dwnd_q20 = s->dwnd_before_q20;
	s->part_q20 = s->part_before_q20;
	ac_compound_split(s, w);
	s->open = 0;
}

/* After an idle time: the delay window belonged to a queue that is gone. */
AC_INLINE void ac_compound_idle(struct ac_compound *s, struct ac_window *w)
{
	u64 window_q20 = ac_window_q20(w, s->part_q20);
	u64 loss_q20 = s->loss_window_q20 > AC_ONE_Q20 ? s->loss_window_q20 : AC_ONE_Q20;

	ac_set_window(w, &s->part_q20, window_q20 < loss_q20 ? window_q20 : loss_q20);
	s->dwnd_q20 = 0;
	ac_compound_split(s, w);
	s->open = 0;
}

#endif
