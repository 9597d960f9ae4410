#include "textflag.h"

// func multiplyTileFast(out, x *float32, w *byte, n, pairs int)
//
// Two weight rows at a time: eight int8 of each are widened to floats once and multiplied with all four input rows.
// Y0..Y7 gather the sums (input row 0 with weight row 0, 0 with 1, 1 with 0, ...).
TEXT ·multiplyTileFast(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ pairs+32(FP), BX
	LEAQ (SI)(CX*4), R8     // input rows 1 to 3
	LEAQ (R8)(CX*4), R9
	LEAQ (R9)(CX*4), R10

pair:
	LEAQ   (DX)(CX*1), R11  // second weight row
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	XORQ   AX, AX

step:
	VPMOVSXBD   (DX)(AX*1), Y8
	VPMOVSXBD   (R11)(AX*1), Y9
	VCVTDQ2PS   Y8, Y8
	VCVTDQ2PS   Y9, Y9
	VMOVUPS     (SI)(AX*4), Y10
	VMOVUPS     (R8)(AX*4), Y11
	VMOVUPS     (R9)(AX*4), Y12
	VMOVUPS     (R10)(AX*4), Y13
	VFMADD231PS Y10, Y8, Y0
	VFMADD231PS Y10, Y9, Y1
	VFMADD231PS Y11, Y8, Y2
	VFMADD231PS Y11, Y9, Y3
	VFMADD231PS Y12, Y8, Y4
	VFMADD231PS Y12, Y9, Y5
	VFMADD231PS Y13, Y8, Y6
	VFMADD231PS Y13, Y9, Y7
	ADDQ        $8, AX
	CMPQ        AX, CX
	JLT         step

	// Fold each register to one sum: pairs of pairs within the halves, then the halves.
	VHADDPS    Y1, Y0, Y0
	VHADDPS    Y3, Y2, Y2
	VHADDPS    Y5, Y4, Y4
	VHADDPS    Y7, Y6, Y6
	VHADDPS    Y2, Y0, Y0
	VHADDPS    Y6, Y4, Y4
	VPERM2F128 $0x20, Y4, Y0, Y8
	VPERM2F128 $0x31, Y4, Y0, Y9
	VADDPS     Y9, Y8, Y8
	VMOVUPS    Y8, (DI)

	ADDQ $32, DI
	LEAQ (R11)(CX*1), DX
	DECQ BX
	JNZ  pair
	VZEROUPPER
	RET

// func dotFast(a, b *float32, n int) float32
TEXT ·dotFast(SB), NOSPLIT, $0-28
	MOVQ   a+0(FP), SI
	MOVQ   b+8(FP), DI
	MOVQ   n+16(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	XORQ   AX, AX
	TESTQ  $8, CX
	JZ     sixteen
	VMOVUPS     (SI), Y2
	VFMADD231PS (DI), Y2, Y0
	ADDQ        $8, AX
	CMPQ        AX, CX
	JGE         fold

sixteen:
	VMOVUPS     (SI)(AX*4), Y2
	VMOVUPS     32(SI)(AX*4), Y3
	VFMADD231PS (DI)(AX*4), Y2, Y0
	VFMADD231PS 32(DI)(AX*4), Y3, Y1
	ADDQ        $16, AX
	CMPQ        AX, CX
	JLT         sixteen

fold:
	VADDPS       Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VHADDPS      X0, X0, X0
	VHADDPS      X0, X0, X0
	VMOVSS       X0, ret+24(FP)
	VZEROUPPER
	RET

// func addScaledFast(y, x *float32, f float32, n int)
TEXT ·addScaledFast(SB), NOSPLIT, $0-32
	MOVQ         y+0(FP), DI
	MOVQ         x+8(FP), SI
	VBROADCASTSS f+16(FP), Y0
	MOVQ         n+24(FP), CX
	XORQ         AX, AX

add:
	VMOVUPS     (DI)(AX*4), Y1
	VFMADD231PS (SI)(AX*4), Y0, Y1
	VMOVUPS     Y1, (DI)(AX*4)
	ADDQ        $8, AX
	CMPQ        AX, CX
	JLT         add
	VZEROUPPER
	RET
