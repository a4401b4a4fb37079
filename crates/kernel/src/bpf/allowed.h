/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The destinations without congestion control: the map, and the question.
 */
#ifndef ACKCLOCK_ALLOWED_H
#define ACKCLOCK_ALLOWED_H

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define AC_FAMILY_INET6 10
#define AC_MOST_PREFIXES 1024

/* A destination. The family comes first, so that even a short IPv6 prefix contains no IPv4 address. */
struct ac_prefix {
	u32 bits; /* eight for the family, plus the prefix length */
	u8 family;
	u8 address[16];
	u8 reserved[3];
};

/* The allowed prefixes. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, AC_MOST_PREFIXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ac_prefix);
	__type(value, u32);
} allowed SEC(".maps");

/* A socket's destination, in network order: of IPv4 in `four`, of IPv6 in `six`. */
static __always_inline bool ac_allowed(u32 family, u32 four, const u32 six[4])
{
	struct ac_prefix destination = { 0 };

	/* An IPv6 socket may have an IPv4 destination, as ::ffff:a.b.c.d. */
	if (family == AC_FAMILY_INET6 && (six[0] || six[1] || six[2] != bpf_htonl(0xffff))) {
		destination.bits = 8 + 128;
		destination.family = 6;
		__builtin_memcpy(destination.address, six, sizeof(destination.address));
	} else {
		destination.bits = 8 + 32;
		destination.family = 4;
		__builtin_memcpy(destination.address, &four, sizeof(four));
	}
	return bpf_map_lookup_elem(&allowed, &destination);
}

#endif
