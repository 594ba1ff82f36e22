"""Adds three parameters and three functions to a copy of the tree, runs the generator, and builds and runs the result.

The parameters are a sampler parameter with its own stage, a list of the sampler, and a session parameter. The test
verifies the recipes of capi/README.md: only the tables, the stage itself and the functions are edited by hand. The
program that it builds checks defaults, ranges and their messages, the conversion from C, and the condition of the
stage. The objects with the stage and with all conversions must compile, and the header, the documentation, the layouts
and every binding must contain the parameters. Every binding must have a method for each function; those in C++ must
compile.

    add_parameter.py ROOT COMPILER
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

FIELD = '''
[struct.sotto_sampler_params.fields.probe_scale]
type = "float"
default = 1
range = "(0, 4]"
off = 1
doc = """Factor of all logits."""
'''
LIST = '''
[struct.sotto_sampler_params.fields.probe_tokens]
type = "sotto_token[]"
count = "probe_token_count"
doc = """Tokens to probe."""
'''
SESSION_FIELD = '''
[struct.sotto_session_params.fields.probe_count]
type = "uint32_t"
default = 3
range = "[1, 7]"
doc = """Number of probes."""
'''
STAGE = 'PROBE = { value = 29, effect = "reweighs", on = ["probe_scale"], doc = "Multiplies by probe_scale." }\n'

FUNCTIONS = """SOTTO_API sotto_status sotto_session_get_probe(const sotto_session* session, int32_t position, float* probe);
SOTTO_API sotto_status sotto_session_tune(sotto_session* session, const sotto_guide_params* params, sotto_error* error);
SOTTO_API sotto_status sotto_session_tell(sotto_session* session, const sotto_token* prompt, size_t prompt_count,
                                          size_t max_tokens, sotto_piece_fn on_piece, void* user_data);
