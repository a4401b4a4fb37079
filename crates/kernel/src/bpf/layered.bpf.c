// SPDX-License-Identifier: Dual MIT/GPL
/* Layered TCP in the kernel: glue between tcp_sock and the step functions of layered.h. */
#include "host.h"
#include "layered.h"

const volatile struct ac_layered_parameters parameters SEC(".rodata.scheme") = { 0 };

SEC("struct_ops")
void BPF_PROG(layered_init, struct sock *sk)
{
	if (ac_turned_away(sk))
		return;
	ac_layered_start(AC_PRIVATE(struct ac_layered, sk));
	ac_open(sk);
}

SEC("struct_ops")
void BPF_PROG(layered_release, struct sock *sk)
{
	AC_COUNT(closed);
}

SEC("struct_ops")
void BPF_PROG(layered_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	s32 rtt_us = sample->rtt_us; /* negative: no sample (Karn's rule) */

	if (rtt_us > 0)
		ac_layered_sample(AC_LOADED(struct ac_layered_parameters, parameters),
				  AC_PRIVATE(struct ac_layered, sk), rtt_us, ac_srtt_us(sk));
}

SEC("struct_ops")
void BPF_PROG(layered_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct ac_window w = ac_read_window(sk);

	if (!ac_cwnd_limited(sk))
		return;
	ac_layered_grow(AC_LOADED(struct ac_layered_parameters, parameters), AC_PRIVATE(struct ac_layered, sk), &w,
			acked);
	ac_write_cwnd(sk, &w);
}

SEC("struct_ops")
u32 BPF_PROG(layered_ssthresh, struct sock *sk)
{
	struct ac_window w = ac_read_window(sk);

	AC_COUNT(cuts);
	return ac_layered_cut(AC_LOADED(struct ac_layered_parameters, parameters), AC_PRIVATE(struct ac_layered, sk),
			      &w);
}

SEC("struct_ops")
void BPF_PROG(layered_set_state, struct sock *sk, u8 state)
{
	ac_count_state(state);
}

SEC("struct_ops")
u32 BPF_PROG(layered_undo_cwnd, struct sock *sk)
{
	ac_layered_spurious(AC_PRIVATE(struct ac_layered, sk));
	return ac_window_before(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)layered_init,
	.release = (void *)layered_release,
	.pkts_acked = (void *)layered_pkts_acked,
	.cong_avoid = (void *)layered_cong_avoid,
	.ssthresh = (void *)layered_ssthresh,
	.set_state = (void *)layered_set_state,
	.undo_cwnd = (void *)layered_undo_cwnd,
	.name = "ac_layered",
};
