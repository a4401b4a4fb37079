// SPDX-License-Identifier: Dual MIT/GPL
/*
 * No congestion control in the kernel: glue between tcp_sock and the step functions of none.h.
 *
 * It starves ordinary TCP. So it works towards allowed destinations only. A connection to any other is handed to the
 * kernel's reno when it takes up the scheme. One that cannot be handed over is held to reno's window here. Whether a
 * connection is allowed is asked again whenever reno would cut.
 */
#include "host.h"
#include <bpf/bpf_endian.h>
#include "none.h"

#define AC_FAMILY_INET6 10
#define AC_MOST_PREFIXES 1024

const volatile struct ac_none_parameters parameters SEC(".rodata.scheme") = { 0 };

/* A destination. The family comes first, so that even a short IPv6 prefix contains no IPv4 address. */
struct ac_prefix {
	u32 bits; /* eight for the family, plus the prefix length */
	u8 family;
	u8 address[16];
	u8 reserved[3];
};

/* The allowed prefixes: destinations without congestion control. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, AC_MOST_PREFIXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ac_prefix);
	__type(value, u32);
} allowed SEC(".maps");

AC_INLINE bool ac_none_allowed(struct sock *sk)
{
	const u32 mapped = bpf_htonl(0xffff);
	u32 six[4];
	struct ac_prefix destination = { 0 };

	__builtin_memcpy(six, sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32, sizeof(six));
	/* An IPv6 socket may have an IPv4 destination, as ::ffff:a.b.c.d. */
	if (sk->__sk_common.skc_family == AC_FAMILY_INET6 && (six[0] || six[1] || six[2] != mapped)) {
		destination.bits = 8 + 128;
		destination.family = 6;
		__builtin_memcpy(destination.address, six, sizeof(six));
	} else {
		u32 four = sk->__sk_common.skc_daddr; /* network order, as are the bytes */

		destination.bits = 8 + 32;
		destination.family = 4;
		__builtin_memcpy(destination.address, &four, sizeof(four));
	}
	return bpf_map_lookup_elem(&allowed, &destination);
}

AC_INLINE void ac_none_apply(struct sock *sk)
{
	struct ac_window w = ac_read_window(sk);

	ac_none_open(AC_LOADED(struct ac_none_parameters, parameters), &w, ac_peer_window(sk));
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
	ac_open(sk);
	ac_none_apply(sk);
}

SEC("struct_ops")
void BPF_PROG(none_release, struct sock *sk)
{
	AC_COUNT(closed);
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
