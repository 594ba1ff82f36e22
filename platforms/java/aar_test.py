"""Tests that the Android archive has the layout that build tools expect: `aar_test.py MAKE_AAR JAR LIBRARIES
HEADERS`."""
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zipfile

POM = "{http://maven.apache.org/POM/4.0.0}"


def main():
    script, jar, libraries, headers = map(pathlib.Path, sys.argv[1:5])
    with tempfile.TemporaryDirectory() as directory:
        parts = pathlib.Path(directory) / "parts"
        parts.mkdir()
        for name in ("libsotto.so", "libsotto_jni.so"):
            (parts / name).write_bytes((libraries / name).read_bytes())
        command = [sys.executable, script, directory, "--classes", jar, "--headers", headers]
        subprocess.run([*command, "--abi", "x86_64", parts], check=True)
        refused = subprocess.run([*command, "--abi", "vax", parts], capture_output=True, text=True)
        assert refused.returncode != 0 and "vax" in refused.stderr, refused
        pom = xml.etree.ElementTree.parse(pathlib.Path(directory) / "sotto-1.0.0.pom").getroot()
        assert (pom.findtext(POM + "packaging"), pom.findtext(POM + "version")) == ("aar", "1.0.0")
        with zipfile.ZipFile(pathlib.Path(directory) / "sotto-1.0.0.aar") as archive:
            assert archive.testzip() is None
            read = archive.read
            names = set(archive.namelist())
            manifest = xml.etree.ElementTree.fromstring(read("AndroidManifest.xml"))
            assert manifest.get("package") == "io.github.sotto"
            with zipfile.ZipFile(io.BytesIO(read("classes.jar"))) as classes:
                inside = set(classes.namelist())
            assert {"io/github/sotto/Session.class", "io/github/sotto/Native.class"} <= inside, inside
            assert not [name for name in inside if "Test" in name]
            for name in ("libsotto.so", "libsotto_jni.so"):
                assert read(f"jni/x86_64/{name}")[:4] == b"\x7fELF"
            assert json.loads(read("prefab/prefab.json"))["name"] == "sotto"
            module = "prefab/modules/sotto"
            assert json.loads(read(f"{module}/module.json"))["library_name"] == "libsotto"
            assert json.loads(read(f"{module}/libs/android.x86_64/abi.json"))["abi"] == "x86_64"
            assert read(f"{module}/libs/android.x86_64/libsotto.so") == read("jni/x86_64/libsotto.so")
            shipped = {name.rsplit("/", 1)[1] for name in names if name.startswith(f"{module}/include/")}
            assert shipped == {header.name for header in headers.glob("*.h")}, shipped
            assert {"proguard.txt", "R.txt"} <= names
    print("the archive is as it should be")


if __name__ == "__main__":
    main()
