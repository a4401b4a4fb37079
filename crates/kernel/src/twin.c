/* SPDX-License-Identifier: Dual MIT/GPL */
/* The step functions compiled natively, for comparison with the Rust controllers. */
#include <stdbool.h>
#include <stdint.h>

typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#include "bpf/compound.h"
#include "bpf/layered.h"
#include "bpf/none.h"
#include "bpf/pert.h"

/* The sizes of the structs. The Rust side compares them with its own. */
u32 ac_twin_size_layered_parameters(void)
{
	return sizeof(struct ac_layered_parameters);
}

u32 ac_twin_size_compound_parameters(void)
{
	return sizeof(struct ac_compound_parameters);
}

u32 ac_twin_size_pert_parameters(void)
{
	return sizeof(struct ac_pert_parameters);
}

u32 ac_twin_size_pert_path(void)
{
	return sizeof(struct ac_pert_path);
}

u32 ac_twin_size_none_parameters(void)
{
	return sizeof(struct ac_none_parameters);
}

u32 ac_twin_size_compound_path(void)
{
	return sizeof(struct ac_compound_path);
}

u32 ac_twin_cube_root(u64 x)
{
	return ac_cube_root(x);
}

u32 ac_twin_log2_q24(u64 x)
{
	return ac_log2_q24(x);
}

u64 ac_twin_exp2_q20(s64 y_q24)
{
	return ac_exp2_q20(y_q24);
}

void ac_twin_layered_start(void *s)
{
	ac_layered_start(s);
}

void ac_twin_layered_sample(const struct ac_layered_parameters *p, void *s, u32 rtt_us, u32 srtt_us)
{
	ac_layered_sample(p, s, rtt_us, srtt_us);
}

void ac_twin_layered_grow(const struct ac_layered_parameters *p, void *s, struct ac_window *w, u32 acked)
{
	ac_layered_grow(p, s, w, acked);
}

u32 ac_twin_layered_cut(const struct ac_layered_parameters *p, void *s, const struct ac_window *w)
{
	return ac_layered_cut(p, s, w);
}

void ac_twin_layered_spurious(void *s)
{
	ac_layered_spurious(s);
}

u32 ac_twin_layered_part_q20(const struct ac_layered *s)
{
	return s->part_q20;
}

u32 ac_twin_compound_part_q20(const struct ac_compound *s)
{
	return s->part_q20;
}

void ac_twin_compound_start(void *s, const struct ac_window *w)
{
	ac_compound_start(s, w);
}

void ac_twin_compound_sample(const struct ac_compound_parameters *p, void *s, struct ac_window *w,
			     const struct ac_compound_path *path, u32 rtt_us)
{
	ac_compound_sample(p, s, w, path, rtt_us);
}

void ac_twin_compound_grow(void *s, struct ac_window *w, u32 acked)
{
	ac_compound_grow(s, w, acked);
}

u32 ac_twin_compound_cut(const struct ac_compound_parameters *p, void *s, const struct ac_window *w, u32 peer_window)
{
	return ac_compound_cut(p, s, w, peer_window);
}

void ac_twin_compound_timeout(void *s)
{
	ac_compound_timeout(s);
}

void ac_twin_compound_recovered(void *s, const struct ac_window *w)
{
	ac_compound_recovered(s, w);
}

void ac_twin_compound_spurious(void *s, const struct ac_window *w)
{
	ac_compound_spurious(s, w);
}

void ac_twin_compound_idle(void *s, struct ac_window *w)
{
	ac_compound_idle(s, w);
}

u32 ac_twin_pert_part_q20(const struct ac_pert_parameters *p, const struct ac_pert *s)
{
	return p->over == AC_PERT_OVER_LAYERED ? s->layered.part_q20 : s->reno.part_q20;
}

u64 ac_twin_pert_probability_q32(const struct ac_pert_parameters *p, const struct ac_pert *s)
{
	return ac_pert_probability_q32(p, s);
}

void ac_twin_pert_start(const struct ac_pert_parameters *p, void *s)
{
	ac_pert_start(p, s);
}

u32 ac_twin_pert_sample(const struct ac_pert_parameters *p, void *s, struct ac_window *w,
			const struct ac_pert_path *path, u32 rtt_us)
{
	return ac_pert_sample(p, s, w, path, rtt_us);
}

void ac_twin_pert_grow(const struct ac_pert_parameters *p, void *s, struct ac_window *w, u32 acked)
{
	ac_pert_grow(p, s, w, acked);
}

u32 ac_twin_pert_cut(const struct ac_pert_parameters *p, void *s, const struct ac_window *w, u32 in_flight)
{
	return ac_pert_cut(p, s, w, in_flight);
}

void ac_twin_pert_spurious(const struct ac_pert_parameters *p, void *s)
{
	ac_pert_spurious(p, s);
}

void ac_twin_none_open(const struct ac_none_parameters *p, struct ac_window *w, u32 peer_window)
{
	ac_none_open(p, w, peer_window);
}

void ac_twin_none_hold(void *s, struct ac_window *w, u32 acked, bool reducing, bool limited)
{
	ac_none_hold(s, w, acked, reducing, limited);
}

u32 ac_twin_none_cut(void *s, const struct ac_window *w)
{
	return ac_none_cut(s, w);
}
