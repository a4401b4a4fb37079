/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * What a connection has asked for by socket options. The options' programs write it, the controller reads it. It belongs
 * to the socket and goes with it.
 */
#ifndef ACKCLOCK_OPTIONS_H
#define ACKCLOCK_OPTIONS_H

#include <bpf/bpf_helpers.h>

/* TCP_CA_NAME_MAX, with the final zero. */
#define AC_NAME_BYTES 16

struct ac_asked {
	u32 window;		   /* segments, while without control; 0: none was set */
	char before[AC_NAME_BYTES]; /* the controller to return to */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct ac_asked);
} asked SEC(".maps");

#endif
