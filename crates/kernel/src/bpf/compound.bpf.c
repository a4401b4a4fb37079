// SPDX-License-Identifier: Dual MIT/GPL
/* Compound TCP in the kernel: glue between tcp_sock and the step functions of compound.h. */
#include "host.h"
#include "compound.h"

const volatile struct ac_compound_parameters parameters SEC(".rodata.scheme") = { 0 };

SEC("struct_ops")
void BPF_PROG(compound_init, struct sock *sk)
{
	struct ac_window w;

	if (ac_turned_away(sk))
		return;
	ac_open(sk);
	w = ac_read_window(sk);
	ac_compound_start(AC_PRIVATE(struct ac_compound, sk), &w);
}

SEC("struct_ops")
void BPF_PROG(compound_release, struct sock *sk)
{
	AC_COUNT(closed);
}

/* The kernel counts in bytes, the scheme in segments: `una` is the sum of acknowledged segments. */
SEC("struct_ops")
void BPF_PROG(compound_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct ac_compound *s = AC_PRIVATE(struct ac_compound, sk);
	struct ac_window w = ac_read_window(sk);
	s32 rtt_us = sample->rtt_us; /* negative: no sample (Karn's rule) */
	struct ac_compound_path path;

	s->una += sample->pkts_acked;
	path.una = s->una;
	path.nxt = s->una + ((struct tcp_sock *)sk)->packets_out;
	path.srtt_us = ac_srtt_us(sk);
	path.peer_window = ac_peer_window(sk);
	path.cwnd_limited = ac_cwnd_limited(sk);
	path.recovering = ac_recovering(sk);
	ac_compound_sample(AC_LOADED(struct ac_compound_parameters, parameters), s, &w, &path,
			   rtt_us > 0 ? rtt_us : 0);
	ac_write_cwnd(sk, &w);
	((struct tcp_sock *)sk)->snd_ssthresh = w.ssthresh;
}

SEC("struct_ops")
void BPF_PROG(compound_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct ac_window w = ac_read_window(sk);

	if (!ac_cwnd_limited(sk))
		return;
	ac_compound_grow(AC_PRIVATE(struct ac_compound, sk), &w, acked);
	ac_write_cwnd(sk, &w);
}

SEC("struct_ops")
u32 BPF_PROG(compound_ssthresh, struct sock *sk)
{
	struct ac_window w = ac_read_window(sk);

	AC_COUNT(cuts);
	return ac_compound_cut(AC_LOADED(struct ac_compound_parameters, parameters),
			       AC_PRIVATE(struct ac_compound, sk), &w, ac_peer_window(sk));
}

SEC("struct_ops")
void BPF_PROG(compound_set_state, struct sock *sk, u8 state)
{
	struct ac_compound *s = AC_PRIVATE(struct ac_compound, sk);
	struct ac_window w = ac_read_window(sk);

	ac_count_state(state);
	if (state == TCP_CA_Loss)
		ac_compound_timeout(s);
	else if (state == TCP_CA_Open && ac_recovering(sk))
		ac_compound_recovered(s, &w);
}

SEC("struct_ops")
void BPF_PROG(compound_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct ac_window w = ac_read_window(sk);

	if (event == CA_EVENT_CWND_RESTART) {
		ac_compound_idle(AC_PRIVATE(struct ac_compound, sk), &w);
		ac_write_cwnd(sk, &w);
	}
}

SEC("struct_ops")
u32 BPF_PROG(compound_undo_cwnd, struct sock *sk)
{
	struct ac_window w = { .cwnd = ac_window_before(sk), .ssthresh = 0 };

	ac_compound_spurious(AC_PRIVATE(struct ac_compound, sk), &w);
	return w.cwnd;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops scheme = {
	.init = (void *)compound_init,
	.release = (void *)compound_release,
	.pkts_acked = (void *)compound_pkts_acked,
	.cong_avoid = (void *)compound_cong_avoid,
	.ssthresh = (void *)compound_ssthresh,
	.set_state = (void *)compound_set_state,
	.cwnd_event = (void *)compound_cwnd_event,
	.undo_cwnd = (void *)compound_undo_cwnd,
	.name = "ac_compound",
};
