#include "capi/sotto_handles.h"
#include "kernels/kernels.h"

uint32_t sotto_version(void) { return SOTTO_VERSION; }

const char* sotto_build_text(void) { return SOTTO_BUILD_TEXT; }

const char* sotto_status_text(sotto_status status) { return sotto::status_text(static_cast<sotto::Status>(status)); }

const char* sotto_isa_text(sotto_isa isa) { return sotto::isa_name(static_cast<sotto::Isa>(isa)); }
