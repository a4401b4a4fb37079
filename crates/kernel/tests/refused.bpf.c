// SPDX-License-Identifier: Dual MIT/GPL
/* Layered TCP that writes where no controller may: every verifier refuses it, and a test looks at what is said then. */
#include "host.h"
#include "layered.h"

const volatile struct ac_layered_parameters parameters SEC(".rodata.scheme") = { 0 };

SEC("struct_ops")
u32 BPF_PROG(refused_ssthresh, struct sock *sk)
{
	((struct tcp_sock *)sk)->snd_nxt = 0;
	return AC_LOADED(struct ac_layered_parameters, parameters)->decrease + host.initial_window;
}

SEC("struct_ops")
void BPF_PROG(refused_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	AC_COUNT(cuts);
}

SEC("struct_ops")
u32 BPF_PROG(refused_undo_cwnd, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.ssthresh = (void *)refused_ssthresh,
	.cong_avoid = (void *)refused_cong_avoid,
	.undo_cwnd = (void *)refused_undo_cwnd,
	.name = "ac_refused",
};
