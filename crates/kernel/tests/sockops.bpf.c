// SPDX-License-Identifier: Dual MIT/GPL
/* Choose a scheme for every connection of a cgroup, as a site's own programs may; for a test. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

char terms[] SEC("license") = "Dual MIT/GPL";

#define AC_SOL_TCP 6
#define AC_TCP_CONGESTION 13

static __always_inline int choose(struct bpf_sock_ops *ops, u32 when)
{
	char name[] = "act_ops";

	if (ops->op == when)
		bpf_setsockopt(ops, AC_SOL_TCP, AC_TCP_CONGESTION, name, sizeof(name));
	return 1;
}

SEC("sockops")
int at_connect(struct bpf_sock_ops *ops)
{
	return choose(ops, BPF_SOCK_OPS_TCP_CONNECT_CB);
}

SEC("sockops")
int at_established(struct bpf_sock_ops *ops)
{
	return choose(ops, BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB);
}
