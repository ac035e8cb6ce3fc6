// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// handler is a signal handler as the kernel calls it: R0 signal, R1 *siginfo_t,
// R2 *ucontext, return address in R30 (the vdso's sigreturn). It writes the
// siginfo to a pipe and returns. It uses no stack, and sigreturn restores every
// register.
TEXT handler<>(SB),NOSPLIT|NOFRAME,$0
	MOVD	·signalPipe(SB), R0
	MOVD	$128, R2	// sizeof(siginfo_t)
	MOVD	$64, R8		// SYS_write
	SVC
	RET

// func handlerPC() (handler, restorer uintptr)
TEXT ·handlerPC(SB),NOSPLIT,$0-16
	MOVD	$handler<>(SB), R0
	MOVD	R0, handler+0(FP)
	MOVD	ZR, restorer+8(FP)
	RET
