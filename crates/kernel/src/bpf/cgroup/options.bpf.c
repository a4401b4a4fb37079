// SPDX-License-Identifier: Dual MIT/GPL
/*
 * Three socket options for the programs of a control group: TCP_NO_CONGESTION, TCP_SET_CWND, TCP_TOTAL_REXMITS.
 *
 * Source: A. Sundaresan's thesis on TCP without congestion control (University of Kansas, 2001), sections 3.2 and 3.3,
 * where they are a patch of Linux 2.2.13. The thesis gives no numbers; these are our own, far above the kernel's.
 *
 * The controller is none.bpf.c, registered under the name that the loader writes here. Both share the allowed
 * destinations and what each socket has asked for.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "allowed.h"
#include "options.h"

char terms[] SEC("license") = "Dual MIT/GPL";

#define AC_SOL_TCP 6
#define AC_TCP_CONGESTION 13
#define AC_TCP_BPF_IW 1001 /* the window now, as long as no data have been sent */

#define AC_TCP_NO_CONGESTION 0x5301 /* 1: no control; 0: the controller from before */
#define AC_TCP_SET_CWND 0x5302	    /* segments */
#define AC_TCP_TOTAL_REXMITS 0x5303 /* segments; only to be read */

#define AC_EPERM 1
#define AC_ENOMEM 12
#define AC_ENOTCONN 107
#define AC_MOST_PATH 4096
/* The kernel hands no more bytes of a long option to a program (a page). */
#define AC_PAGE 4096

/* Set by the loader. The path is for those who list what is loaded. */
struct ac_place {
	char controller[AC_NAME_BYTES];
	char path[AC_MOST_PATH];
};
const volatile struct ac_place place SEC(".rodata.place") = { 0 };

extern void *bpf_rdonly_cast(const void *object, u32 type) __ksym;

/* Not ours: the kernel goes on as without us. An option longer than a page would be refused unless it is told so. */
static __always_inline int pass(struct bpf_sockopt *ctx)
{
	if (ctx->optlen > AC_PAGE)
		ctx->optlen = 0;
	return 1;
}

static __always_inline bool ours(struct bpf_sockopt *ctx)
{
	return ctx->level == AC_SOL_TCP && ctx->optname >= AC_TCP_NO_CONGESTION && ctx->optname <= AC_TCP_TOTAL_REXMITS;
}

/* Refused with an error number. By itself a refusal is EPERM, unless there is another error already. */
static __always_inline int refuse(int error)
{
	bpf_set_retval(error);
	return 0;
}

/* The controller that the connection has. */
static __always_inline const char *controller(struct bpf_sock *sk)
{
	const struct inet_connection_sock *icsk =
		bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct inet_connection_sock));

	return icsk->icsk_ca_ops->name;
}

/* Is the connection without control, by the program that belongs to these options? */
static __always_inline bool without_control(struct bpf_sock *sk)
{
	const char *has = controller(sk);

	for (int at = 0; at < AC_NAME_BYTES; at++) {
		char letter = place.controller[at];

		if (has[at] != letter)
			return false;
		if (!letter)
			break;
	}
	return true;
}

static __always_inline bool connected(struct bpf_sock *sk)
{
	return sk->state == BPF_TCP_ESTABLISHED || sk->state == BPF_TCP_CLOSE_WAIT;
}

static __always_inline bool destination_allowed(struct bpf_sock *sk)
{
	u32 six[4] = { sk->dst_ip6[0], sk->dst_ip6[1], sk->dst_ip6[2], sk->dst_ip6[3] };

	return ac_allowed(sk->family, sk->dst_ip4, six);
}

static __always_inline long take(struct bpf_sock *sk, const char *name)
{
	char copy[AC_NAME_BYTES];

	__builtin_memcpy(copy, name, sizeof(copy));
	return bpf_setsockopt(sk, AC_SOL_TCP, AC_TCP_CONGESTION, copy, sizeof(copy));
}

static __always_inline long take_none(struct bpf_sock *sk)
{
	const char *name = (const char *)place.controller;

	/* The compiler must not use the zeroes of the object file. */
	asm volatile("" : "+r"(name));
	return take(sk, name);
}

static __always_inline long take_reno(struct bpf_sock *sk)
{
	const char reno[AC_NAME_BYTES] = "reno";

	return take(sk, reno);
}

/* What the connection had before; reno, if that is gone or not known. */
static __always_inline long take_back(struct bpf_sock *sk, struct ac_asked *wish)
{
	if (wish && wish->before[0]) {
		wish->window = 0;
		if (!take(sk, wish->before))
			return 0;
	}
	return take_reno(sk);
}

static __always_inline long set_no_congestion(struct bpf_sock *sk, int value)
{
	bool without = without_control(sk);
	struct ac_asked *wish;

	if (without == value)
		return 0;
	wish = bpf_sk_storage_get(&asked, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!value)
		return take_back(sk, wish);
	if (!wish)
		return -AC_ENOMEM;
	wish->window = 0;
	bpf_getsockopt(sk, AC_SOL_TCP, AC_TCP_CONGESTION, wish->before, sizeof(wish->before));
	return take_none(sk);
}

/*
 * With control this is the initial window, and the kernel refuses it (EINVAL) once data have left. Without control it is
 * the window from now on: the controller reads it when it takes the connection up, so it does that once more.
 */
static __always_inline long set_window(struct bpf_sock *sk, int segments)
{
	struct ac_asked *wish;
	long error;

	if (!without_control(sk))
		return bpf_setsockopt(sk, AC_SOL_TCP, AC_TCP_BPF_IW, &segments, sizeof(segments));
	wish = bpf_sk_storage_get(&asked, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!wish)
		return -AC_ENOMEM;
	wish->window = segments;
	error = take_reno(sk);
	return error ? error : take_none(sk);
}

SEC("cgroup/setsockopt")
int ac_set_option(struct bpf_sockopt *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	int *value = ctx->optval;
	int option = ctx->optname, given;
	long error;

	if (!ours(ctx) || !sk || !bpf_tcp_sock(sk))
		return pass(ctx);
	if ((void *)(value + 1) > ctx->optval_end || ctx->optlen < (int)sizeof(given))
		return 0;
	given = *value;
	if (!connected(sk))
		return refuse(-AC_ENOTCONN);
	if (!destination_allowed(sk))
		return 0;
	if (option == AC_TCP_NO_CONGESTION && (given == 0 || given == 1))
		error = set_no_congestion(sk, given);
	else if (option == AC_TCP_SET_CWND && given > 0)
		error = set_window(sk, given);
	else
		return 0;
	if (error)
		return refuse(error);
	ctx->optlen = -1; /* done: the kernel has nothing to do */
	return 1;
}

SEC("cgroup/getsockopt")
int ac_get_option(struct bpf_sockopt *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	int *value = ctx->optval;
	struct bpf_tcp_sock *tp;

	if (!ours(ctx) || !sk)
		return pass(ctx);
	tp = bpf_tcp_sock(sk);
	if (!tp)
		return pass(ctx);
	if ((void *)(value + 1) > ctx->optval_end || ctx->optlen < (int)sizeof(*value))
		return refuse(-AC_EPERM);
	if (ctx->optname == AC_TCP_NO_CONGESTION)
		*value = without_control(sk);
	else if (ctx->optname == AC_TCP_SET_CWND)
		*value = tp->snd_cwnd;
	else
		*value = tp->total_retrans;
	ctx->optlen = sizeof(*value);
	ctx->retval = 0;
	return 1;
}
