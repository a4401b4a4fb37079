/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Layered TCP, the step functions: growth by K segments per round trip in layer K, scaled with the round-trip
 * time, and a decrease by a fixed share or by 1 / (K + 1).
 *
 * Source: S. Bhandarkar, "Congestion Control Algorithms of TCP in Emerging Networks" (dissertation, Texas
 * A&M University, 2006), chapter III. The engine's crates/cc/src/layered.rs is the definition, with all open points.
 * The parameters have the same names and meanings there.
 *
 * What differs from it: fixed point instead of floats, round-trip times in microseconds, K_R at most 2^15.
 */
#ifndef ACKCLOCK_LAYERED_H
#define ACKCLOCK_LAYERED_H

#include "window.h"

enum ac_layered_decrease {
	AC_LAYERED_FIXED = 0,	   /* beta of the window (III.A) */
	AC_LAYERED_LINEAR = 1,	   /* 1 / (K + 1), linear between two layers (III.B) */
	AC_LAYERED_RECIPROCAL = 2, /* 1 / (K + fraction + 1) */
};

struct ac_layered_parameters {
	u64 w_t_q20;		/* W_T, segments: the window at which the second layer begins (III.A.3.f) */
	u64 rtt_reference_ns;	/* the round-trip time at which K_R = 1 */
	u32 rtt_exponent_q20;	/* 1/3 in the source (III.A.3.d); 0 is no compensation */
	u32 beta_q32;		/* fixed decrease, share of the window (III.A.3) */
	u32 decrease;		/* enum ac_layered_decrease */
	u32 whole_layers;	/* no fraction between two thresholds */
	u32 smoothed_rtt;	/* K_R uses the smallest smoothed value, not the smallest sample */
	u32 tcp_below;		/* below W_T one segment per round trip and halving */
	u32 halve_in_slow_start; /* a loss in slow start halves */
	u32 reserved;
};

struct ac_layered {
	u64 k_r_q20;	  /* factor of the growth */
	u32 min_rtt_us;	  /* the RTT behind k_r; 0 before the first sample */
	u32 part_q20;	  /* fraction of a segment in addition to the host's cwnd */
	u32 part_before_q20; /* part_q20 before the last reduction; restored if that was spurious */
};

_Static_assert(sizeof(struct ac_layered) <= AC_PRIVATE_BYTES, "layered: the private state is too large");

/* The position of a window in the layers. */
struct ac_layer {
	u32 k;
	u32 fraction_q16; /* share of the way to the next layer (III.A.3.f: K_fract) */
};

/* W_K of equation 3.11. K (K + 1) (K - 1) is a multiple of 6. */
AC_INLINE u64 ac_layered_threshold_q20(u64 w_t_q20, u64 k)
{
	return k * (k + 1) * (k - 1) / 6 * w_t_q20;
}

/* The K with W_K <= window < W_(K+1). Because K^3 - K = 6 W / W_T, the cube root gives K or K - 1. */
AC_INLINE struct ac_layer ac_layered_at(const struct ac_layered_parameters *p, u64 window_q20)
{
	u64 w_t_q20 = p->w_t_q20 ? p->w_t_q20 : 1;
	u32 k = ac_cube_root(6 * window_q20 / w_t_q20);
	struct ac_layer layer = { 0 };
	u64 floor_q20, step_q20;

	if (k < 1)
		k = 1;
	if (ac_layered_threshold_q20(w_t_q20, k + 1) <= window_q20)
		k++;
	layer.k = k;
	if (!p->whole_layers) {
		floor_q20 = ac_layered_threshold_q20(w_t_q20, k);
		step_q20 = (u64)k * (k + 1) / 2 * w_t_q20; /* equation 3.12 */
		/* Eight places less, so that a step of 2^52 may still be scaled by 2^16. */
		layer.fraction_q16 = (((window_q20 - floor_q20) >> 8) << 16) / ((step_q20 >> 8) | 1);
	}
	return layer;
}

AC_INLINE bool ac_layered_like_tcp(const struct ac_layered_parameters *p, struct ac_layer layer)
{
	return p->tcp_below && layer.k < 2;
}

