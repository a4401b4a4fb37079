// SPDX-License-Identifier: Dual MIT/GPL
/*
 * No congestion control in the kernel: glue between tcp_sock and the step function of none.h.
 *
 * The scheme starves ordinary TCP. So it serves allowed destinations only. A connection to any other destination gets
 * the kernel's reno when it asks for the scheme.
 */
#include "host.h"
#include <bpf/bpf_endian.h>
#include "none.h"

#define AC_SOL_TCP 6
#define AC_TCP_CONGESTION 13
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

SEC("struct_ops")
void BPF_PROG(none_init, struct sock *sk)
{
	char reno[] = "reno";

	if (!ac_none_allowed(sk)) {
		AC_COUNT(refused); /* such a connection never calls release: it does not use the scheme */
		bpf_setsockopt(sk, AC_SOL_TCP, AC_TCP_CONGESTION, reno, sizeof(reno));
		return;
	}
	ac_open(sk);
	/* No pacing: the rate of an earlier controller must not remain. */
	sk->sk_pacing_rate = sk->sk_max_pacing_rate;
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
	ac_none_apply(sk);
}

/* The kernel asks for a threshold at every loss. It does not change. */
SEC("struct_ops")
u32 BPF_PROG(none_ssthresh, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_ssthresh;
}

/* After a timeout the kernel has set the window to one segment: open it again at once. */
SEC("struct_ops")
void BPF_PROG(none_set_state, struct sock *sk, u8 state)
{
	ac_count_state(state);
	if (state == TCP_CA_Loss)
		ac_none_apply(sk);
}

SEC("struct_ops")
u32 BPF_PROG(none_undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
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