"""
METHOD = '''
[method.sotto_session_get_probe]
doc = """Returns a probe."""
[method.sotto_session_tune]
doc = """Tunes the session."""
[method.sotto_session_tell]
doc = """Tells a text."""
returns = "stop"
'''
# Files of the bindings, and the method in them.
METHODS = {
    "cpp/include/sotto/session.hpp": r"Result<float> probe\(int32_t position\) const.*Result<void> tune\(const GuideParams& params\)"
        r".*Result<Status> tell\(Tokens prompt, std::optional<size_t> max_tokens, Function&& on_piece\)",
    "go/session.go": r"func \(s \*Session\) Probe\(position int32\) \(float32, error\).*Tune\(params \*GuideParams\) error"
        r".*Tell\(prompt \[\]Token, maxTokens int, onPiece func\(Piece\) \(stop bool\)\) \(Status, error\)",
    "go/bridge.h": r"sotto_status sotto_go_session_tell\(.*uintptr_t handle\);",
    "go/bridge.c": r"return sotto_session_tell\(session, prompt, prompt_count, max_tokens, .*on_piece",
    "java/src/main/java/io/github/sotto/Session.java": r"public float probe\(int position\).*public void tune\(GuideParams params\)"
        r".*public Status tell\(int\[\] prompt, long maxTokens, Callbacks.Pieces onPiece\)",
    "java/src/main/java/io/github/sotto/Native.java": r"native float sessionProbe\(long session, int position\).*native void sessionTune\(.*native int sessionTell\(",
    "java/jni/generated/methods.cpp": r"NATIVE\(jfloat, sessionProbe\).*NATIVE\(void, sessionTune\).*NATIVE\(jint, sessionTell\)",
    "javascript/src/session.js": r"probe\(position\).*tune\(params = \{\}\).*tell\(prompt = \[\], \{ maxTokens, onPiece",
    "javascript/src/index.d.ts": r"probe\(position: number\): number.*tune\(params\?: GuideParams\): void"
        r".*tell\(prompt\?: Prompt, options\?: .*\): Status",
    "python/sotto/session.py": r"def probe\(self, position: int\) -> float:.*def tune\(self, params: GuideParams"
        r".*def tell\(self, prompt: Text \| Sequence\[int\] = \(\), max_tokens: int \| None = None",
    "rust/sotto/src/session.rs": r"pub fn probe\(&self, position: i32\) -> Result<f32>.*pub fn tune\(&mut self, params: &crate::GuideParams\)"
        r".*pub fn tell\(\s+&mut self,\s+prompt: impl Prompt,",
    "swift/Sources/Sotto/Session.swift": r"public func probe\(_ position: Int32\) throws -> Float.*func tune\(_ params: GuideParameters\)"
        r".*public func tell\(_ prompt: \[Token\], maxTokens: Int\? = nil,",
}

PROGRAM = r'''
#include <cstdio>
#include <cstring>

#include "capi/generated/params.h"
#include "runtime/sampling/sampler_params.h"

using namespace sotto;

bool binding_converts_lists();

// The chain is not part of this program.
Status sotto::check_built(const SamplerParams&, Error*) { return Status::kOk; }

int main() {
  sotto_sampler_params given;
  sotto_sampler_params_init(&given, sizeof given);
  if (given.probe_scale != 1.0f) return 1;
  capi::ErrorOut out(nullptr);
  SamplerParams params;
  if (capi::read_params(&given, "params", &params, &out) != SOTTO_OK || is_on(StageKind::kProbe, params)) return 2;
  given.probe_scale = 2;
  if (capi::read_params(&given, "params", &params, &out) != SOTTO_OK || params.probe_scale != 2) return 3;
  if (!is_on(StageKind::kProbe, params) || std::strcmp(stage_setting(StageKind::kProbe), "probe_scale") != 0) return 4;
  // A caller that was compiled without the parameter has the default.
  given.struct_size = offsetof(sotto_sampler_params, probe_scale);
  if (capi::read_params(&given, "params", &params, &out) != SOTTO_OK || params.probe_scale != 1) return 5;
  params.probe_scale = 5;
  Error error;
  if (check_ranges(params, &error) != Status::kInvalidArgument) return 6;
  std::puts(error.message);
  if (std::strcmp(error.message, "probe_scale is 5; it must be greater than 0 and at most 4") != 0) return 7;

  // A list is read from C, copied into the sampler's memory, and validated.
  const sotto_token tokens[] = {3, 9};
  sotto_sampler_params_init(&given, sizeof given);
  given.probe_tokens = tokens;
  given.probe_token_count = 2;
  SamplerParams listed;
  if (capi::read_params(&given, "params", &listed, &out) != SOTTO_OK || listed.probe_tokens.size() != 2) return 12;
  alignas(64) static unsigned char memory[4096];
  Arena arena(memory);
  ListMemory copies;
  copies.layout(arena, 256);
  if (copies.copy(&listed, &error) != Status::kOk || listed.probe_tokens.data() == tokens) return 13;
  if (listed.probe_tokens[1] != 9) return 14;
  SamplerContext context;
  context.vocabulary_size = 9;
  if (check_sampler(listed, context, &error) != Status::kInvalidArgument) return 15;
  std::puts(error.message);
  if (std::strcmp(error.message, "probe_tokens[1] is 9; it must be a token id from 0 to 8") != 0) return 16;

  if (!binding_converts_lists()) return 17;

  sotto_session_params wanted;
  sotto_session_params_init(&wanted, sizeof wanted);
  SessionParams session;
  if (capi::read_params(&wanted, "params", &session, &out) != SOTTO_OK || session.probe_count != 3) return 8;
  wanted.probe_count = 8;
  if (capi::read_params(&wanted, "params", &session, &out) != SOTTO_OK || session.probe_count != 8) return 9;
  if (check_ranges(session, &error) != Status::kInvalidArgument) return 10;
  std::puts(error.message);
  return std::strcmp(error.message, "probe_count is 8; it must be from 1 to 7") == 0 ? 0 : 11;
}
'''

BINDING = r'''
#include "platforms/cpp/include/sotto/params.hpp"

bool binding_converts_lists() {
  sotto::SamplerParams params;
  params.probe_tokens = {3, 9};
  sotto::detail::Guard guard;
  const sotto::detail::CSamplerParams c_params(params, &guard);
  return c_params.get()->probe_token_count == 2 && c_params.get()->probe_tokens[1] == 9;
}
'''
METHOD_CALL = r'''
#include "platforms/cpp/include/sotto/session.hpp"

float probe(sotto::Session& session) {
  session.tune(sotto::GuideParams());
  session.tell({}, 3, [](const sotto::Piece&) {});
  return session.probe(3);
}
'''


def edit(path, pattern, replacement):
    text, count = re.subn(pattern, replacement, path.read_text(encoding="utf-8"), flags=re.S)
    if count == 0:
        raise SystemExit(f"{path.name} has no {pattern!r}")
    path.write_text(text, encoding="utf-8")


def main():
    root, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "tree"
        for part in ("capi", "runtime", "kernels", "platforms", "tests/abi"):
            shutil.copytree(root / part, tree / part, ignore=shutil.ignore_patterns("*.sotto", "target", "build", "__pycache__"))

        # The edits by hand.
        table = tree / "capi/params/sampler.toml"
        edit(table, r"(WATERMARK = \{ value = 28[^\n]*\n)", lambda match: match.group(1) + STAGE)
        edit(table, r'"WATERMARK"\]', '"WATERMARK", "PROBE"]')
        table.write_text(table.read_text(encoding="utf-8") + FIELD + LIST, encoding="utf-8")
        edit(tree / "runtime/sampling/stages/temperature.cpp", r"(\n\}  // namespace sotto::stages)",
             r"\nvoid probe(Candidates& candidates, const StageInput& input) {\n"
             r"  candidates.divide_by(1 / input.params.probe_scale);\n}\n\1")
        session_table = tree / "capi/params/session.toml"
        session_table.write_text(session_table.read_text(encoding="utf-8") + SESSION_FIELD + METHOD, encoding="utf-8")
        edit(tree / "capi/include/sotto_session.h", r"(\nSOTTO_API sotto_status sotto_session_fork)", rf"\n{FUNCTIONS}\1")

        # Other structs follow in the tables; the new fields are the last ones of their own structs.
        subprocess.run([sys.executable, str(tree / "capi/generate")], check=True)

        for header, parameter in (("sotto_sampler.h", "probe_scale"), ("sotto_session.h", "probe_count")):
            for name in (f"capi/include/{header}", "capi/PARAMETERS.md", "tests/abi/layout_lp64.txt",
                         "tests/abi/layout_ilp32.txt"):
                if parameter not in (tree / name).read_text(encoding="utf-8"):
                    raise SystemExit(f"{name} lacks {parameter}")
        for binding in ("python", "rust", "go", "java", "swift"):
            if not (tree / "platforms" / binding).is_dir():
                continue
            texts = [path.read_text(encoding="utf-8", errors="replace")
                     for path in (tree / "platforms" / binding).rglob("*") if path.is_file()]
            for word in ("scale", "tokens", "count"):
                if not any(re.search(f"probe_?{word}", text, re.I) for text in texts):
                    raise SystemExit(f"platforms/{binding} lacks probe_{word}")

        if "sotto_session_get_probe" not in (tree / "capi/symbols.txt").read_text().split():
            raise SystemExit("capi/symbols.txt lacks the function")
        for name, method in METHODS.items():
            path = tree / "platforms" / name
            if path.parent.is_dir() and not re.search(method, path.read_text(encoding="utf-8"), re.S):
                raise SystemExit(f"platforms/{name} lacks a method")

        options = ["-std=c++20", "-O0", "-DSOTTO_HAS_GRAMMAR=1", "-DSOTTO_HAS_SEARCH=1", "-DSOTTO_HAS_SPECULATION=1", "-DSOTTO_HAS_ALL_SAMPLERS=1",
                   "-DSOTTO_HAS_WATERMARK=1", f"-I{tree}", f"-I{tree / 'capi/include'}"]
        for source in ("chain.cpp", "stages/temperature.cpp"):
            subprocess.run([compiler, *options, "-fsyntax-only", tree / "runtime/sampling" / source], check=True)
        (tree / "method.cpp").write_text(METHOD_CALL, encoding="utf-8")
        subprocess.run([compiler, *options, "-fsyntax-only", tree / "method.cpp"], check=True)
        (tree / "probe.cpp").write_text(PROGRAM, encoding="utf-8")
        (tree / "binding.cpp").write_text(BINDING, encoding="utf-8")
        sources = ["probe.cpp", "binding.cpp", "runtime/sampling/sampler_params.cpp", "capi/generated/params.cpp", "runtime/generated/params.cpp", "runtime/base/range_check.cpp",
                   "runtime/base/status.cpp", "runtime/generated/status.cpp"]
        subprocess.run([compiler, *options, *(tree / source for source in sources), "-o", tree / "probe"], check=True)
        return subprocess.run([tree / "probe"]).returncode


if __name__ == "__main__":
    sys.exit(main())
