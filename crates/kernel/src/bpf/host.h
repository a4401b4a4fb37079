/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The common part of all schemes' glue: access to the kernel's connection, and the counters.
 *
 * CO-RE adapts the offsets of struct members to the kernel that loads the object.
 */
#ifndef ACKCLOCK_HOST_H
#define ACKCLOCK_HOST_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "window.h"

#define AC_SOL_TCP 6
#define AC_TCP_CONGESTION 13
#define AC_MOST_NAMESPACES 4096

char terms[] SEC("license") = "Dual MIT/GPL";

/* Set by the loader, for all schemes. */
struct ac_host_parameters {
	u32 initial_window; /* segments; 0: the kernel's initial window */
	u32 confined;	    /* only connections of the network namespaces that are in the map of that name */
};
const volatile struct ac_host_parameters host SEC(".rodata.host") = { 0 };

/* Counters since the load, over all connections. */
struct ac_statistics {
	u64 opened;   /* connections that started to use the scheme */
	u64 closed;   /* connections that stopped using it */
	u64 cuts;     /* thresholds that the scheme has set after losses, marks and timeouts */
	u64 timeouts; /* expiries of the retransmission timer */
	u64 marks;    /* reductions because of marks (ECN) */
	u64 early;    /* early responses, before a loss */
	u64 refused;  /* connections that must not use it: handed to the kernel's reno, or held */
	u64 held;     /* those among them that cannot be handed over (schemes that are not safe everywhere) */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ac_statistics);
} statistics SEC(".maps");

/* Cookies of the network namespaces of whoever loaded the scheme for itself. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, AC_MOST_NAMESPACES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, u32);
} namespaces SEC(".maps");

#define AC_COUNT(what)                                                                \
	do {                                                                          \
		u32 first = 0;                                                        \
		struct ac_statistics *counted = bpf_map_lookup_elem(&statistics, &first); \
		if (counted)                                                          \
			__sync_fetch_and_add(&counted->what, 1);                      \
	} while (0)

/*
 * The address of load-time data. It is hidden from the compiler, which must not use the zeroes of the object file.
 * The verifier sees the real values.
 */
#define AC_LOADED(type, data)                           \
	({                                              \
		const type *loaded = (const type *)&(data); \
		asm volatile("" : "+r"(loaded));        \
		loaded;                                 \
	})

/* The scheme's private state. */
#define AC_PRIVATE(type, sk)                                                                      \
	({                                                                                        \
		_Static_assert(sizeof(type) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv), \
			       "the private state does not fit the kernel's");                    \
		(type *)((struct inet_connection_sock *)(sk))->icsk_ca_priv;                      \
	})

AC_INLINE struct ac_window ac_read_window(struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ac_window w = { .cwnd = tp->snd_cwnd, .ssthresh = tp->snd_ssthresh };

	return w;
}

AC_INLINE void ac_write_cwnd(struct sock *sk, const struct ac_window *w)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	tp->snd_cwnd = w->cwnd < tp->snd_cwnd_clamp ? w->cwnd : tp->snd_cwnd_clamp;
}

/* True if cwnd limited the sender. In slow start also if cwnd is below twice the flight (cf. RFC 7661). */
AC_INLINE bool ac_cwnd_limited(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* True during a loss episode, after a timeout, and during a reduction after a mark. */
AC_INLINE bool ac_recovering(struct sock *sk)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;

	return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state) >= TCP_CA_CWR;
}

/* Does the kernel repair losses, or answer a mark, while the window is that of the threshold? After a timeout it grows. */
AC_INLINE bool ac_reducing(struct sock *sk)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	u8 state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);

	return state == TCP_CA_CWR || state == TCP_CA_Recovery;
}

/* Smoothed round-trip time. The kernel stores eight times the value. */
AC_INLINE u32 ac_srtt_us(struct sock *sk)
{
	return ((struct tcp_sock *)sk)->srtt_us >> 3;
}

/* The time at which the connection last sent or received: the host's clock for this acknowledgement. */
AC_INLINE u64 ac_now_us(struct sock *sk)
{
	return ((struct tcp_sock *)sk)->tcp_mstamp;
}

/* Segments in flight: sent, and neither acknowledged nor SACKed nor marked lost (RFC 6675's pipe). */
AC_INLINE u32 ac_in_flight(struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;

	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/*
 * The kernel asks for a threshold without a reason. The state that it enters afterwards shows the reason. CWR means
 * ECN (RFC 3168 section 6.1.2), or that the host's own queue is full.
 */
AC_INLINE void ac_count_state(u8 state)
{
	if (state == TCP_CA_Loss)
		AC_COUNT(timeouts);
	else if (state == TCP_CA_CWR)
		AC_COUNT(marks);
}

/* The receiver's window in segments, rounded up. */
AC_INLINE u32 ac_peer_window(struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 mss = tp->mss_cache ? tp->mss_cache : 1;

	return tp->snd_wnd / mss + (tp->snd_wnd % mss != 0);
}

/* Is the connection in a namespace that the scheme is loaded for? */
AC_INLINE bool ac_at_home(struct sock *sk)
{
	u64 cookie;

	if (!host.confined)
		return true;
	cookie = sk->__sk_common.skc_net.net->net_cookie;
	return bpf_map_lookup_elem(&namespaces, &cookie);
}

/*
 * Gives the connection to the kernel's reno. This fails where its route locks the scheme (congctl lock), and while
 * another program, such as a cgroup's at the beginning of a connection, is choosing the scheme. After success the
 * private state is reno's.
 */
AC_INLINE bool ac_hand_over(struct sock *sk)
{
	char reno[] = "reno";

	return !bpf_setsockopt(sk, AC_SOL_TCP, AC_TCP_CONGESTION, reno, sizeof(reno));
}

/* For schemes that are safe everywhere: is the connection another's, and is it rid of the scheme now? */
AC_INLINE bool ac_turned_away(struct sock *sk)
{
	if (ac_at_home(sk))
		return false;
	AC_COUNT(refused);
	return ac_hand_over(sk);
}

/* A connection starts to use the scheme. Sets the initial window if the loader asked for one. */
AC_INLINE void ac_open(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 initial_window = host.initial_window;

	AC_COUNT(opened);
	if (initial_window)
		tp->snd_cwnd = initial_window < tp->snd_cwnd_clamp ? initial_window : tp->snd_cwnd_clamp;
}

/* The window before a reduction that was spurious. */
AC_INLINE u32 ac_window_before(struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;

	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

#endif
