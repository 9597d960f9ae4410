#include "textflag.h"

// func dotFast(a, b *byte, n int) int32
//
// Sixteen numbers of each vector at a time are widened to 16 bits; pairs of products are added to eight sums of 32 bits.
TEXT ·dotFast(SB), NOSPLIT, $0-28
	MOVQ  a+0(FP), SI
	MOVQ  b+8(FP), DI
	MOVQ  n+16(FP), CX
	VPXOR Y0, Y0, Y0
	XORQ  AX, AX

sixteen:
	VPMOVSXBW (SI)(AX*1), Y1
	VPMOVSXBW (DI)(AX*1), Y2
	VPMADDWD  Y2, Y1, Y1
	VPADDD    Y1, Y0, Y0
	ADDQ      $16, AX
	CMPQ      AX, CX
	JLT       sixteen

	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPHADDD      X0, X0, X0
	VPHADDD      X0, X0, X0
	VMOVD        X0, AX
	MOVL         AX, ret+24(FP)
	VZEROUPPER
	RET
