/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Fixed-point arithmetic for the step functions. The kernel has no floating point.
 *
 * A suffix _qN means N binary places. Within the stated bounds every product of two factors fits into 64 bits. The
 * file that includes this header defines u32, u64, s64 and bool.
 */
#ifndef ACKCLOCK_FIXED_H
#define ACKCLOCK_FIXED_H

#define AC_INLINE static inline __attribute__((always_inline, unused))
#define AC_ONE_Q20 (1ULL << 20)
#define AC_ONE_Q24 (1ULL << 24)

/* x multiplied by a share below one. */
AC_INLINE u64 ac_share(u64 x, u32 share_q32)
{
	return (x >> 32) * share_q32 + (((x & 0xffffffff) * share_q32) >> 32);
}

/* The same, with a share of higher precision; x below 2^63. */
AC_INLINE u64 ac_share_q64(u64 x, u64 share_q64)
{
	return ac_share(x, share_q64 >> 32) + (ac_share(x, (u32)share_q64) >> 32);
}

/*
 * The verifier follows every branch with every state that leads to it. A branch on data inside a loop doubles its work
 * with each iteration. These loops have no such branch: a comparison is the borrow of a subtraction.
 */

/* 1 if a < b, else 0; both below 2^63. */
AC_INLINE u64 ac_less(u64 a, u64 b)
{
	return (a - b) >> 63;
}

/* Integer cube root of x < 2^63, digit by digit: the largest r with r^3 <= x. */
AC_INLINE u32 ac_cube_root(u64 x)
{
	u64 root = 0;

	for (int place = 60; place >= 0; place -= 3) {
		u64 term, digit;

		root <<= 1;
		term = 3 * root * (root + 1) + 1;
		digit = 1 - ac_less(x >> place, term);
		x -= (term << place) & -digit;
		root += digit;
	}
	return root;
}

/* log2 of x, 1 to 2^63: the position of the leading bit, then one squaring of the mantissa per binary place. */
AC_INLINE u32 ac_log2_q24(u64 x)
{
	u32 whole = 0, fraction = 0;
	u64 mantissa_q31;

	for (u32 bit = 32; bit > 0; bit >>= 1)
		whole += bit & -(u32)ac_less(0, x >> (whole + bit));
	mantissa_q31 = whole > 31 ? x >> (whole - 31) : x << (31 - whole);
	for (int place = 0; place < 24; place++) {
		u64 carry;

		mantissa_q31 = (mantissa_q31 * mantissa_q31) >> 31;
		carry = mantissa_q31 >> 32;
		mantissa_q31 >>= carry;
		fraction = fraction << 1 | carry;
	}
	return whole << 24 | fraction;
}

/* 2^y, for y from -20 to below 32: the exponential series of the fractional part, shifted by the integer part. */
AC_INLINE u64 ac_exp2_q20(s64 y_q24)
{
	const u64 ln2_q30 = 744261118; /* ln 2 */
	u64 t_q30 = ((u64)(y_q24 & (s64)(AC_ONE_Q24 - 1)) * ln2_q30) >> 24;
	u64 sum_q30 = 1ULL << 30;
	s64 whole = y_q24 >> 24;

	for (u64 n = 11; n > 0; n--)
		sum_q30 = (1ULL << 30) + ((t_q30 * sum_q30) >> 30) / n;
	if (whole < -20)
		return 0;
	if (whole > 31)
		whole = 31;
	return whole >= 10 ? sum_q30 << (whole - 10) : sum_q30 >> (10 - whole);
}

#endif
