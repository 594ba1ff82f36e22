"""Assembles the Android archive: sotto-VERSION.aar and sotto-VERSION.pom.

    make_aar.py OUTPUT --classes sotto.jar --headers capi/include \\
        --abi arm64-v8a build/android-arm64/lib --abi x86_64 build/android-x86_64/lib

Each directory contains libsotto.so and libsotto_jni.so for its ABI. The archive contains both for Java and Kotlin, and
libsotto with its headers as a prefab package for C and C++.
"""
import argparse
import json
import pathlib
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
TIMESTAMP = (1980, 1, 1, 0, 0, 0)
ABIS = ("arm64-v8a", "armeabi-v7a", "x86_64", "x86")
LIBRARIES = ("libsotto.so", "libsotto_jni.so")
POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
         xsi:schemaLocation="http://maven.apache.org/POM/4.0.0 http://maven.apache.org/xsd/maven-4.0.0.xsd">
  <modelVersion>4.0.0</modelVersion>
  <groupId>io.github.sotto</groupId>
  <artifactId>{artifact}</artifactId>
  <version>{version}</version>
  <packaging>{packaging}</packaging>
  <name>Sotto</name>
  <description>Text generation on small devices, in memory of a fixed size</description>
  <licenses>
    <license>
      <name>Apache-2.0</name>
      <url>https://www.apache.org/licenses/LICENSE-2.0.txt</url>
    </license>
  </licenses>
</project>
"""


def as_json(value):
    return (json.dumps(value, indent=2) + "\n").encode()


def contents(options):
    """{path in the archive: bytes}"""
    files = {"AndroidManifest.xml": (HERE / "android/AndroidManifest.xml").read_bytes(),
             "classes.jar": options.classes.read_bytes(), "R.txt": b"",
             "proguard.txt": (HERE / "android/proguard.txt").read_bytes(),
             "prefab/prefab.json": as_json({"schema_version": 2, "name": "sotto", "version": options.version,
                                            "dependencies": []}),
             "prefab/modules/sotto/module.json": as_json({"export_libraries": [], "library_name": "libsotto",
                                                          "android": {}})}
    for header in sorted(options.headers.glob("*.h")):
        files[f"prefab/modules/sotto/include/{header.name}"] = header.read_bytes()
    for abi, directory in options.abi:
        if abi not in ABIS:
            raise SystemExit(f"{abi} is not one of {', '.join(ABIS)}")
        for name in LIBRARIES:
            files[f"jni/{abi}/{name}"] = (pathlib.Path(directory) / name).read_bytes()
        module = f"prefab/modules/sotto/libs/android.{abi}"
        files[f"{module}/libsotto.so"] = files[f"jni/{abi}/libsotto.so"]
        files[f"{module}/abi.json"] = as_json({"abi": abi, "api": options.api, "ndk": options.ndk, "stl": "none",
                                               "static": False})
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path, help="directory for the two files")
    parser.add_argument("--classes", type=pathlib.Path, required=True)
    parser.add_argument("--headers", type=pathlib.Path, required=True)
    parser.add_argument("--abi", nargs=2, action="append", required=True, metavar=("ABI", "DIRECTORY"))
    parser.add_argument("--version", default="1.0.0")
    parser.add_argument("--api", type=int, default=24, help="least API level that the libraries were built for")
    parser.add_argument("--ndk", type=int, default=27, help="major version of the NDK")
    options = parser.parse_args()
    files = contents(options)
    options.output.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(options.output / f"sotto-{options.version}.aar", "w") as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, TIMESTAMP)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    pom = POM.format(artifact="sotto", version=options.version, packaging="aar")
    (options.output / f"sotto-{options.version}.pom").write_text(pom)


if __name__ == "__main__":
    main()
