// SPDX-License-Identifier: Dual MIT/GPL
/*
 * PERT in the kernel, over reno or over layered: glue between tcp_sock and the step functions of pert.h.
 *
 * An early response happens at the acknowledgement that draws it, before the kernel's own reaction to it. While the
 * kernel repairs losses or reduces the window after a mark, it controls the window, and there is no early response.
 */
#include "host.h"
#include "pert.h"

const volatile struct ac_pert_parameters parameters SEC(".rodata.scheme") = { 0 };

SEC("struct_ops")
void BPF_PROG(pert_init, struct sock *sk)
{
	if (ac_turned_away(sk))
		return;
	ac_pert_start(AC_LOADED(struct ac_pert_parameters, parameters), AC_PRIVATE(struct ac_pert, sk));
	ac_open(sk);
}

SEC("struct_ops")
void BPF_PROG(pert_release, struct sock *sk)
{
	AC_COUNT(closed);
}

SEC("struct_ops")
void BPF_PROG(pert_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct ac_window w = ac_read_window(sk);
	s32 rtt_us = sample->rtt_us; /* negative: no sample (Karn's rule) */
	struct ac_pert_path path = {
		.now_us = ac_now_us(sk),
		.una = tp->snd_una,
		.nxt = tp->snd_nxt,
		.srtt_us = ac_srtt_us(sk),
		.in_flight = ac_in_flight(sk),
		.recovering = ac_recovering(sk),
		.draw_q32 = bpf_get_prandom_u32(),
	};

	if (!ac_pert_sample(AC_LOADED(struct ac_pert_parameters, parameters), AC_PRIVATE(struct ac_pert, sk), &w,
			    &path, rtt_us > 0 ? rtt_us : 0))
		return;
	AC_COUNT(early);
	ac_write_cwnd(sk, &w);
	tp->snd_ssthresh = w.ssthresh;
}

SEC("struct_ops")
void BPF_PROG(pert_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct ac_window w = ac_read_window(sk);

	if (!ac_cwnd_limited(sk))
		return;
	ac_pert_grow(AC_LOADED(struct ac_pert_parameters, parameters), AC_PRIVATE(struct ac_pert, sk), &w, acked);
	ac_write_cwnd(sk, &w);
}

SEC("struct_ops")
u32 BPF_PROG(pert_ssthresh, struct sock *sk)
{
	struct ac_window w = ac_read_window(sk);

	AC_COUNT(cuts);
	return ac_pert_cut(AC_LOADED(struct ac_pert_parameters, parameters), AC_PRIVATE(struct ac_pert, sk), &w,
			   ac_in_flight(sk));
}

SEC("struct_ops")
void BPF_PROG(pert_set_state, struct sock *sk, u8 state)
{
	ac_count_state(state);
}

SEC("struct_ops")
u32 BPF_PROG(pert_undo_cwnd, struct sock *sk)
{
	ac_pert_spurious(AC_LOADED(struct ac_pert_parameters, parameters), AC_PRIVATE(struct ac_pert, sk));
	return ac_window_before(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)pert_init,
	.release = (void *)pert_release,
	.pkts_acked = (void *)pert_pkts_acked,
	.cong_avoid = (void *)pert_cong_avoid,
	.ssthresh = (void *)pert_ssthresh,
	.set_state = (void *)pert_set_state,
	.undo_cwnd = (void *)pert_undo_cwnd,
	.name = "ac_pert",
};
