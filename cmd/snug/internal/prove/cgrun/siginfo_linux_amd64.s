// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// handler is a signal handler as the kernel calls it: DI signal, SI *siginfo_t,
// DX *ucontext, return address on the stack. It writes the siginfo to a pipe and
// returns. It uses no stack of its own, and sigreturn restores every register.
TEXT handler<>(SB),NOSPLIT|NOFRAME,$0
	MOVQ	·signalPipe(SB), DI
	MOVL	$128, DX	// sizeof(siginfo_t)
	MOVL	$1, AX		// SYS_write
	SYSCALL
	RET

// restorer is where the handler returns to; amd64 wants one (SA_RESTORER).
TEXT restorer<>(SB),NOSPLIT|NOFRAME,$0
	MOVL	$15, AX		// SYS_rt_sigreturn
	SYSCALL
	INT	$3

// func handlerPC() (handler, restorer uintptr)
TEXT ·handlerPC(SB),NOSPLIT,$0-16
	LEAQ	handler<>(SB), AX
	MOVQ	AX, handler+0(FP)
	LEAQ	restorer<>(SB), AX
	MOVQ	AX, restorer+8(FP)
	RET
