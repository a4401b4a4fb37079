// SPDX-License-Identifier: Dual MIT/GPL
/*
 * No congestion control in the kernel: glue between tcp_sock and the step functions of none.h.
 *
 * It starves ordinary TCP. So it works towards allowed destinations only. A connection to any other is handed to the
 * kernel's reno when it takes up the scheme. One that cannot be handed over is held to reno's window here. Whether a
 * connection is allowed is asked again whenever reno would cut.
 */
#include "host.h"
#include "allowed.h"
#include "none.h"
#include "options.h"

/* RFC 6928, segments. */
#define AC_INITIAL_WINDOW 10

const volatile struct ac_none_parameters parameters SEC(".rodata.scheme") = { 0 };

AC_INLINE bool ac_none_allowed(struct sock *sk)
{
	u32 six[4];

	__builtin_memcpy(six, sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32, sizeof(six));
	return ac_allowed(sk->__sk_common.skc_family, sk->__sk_common.skc_daddr, six);
}

/* The window is the connection's own, if it has set one by a socket option, or the cap of all. */
AC_INLINE void ac_none_apply(struct sock *sk)
{
	struct ac_none_parameters own = *AC_LOADED(struct ac_none_parameters, parameters);
	u32 window = AC_PRIVATE(struct ac_none, sk)->window;
	struct ac_window w = ac_read_window(sk);

	if (window && window < own.cap)
		own.cap = window;
	ac_none_open(&own, &w, ac_peer_window(sk));
	ac_write_cwnd(sk, &w);
}

AC_INLINE bool ac_none_free(struct sock *sk)
{
	return AC_PRIVATE(struct ac_none, sk)->mode == AC_NONE_FREE;
}

/* The connection must not be without control, and cannot be handed over: to be tried once more, or not. */
AC_INLINE void ac_none_keep(struct sock *sk, u32 mode)
{
	AC_COUNT(held);
	*AC_PRIVATE(struct ac_none, sk) = (struct ac_none){ .mode = mode };
}

SEC("struct_ops")
void BPF_PROG(none_init, struct sock *sk)
{
	bool may = ac_at_home(sk) && ac_none_allowed(sk);
	struct ac_asked *wish;

	if (!may) {
		AC_COUNT(refused);
		if (ac_hand_over(sk))
			return; /* there is no release for it: the scheme was not taken up */
	}
	/* No pacing: the rate of an earlier controller must not remain. */
	sk->sk_pacing_rate = sk->sk_max_pacing_rate;
	if (!may) {
		AC_COUNT(opened);
		ac_none_keep(sk, AC_NONE_ASKED);
		return;
	}
	AC_PRIVATE(struct ac_none, sk)->mode = AC_NONE_FREE;
	wish = bpf_sk_storage_get(&asked, sk, 0, 0);
	if (wish)
		AC_PRIVATE(struct ac_none, sk)->window = wish->window;
	ac_open(sk);
	ac_none_apply(sk);
}

/* The next controller gets no window that nothing in flight has justified (cf. RFC 7661), beyond an initial one. */
SEC("struct_ops")
void BPF_PROG(none_release, struct sock *sk)
{
	struct ac_window w = ac_read_window(sk);
	u32 in_flight = ac_in_flight(sk);
	u32 most = in_flight > AC_INITIAL_WINDOW ? in_flight : AC_INITIAL_WINDOW;

	AC_COUNT(closed);
	if (!ac_none_free(sk) || w.cwnd <= most)
		return;
	w.cwnd = most;
	ac_write_cwnd(sk, &w);
}

/* For every acknowledgement, in every state. With this hook the kernel's own recovery does not change cwnd. */
SEC("struct_ops")
void BPF_PROG(none_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *sample)
{
	struct ac_none *s = AC_PRIVATE(struct ac_none, sk);
	struct ac_window w;

	if (s->mode == AC_NONE_FREE) {
		ac_none_apply(sk);
		return;
	}
	/* Whoever was choosing the scheme at the beginning has done so by now. */
	if (s->mode == AC_NONE_ASKED) {
		s->mode = AC_NONE_HELD;
		if (ac_hand_over(sk))
			return;
	}
	w = ac_read_window(sk);
	ac_none_hold(s, &w, sample->acked_sacked, ac_reducing(sk), ac_cwnd_limited(sk));
	ac_write_cwnd(sk, &w);
}

/*
 * A threshold is asked for at every loss, mark and timeout. Without control it is left as it is, as long as the
 * connection is still allowed to be without.
 */
SEC("struct_ops")
u32 BPF_PROG(none_ssthresh, struct sock *sk)
{
	struct ac_none *s = AC_PRIVATE(struct ac_none, sk);
	struct ac_window w = ac_read_window(sk);
	u32 in_flight = ac_in_flight(sk);
	struct ac_none fresh = { 0 };

	if (s->mode == AC_NONE_FREE) {
		if (ac_at_home(sk) && ac_none_allowed(sk))
			return w.ssthresh;
		AC_COUNT(refused);
		/* What is in flight is the only sensible window that it ever had. */
		if (w.cwnd > in_flight)
			w.cwnd = in_flight;
		if (ac_hand_over(sk))
			return ac_none_cut(&fresh, &w);
		ac_none_keep(sk, AC_NONE_HELD);
	}
	AC_COUNT(cuts);
	return ac_none_cut(s, &w);
}

/*
 * The threshold stands. After a timeout the kernel has made the window one segment: without control it is opened again
 * at once. Where it is held, and losses are repaired or a mark is answered, it comes down to the threshold.
 */
SEC("struct_ops")
void BPF_PROG(none_set_state, struct sock *sk, u8 state)
{
	struct ac_window w = ac_read_window(sk);

	ac_count_state(state);
	if (ac_none_free(sk)) {
		if (state == TCP_CA_Loss)
			ac_none_apply(sk);
	} else if (state == TCP_CA_CWR || state == TCP_CA_Recovery) {
		ac_none_hold(AC_PRIVATE(struct ac_none, sk), &w, 0, true, false);
		ac_write_cwnd(sk, &w);
	}
}

SEC("struct_ops")
u32 BPF_PROG(none_undo_cwnd, struct sock *sk)
{
	if (ac_none_free(sk))
		return ((struct tcp_sock *)sk)->snd_cwnd;
	ac_reno_spurious(&AC_PRIVATE(struct ac_none, sk)->reno);
	return ac_window_before(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)none_init,
	.release = (void *)none_release,
	.cong_control = (void *)none_cong_control,
	.ssthresh = (void *)none_ssthresh,
	.set_state = (void *)none_set_state,
	.undo_cwnd = (void *)none_undo_cwnd,
	.name = "ac_none",
};
