/* The model file as constant data, which the linker script places in the external flash. */
__asm__(
    ".section .model, \"a\", %progbits\n"
    ".balign 64\n"
    ".global model_file\n.global model_file_end\n"
    "model_file: .incbin \"" SOTTO_MODEL_FILE
    "\"\n"
    "model_file_end:\n");
