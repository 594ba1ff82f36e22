/* The model file, as constants that the linker puts into the outer flash. */
__asm__(
    ".section .model, \"a\", %progbits\n"
    ".balign 64\n"
    ".global model_file\n.global model_file_end\n"
    "model_file: .incbin \"" SOTTO_MODEL_FILE
    "\"\n"
    "model_file_end:\n");
