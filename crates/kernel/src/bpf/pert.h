/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * PERT, Probabilistic Early Response TCP, the step functions: those of another controller, plus an early reduction
 * before any loss, with a probability that grows with the smoothed delay.
 *
 * Source: S. Bhandarkar, "Congestion Control Algorithms of TCP in Emerging Networks" (dissertation, Texas A&M
 * University, 2006), chapter IV: the predictor srtt_0.99 (IV.A), RED's response curve and the decrease (IV.B); V.B.2 for
 * Layered TCP underneath; V.C for the conservative predictor and the variants that wait for samples. The engine's
 * crates/cc/src/pert.rs is the definition, with all open points. The parameters have the same names and meanings there.
 *
 * What differs from it: fixed point instead of floats, round-trip times and thresholds in microseconds, the curve red
 * only (rem's histogram of delays does not fit the private state), reno or layered underneath.
 */
#ifndef ACKCLOCK_PERT_H
#define ACKCLOCK_PERT_H

#include "layered.h"
#include "reno.h"

#define AC_CERTAIN_Q32 (1ULL << 32)

enum ac_pert_over {
	AC_PERT_OVER_RENO = 0,
	AC_PERT_OVER_LAYERED = 1,
};

/* How a round trip is measured. There is at most one early response per round trip. */
enum ac_pert_clock {
	AC_PERT_CLOCK_SRTT = 0,	   /* the host's smoothed round-trip time */
	AC_PERT_CLOCK_AVERAGE = 1, /* s */
	AC_PERT_CLOCK_BASE = 2,	   /* P */
	AC_PERT_CLOCK_WINDOW = 3,  /* until a segment is acknowledged that was sent after the response */
};

struct ac_pert_parameters {
	struct ac_layered_parameters layered; /* of the controller underneath */
	struct ac_reno_parameters reno;
	u64 gain_q64;		 /* 1 - weight: the weight of a new sample in the average (IV.A: 0.01) */
	u64 max_probability_q32; /* at max_delay (IV.B) */
	u32 min_delay_us;	 /* minthresh - P (IV.B) */
	u32 max_delay_us;	 /* maxthresh - P (IV.B) */
	u32 decrease_q32;	 /* share of the window, with by_share (IV.B) */
	u32 least_window;	 /* segments; no early response goes below this */
	u32 samples;		 /* needed between two early responses (V.C.2.a) */
	u32 over;		 /* enum ac_pert_over */
	u32 clock;		 /* enum ac_pert_clock */
	u32 by_share;		 /* a response takes `decrease`, not the share of the controller underneath */
	u32 below;		 /* s is never above the last sample (V.C.1) */
	u32 from_zero;		 /* the initial s is zero, not the first sample */
	u32 not_in_slow_start;	 /* no early response in slow start */
	u32 literal;		 /* the second ramp ends at 2 (P + max_delay), not at 2 max_delay above P */
};

struct ac_pert {
	union {
		struct ac_reno reno;
		struct ac_layered layered;
	};
	u64 average_us_q30;  /* s */
	u64 responded_us;    /* the host's clock at the last early response */
	u32 responded_nxt;   /* the next segment to send at that time */
	u32 responded;	     /* 1 if there was one */
	u32 fresh;	     /* samples since then */
	u32 base_us;	     /* P: the smallest sample; 0 before the first */
};

_Static_assert(sizeof(struct ac_pert) <= AC_PRIVATE_BYTES, "pert: the private state is too large");

/* The state of the host when an acknowledgement arrives. Stream positions are in the host's unit, modulo 2^32. */
struct ac_pert_path {
	u64 now_us;
	u32 una;       /* first unacknowledged */
	u32 nxt;       /* next to send */
	u32 srtt_us;
	u32 in_flight; /* segments */
	u32 recovering;
	u32 draw_q32;  /* uniform random number of this acknowledgement */
};

AC_INLINE void ac_pert_start(const struct ac_pert_parameters *p, struct ac_pert *s)
{
	*s = (struct ac_pert){ 0 };
	if (p->over == AC_PERT_OVER_LAYERED)
		ac_layered_start(&s->layered);
	else
		ac_reno_start(&s->reno);
}

/* IV.A: s = s + (1 - weight) (r - s), and P = min(P, r). */
AC_INLINE void ac_pert_follow(const struct ac_pert_parameters *p, struct ac_pert *s, u32 rtt_us)
{
	u64 rtt_us_q30 = (u64)rtt_us << 30;

	s->fresh++;
	if (!s->base_us && !p->from_zero)
		s->average_us_q30 = rtt_us_q30;
	else if (rtt_us_q30 >= s->average_us_q30)
		s->average_us_q30 += ac_share_q64(rtt_us_q30 - s->average_us_q30, p->gain_q64);
	else
		s->average_us_q30 -= ac_share_q64(s->average_us_q30 - rtt_us_q30, p->gain_q64);
	if (p->below && s->average_us_q30 > rtt_us_q30)
		s->average_us_q30 = rtt_us_q30;
	if (!s->base_us || rtt_us < s->base_us)
		s->base_us = rtt_us;
}

/* part / span, at most one. */
AC_INLINE u64 ac_pert_of_span_q32(u64 part_us_q30, u64 span_us)
{
	return span_us && part_us_q30 < span_us << 30 ? (part_us_q30 / span_us) << 2 : AC_CERTAIN_Q32;
}

/* Figure 42: the probability of an early response at the smoothed delay s - P. */
AC_INLINE u64 ac_pert_probability_q32(const struct ac_pert_parameters *p, const struct ac_pert *s)
{
	u64 base_us_q30 = (u64)s->base_us << 30, min_us_q30 = (u64)p->min_delay_us << 30;
	u64 max_us_q30 = (u64)p->max_delay_us << 30, most_q32 = p->max_probability_q32;
	u64 delay_us_q30, share_q32, width_us;

	if (!s->base_us || s->average_us_q30 <= base_us_q30 + min_us_q30)
		return 0;
	delay_us_q30 = s->average_us_q30 - base_us_q30;
	if (delay_us_q30 < max_us_q30) {
		share_q32 = ac_pert_of_span_q32(delay_us_q30 - min_us_q30, p->max_delay_us - p->min_delay_us);
		return (share_q32 * (most_q32 >> 2)) >> 30;
	}
	width_us = (p->literal ? (u64)s->base_us : 0) + p->max_delay_us;
	share_q32 = ac_pert_of_span_q32(delay_us_q30 - max_us_q30, width_us);
	return most_q32 + ((share_q32 * ((AC_CERTAIN_Q32 - most_q32) >> 2)) >> 30);
}

/* At most one response per round trip (IV.B), none during recovery, and only after enough samples. */
AC_INLINE bool ac_pert_may_respond(const struct ac_pert_parameters *p, const struct ac_pert *s,
				   const struct ac_window *w, const struct ac_pert_path *path)
{
	u64 elapsed_us = path->now_us - s->responded_us;

	if (path->recovering || (p->not_in_slow_start && ac_in_slow_start(w)))
		return false;
	if (!s->responded)
		return true;
	if (s->fresh < p->samples)
		return false;
	switch (p->clock) {
	case AC_PERT_CLOCK_AVERAGE:
		return elapsed_us >= (s->average_us_q30 + (1 << 30) - 1) >> 30;
	case AC_PERT_CLOCK_BASE:
		return elapsed_us >= s->base_us;
	case AC_PERT_CLOCK_WINDOW:
		return (s32)(path->una - s->responded_nxt) > 0;
	default:
		return elapsed_us >= path->srtt_us;
	}
}

AC_INLINE void ac_pert_respond(const struct ac_pert_parameters *p, struct ac_pert *s, struct ac_window *w,
			       const struct ac_pert_path *path)
{
	bool layered = p->over == AC_PERT_OVER_LAYERED;
	u32 *part_q20 = layered ? &s->layered.part_q20 : &s->reno.part_q20;
	u64 before_q20 = ac_cut_from_q20(w, *part_q20), least_q20 = (u64)p->least_window << 20, after_q20;

	if (p->by_share)
		after_q20 = before_q20 - ac_share(before_q20, p->decrease_q32);
	else if (layered)
		after_q20 = ac_layered_left_q20(&p->layered, &s->layered, w);
	else
		after_q20 = ac_reno_left_q20(&p->reno, &s->reno, w, path->in_flight);
	if (after_q20 < least_q20)
		after_q20 = least_q20;
	if (after_q20 > before_q20)
		after_q20 = before_q20;
	ac_set_window(w, part_q20, after_q20);
	w->ssthresh = w->cwnd;
	s->responded_us = path->now_us;
	s->responded_nxt = path->nxt;
	s->responded = 1;
	s->fresh = 0;
}

/*
 * For every acknowledgement, in every state, before growth. True if it drew an early response. `rtt_us` is the raw
 * sample; 0: there is none, but the probability of the average still counts.
 */
AC_INLINE bool ac_pert_sample(const struct ac_pert_parameters *p, struct ac_pert *s, struct ac_window *w,
			      const struct ac_pert_path *path, u32 rtt_us)
{
	if (rtt_us) {
		if (p->over == AC_PERT_OVER_LAYERED)
			ac_layered_sample(&p->layered, &s->layered, rtt_us, path->srtt_us);
		ac_pert_follow(p, s, rtt_us);
	}
	if (path->draw_q32 >= ac_pert_probability_q32(p, s) || !ac_pert_may_respond(p, s, w, path))
		return false;
	ac_pert_respond(p, s, w, path);
	return true;
}

/* The rest belongs to the controller underneath. */
AC_INLINE void ac_pert_grow(const struct ac_pert_parameters *p, struct ac_pert *s, struct ac_window *w, u32 acked)
{
	if (p->over == AC_PERT_OVER_LAYERED)
		ac_layered_grow(&p->layered, &s->layered, w, acked);
	else
		ac_reno_grow(&p->reno, &s->reno, w, acked);
}

AC_INLINE u32 ac_pert_cut(const struct ac_pert_parameters *p, struct ac_pert *s, const struct ac_window *w,
			  u32 in_flight)
{
	if (p->over == AC_PERT_OVER_LAYERED)
		return ac_layered_cut(&p->layered, &s->layered, w);
	return ac_reno_cut(&p->reno, &s->reno, w, in_flight);
}

AC_INLINE void ac_pert_spurious(const struct ac_pert_parameters *p, struct ac_pert *s)
{
	if (p->over == AC_PERT_OVER_LAYERED)
		ac_layered_spurious(&s->layered);
	else
		ac_reno_spurious(&s->reno);
}

#endif
