/* The functions of a board that main.c calls. */
#ifndef SOTTO_BAREMETAL_BOARD_H
#define SOTTO_BAREMETAL_BOARD_H

void board_write(const char* bytes, unsigned long size);
void board_exit(int status) __attribute__((noreturn));

#endif
