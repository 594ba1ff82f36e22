/* Start-up code of a Cortex-M, and the semihosting calls that main uses. */
#include "platforms/baremetal/board.h"

#include <stdint.h>

int main(void);
void reset(void);

extern uint32_t data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];
extern const uint32_t data_source[];

static uint32_t semihost(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void board_write(const char* bytes, unsigned long size) {
  enum { kWriteCharacter = 3 };
  for (unsigned long i = 0; i < size; ++i) semihost(kWriteCharacter, bytes + i);
}

void board_exit(int status) {
  enum { kExitExtended = 0x20, kApplicationExit = 0x20026 };
  const uint32_t arguments[] = {kApplicationExit, (uint32_t)status};
  semihost(kExitExtended, arguments);
  for (;;) continue;
}

static void fault(void) { board_exit(3); }

void reset(void) {
  volatile uint32_t* const access_control = (volatile uint32_t*)0xe000ed88;
  *access_control |= 0xfu << 20; /* the FPU */
  __asm__ volatile("dsb\n isb" ::: "memory");
  const uint32_t* from = data_source;
  for (uint32_t* to = data_begin; to < data_end; ++to) *to = *from++;
  for (uint32_t* to = bss_begin; to < bss_end; ++to) *to = 0;
  board_exit(main());
}

/* Stack, reset, NMI, and the four faults. */
__attribute__((section(".vectors"), used)) static const void* const vectors[] = {
    stack_top,          (const void*)reset, (const void*)fault, (const void*)fault,
    (const void*)fault, (const void*)fault, (const void*)fault};
