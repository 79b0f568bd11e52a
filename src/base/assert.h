#ifndef WEIR_BASE_ASSERT_H
#define WEIR_BASE_ASSERT_H

/*
 * Invariants of our own code. They stay on in release builds: a gateway that has lost track of its
 * own state must stop, not guess. Never used on anything a peer can influence.
 */

#define WEIR_ASSERT(cond) ((cond) ? (void)0 : weir_assert_fail(#cond, __FILE__, __LINE__, __func__))

_Noreturn void weir_assert_fail(const char *cond, const char *file, int line, const char *func);

#endif
