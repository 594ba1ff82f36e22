"""Looks for arithmetic on vectors of floats in a program for 32-bit ARM: `check_vector_floats.py OBJDUMP FILE`.

On 32-bit ARM, NEON flushes denormals in every mode and would give other results than all other machines. Scalar VFP
does not.
"""
import re
import subprocess
import sys

# Comparisons, extremes and estimates flush as well; what moves, negates or converts integers does not.
VECTOR = re.compile(r"\tv(?:p?add|sub|mul|mla|mls|fma|fms|abd|p?max|p?min|a?c(?:eq|ge|gt|le|lt)|recp[es]|rsqrt[es])"
                    r"\.f32\t[dq]\d")
SCALAR = re.compile(r"\tv(?:add|mul|fma)\.f32\ts\d")


def main():
    text = subprocess.run([sys.argv[1], "-d", "--no-show-raw-insn", sys.argv[2]], capture_output=True, text=True,
                          check=True).stdout
    function, found, scalar = "", [], 0
    for line in text.splitlines():
        if line.endswith(">:"):
            function = line
        elif VECTOR.search(line):
            found.append(f"{function} {line.strip()}")
        elif SCALAR.search(line):
            scalar += 1
    print("\n".join(found[:20]))
    print(f"{len(found)} instructions on vectors of floats, {scalar} on scalars")
    return 1 if found or scalar == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