AC_INLINE void ac_layered_start(struct ac_layered *s)
{
	s->k_r_q20 = AC_ONE_Q20;
	s->min_rtt_us = 0;
	s->part_q20 = 0;
	s->part_before_q20 = 0;
}

/* For every acknowledgement with a sample. K_R changes only when the smallest round-trip time does (III.A.3.f). */
AC_INLINE void ac_layered_sample(const struct ac_layered_parameters *p, struct ac_layered *s, u32 rtt_us,
				 u32 srtt_us)
{
	const u64 most_q20 = 1ULL << 35;
	u32 seen_us = p->smoothed_rtt ? srtt_us : rtt_us;
	s64 ratio_q24;

	if (!seen_us || (s->min_rtt_us && seen_us >= s->min_rtt_us))
		return;
	s->min_rtt_us = seen_us;
	ratio_q24 = (s64)ac_log2_q24((u64)seen_us * 1000) -
		    (s64)ac_log2_q24(p->rtt_reference_ns ? p->rtt_reference_ns : 1);
	s->k_r_q20 = ac_exp2_q20((ratio_q24 * (s64)p->rtt_exponent_q20) >> 20);
	if (s->k_r_q20 > most_q20)
		s->k_r_q20 = most_q20;
}

/* New data was acknowledged, cwnd limited the sender, and there is no recovery. */
AC_INLINE void ac_layered_grow(const struct ac_layered_parameters *p, struct ac_layered *s, struct ac_window *w,
			       u32 acked)
{
	u64 window_q20, per_round_q20 = AC_ONE_Q20;
	u64 left_q10 = ac_slow_start_q10(w, s->part_q20, acked);
	struct ac_layer layer;

	if (!left_q10)
		return;
	window_q20 = ac_window_q20(w, s->part_q20);
	layer = ac_layered_at(p, window_q20);
	if (!ac_layered_like_tcp(p, layer))
		per_round_q20 = (s->k_r_q20 * ((u64)layer.k << 16 | layer.fraction_q16)) >> 16;
	ac_set_window(w, &s->part_q20, window_q20 + ac_growth_q20(per_round_q20, left_q10, window_q20));
}

/* The share of the window that a reduction takes. */
AC_INLINE u32 ac_layered_beta_q32(const struct ac_layered_parameters *p, struct ac_layer layer)
{
	u64 here_q32 = (1ULL << 32) / (layer.k + 1); /* equation 3.41 */
	u64 next_q32 = (1ULL << 32) / (layer.k + 2);

	if (ac_layered_like_tcp(p, layer))
		return 1u << 31;
	if (p->decrease == AC_LAYERED_LINEAR)
		return here_q32 - (((here_q32 - next_q32) * layer.fraction_q16) >> 16);
	if (p->decrease == AC_LAYERED_RECIPROCAL)
		return (1ULL << 48) / ((u64)(layer.k + 1) << 16 | layer.fraction_q16);
	return p->beta_q32; /* equation 3.4 */
}

/* The window after a reduction in congestion avoidance. */
AC_INLINE u64 ac_layered_left_q20(const struct ac_layered_parameters *p, const struct ac_layered *s,
				  const struct ac_window *w)
{
	u64 window_q20 = ac_cut_from_q20(w, s->part_q20);

	return window_q20 - ac_share(window_q20, ac_layered_beta_q32(p, ac_layered_at(p, window_q20)));
}

/* Once per episode, whatever the signal: the new threshold. */
AC_INLINE u32 ac_layered_cut(const struct ac_layered_parameters *p, struct ac_layered *s, const struct ac_window *w)
{
	u64 left_q20 = ac_layered_left_q20(p, s, w);

	if (p->halve_in_slow_start && ac_in_slow_start(w))
		left_q20 = ac_cut_from_q20(w, s->part_q20) / 2;
	s->part_before_q20 = s->part_q20;
	return ac_threshold(left_q20, &s->part_q20);
}

/* The last reduction was spurious. The host restores the window. */
AC_INLINE void ac_layered_spurious(struct ac_layered *s)
{
	s->part_q20 = s->part_before_q20;
}

#endif
