"""Installs each package of release.py as its user would and streams a text: `check.py DIRECTORY [CHANNEL...]`.

Each channel runs in an empty directory, with an empty home directory and, as root on Linux, without a network. It takes
at most two commands, in a project of a few lines, such as a new user has. The streamed text must be that of
tests/golden or of README.md. Prints a table.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLATFORMS = ROOT / "platforms"
MODULE = "github.com/sotto-runtime/sotto/platforms/go"
os.environ["SOTTO_GOLDEN"] = str(ROOT / "tests/golden/data/bindings.txt")
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/tools"))
from check_example import golden_case  # noqa: E402

MAVEN_PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId>
  <artifactId>example</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
    <exec.mainClass>{main}</exec.mainClass>
  </properties>
  <build>
    <plugins>
      <plugin>
        <groupId>org.codehaus.mojo</groupId>
        <artifactId>exec-maven-plugin</artifactId>
        <version>3.1.0</version>
      </plugin>
    </plugins>
  </build>
{more}</project>
"""
MAVEN_DEPENDENCY = """  <repositories>
    <repository>
      <id>sotto</id>
      <url>file://{repository}</url>
    </repository>
  </repositories>
  <dependencies>
    <dependency>
      <groupId>io.github.sotto</groupId>
      <artifactId>sotto-jvm</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
"""


class Skipped(Exception):
    pass


class User:
    """A user in an empty directory."""

    def __init__(self, packages, version, directory):
        self.packages, self.version = packages, version
        self.directory, self.home = directory / "project", directory / "home"
        self.directory.mkdir()
        self.home.mkdir()
        self.environment = {**os.environ, "HOME": str(self.home)}
        for name in [name for name in self.environment if name.startswith(("SOTTO_", "CARGO_TARGET"))]:
            del self.environment[name]
        self.commands, self.seconds = [], []
        shutil.copy(PLATFORMS / "models/demo.sotto", self.directory)
        self.prompt = golden_case("example")["prompt"]

    def write(self, name, text):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def take(self, source, name):
        self.write(name, (PLATFORMS / source).read_text(encoding="utf-8"))

    def prepare(self, *command):
        """Runs a command that belongs to the user's project, not to the package."""
        done = subprocess.run(command, cwd=self.directory, env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{shlex.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}")

    def types(self, command):
        """Runs a command of the user, without a network, and returns its output."""
        isolated = ["unshare", "-n"] if sys.platform == "linux" and os.geteuid() == 0 else []
        start = time.monotonic()
        done = subprocess.run([*isolated, "sh", "-euc", command], cwd=self.directory, env=self.environment,
                              capture_output=True, text=True, encoding="utf-8")
        self.commands.append(command)
        self.seconds.append(time.monotonic() - start)
        if done.returncode != 0:
            raise SystemExit(f"{command}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def needs(self, *tools):
        for tool in tools:
            if shutil.which(tool) is None:
                raise Skipped(f"{tool} is not installed")

    def find(self, channel, file):
        """Skips a package that release.py was told not to make."""
        if not (self.packages / channel / file).exists():
            raise Skipped(f"{channel}/{file} is missing")

    def arguments(self):
        return f'demo.sotto "{self.prompt}"'


def rust(user):
    """Crates, from a directory that replaces the registry."""
    user.needs("cargo")
    registry = user.home / "registry"
    for crate in sorted(user.packages.glob("crates/*.crate")):
        with tarfile.open(crate) as archive:
            archive.extractall(registry)
        (registry / crate.stem / ".cargo-checksum.json").write_text(
            json.dumps({"files": {}, "package": hashlib.sha256(crate.read_bytes()).hexdigest()}))
    rustup = pathlib.Path.home() / ".rustup"
    if rustup.is_dir():
        user.environment.setdefault("RUSTUP_HOME", str(rustup))
    user.environment["CARGO_HOME"] = str(user.home / ".cargo")
    (user.home / ".cargo").mkdir()
    (user.home / ".cargo/config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "local"\n[source.local]\ndirectory = "{registry}"\n')
    user.prepare("cargo", "init", "-q", "--vcs", "none", "--name", "example")
    user.take("rust/sotto/examples/stream.rs", "src/main.rs")
    user.types("cargo add sotto")
    return user.types(f"cargo run --release -- {user.arguments()}")


def go(user):
    """The module, from a proxy that is a directory."""
    user.needs("go")
    user.environment.update(GOPROXY=f"file://{user.packages}/go", GOSUMDB="off", GOTOOLCHAIN="local",
                            GOFLAGS="-modcacherw", GOPATH=str(user.home / "go"))
    user.prepare("go", "mod", "init", "example")
    user.take("go/examples/stream/main.go", "main.go")
    user.types(f"go get {MODULE}")
    return user.types(f"go run . {user.arguments()}")


def python(user, options):
    user.prepare(sys.executable, "-m", "venv", "env")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    user.write("stream.py", re.search(r"^```python\n(.*?)^```$", readme, re.M | re.S)[1])
    user.types(f"env/bin/pip install --no-index --find-links {user.packages}/python {options}sotto")
    return user.types(f"env/bin/python stream.py")


def python_wheel(user):
    """The wheel. If auditwheel is installed, it must find the tag of its name true."""
    [wheel] = user.packages.glob(f"python/*_{os.uname().machine}.whl")
    if auditwheel := shutil.which("auditwheel"):
        shown = subprocess.run([auditwheel, "show", wheel], capture_output=True, text=True, check=True).stdout
        tag = wheel.stem.split("-")[-1]
        if f'"{tag}"' not in shown.replace("\n", " "):
            raise SystemExit(f"auditwheel does not confirm {tag}:\n{shown}")
    return python(user, "--only-binary :all: ")


def python_sdist(user):
    """The source distribution."""
    return python(user, "--no-binary :all: ")


def maven(user):
    """The jar with its libraries, from a Maven repository that is a directory."""
    user.needs("mvn", "javac")
    user.write("pom.xml", MAVEN_PROJECT.format(main="Nothing", more=""))
    user.write("src/main/java/Nothing.java",
               "public final class Nothing { public static void main(String[] arguments) {} }\n")
    repository = pathlib.Path.home() / ".m2/repository"  # contains Maven's own plugins, as every user's does
    user.environment["MAVEN_OPTS"] = f"-Dmaven.repo.local={user.home}/repository -Duser.home={user.home}"
    warm = ["mvn", "-B", "-q", "compile", "exec:java"]
    if subprocess.run([*warm, f"-Dmaven.repo.local={repository}"], cwd=user.directory, capture_output=True).returncode:
        raise Skipped("Maven could not fetch its plugins")
    shutil.copytree(repository, user.home / "repository",
                    ignore=lambda directory, names: ["sotto"] if directory.endswith("io/github") else [])
    shutil.rmtree(user.directory / "src")
    shutil.rmtree(user.directory / "target")
    more = MAVEN_DEPENDENCY.format(repository=user.packages / "maven", version=user.version)
    user.write("pom.xml", MAVEN_PROJECT.format(main="StreamText", more=more))
    user.take("java/src/example/java/StreamText.java", "src/main/java/StreamText.java")
    return user.types(f"mvn -q compile exec:java -Dexec.args='{user.arguments()}'")


def java(user):
    """The jar alone."""
    user.needs("java")
    shutil.copy(next(user.packages.glob("maven/io/github/sotto/sotto-jvm/*/sotto-jvm-*[0-9].jar")), user.directory)
    user.take("java/src/example/java/StreamText.java", "StreamText.java")
    return user.types(f"java -cp sotto-jvm-{user.version}.jar StreamText.java {user.arguments()}")


def npm(user):
    """The npm package, in Node.js."""
    user.needs("npm")
    user.take("javascript/examples/stream.mjs", "stream.mjs")
    user.types(f"npm install --silent {next(user.packages.glob('npm/sotto-*.tgz'))}")
    return user.types(f"node stream.mjs {user.arguments()}")


SWIFT_PROJECT = """// swift-tools-version:5.9
import PackageDescription

let package = Package(
  name: "Example",
  dependencies: [.package(url: "file://{address}", from: "{version}")],
  targets: [.executableTarget(name: "Example", dependencies: [.product(name: "Sotto", package: "sotto")])]
)
"""


def swift(user):
    """The Swift package, from an address that is a Git repository in a directory."""
    user.needs("swift", "git")
    repository = user.home / "sotto"
    repository.mkdir()
    user.prepare("tar", "-xzf", str(user.packages / f"source/sotto-{user.version}.tar.gz"), "-C", str(repository),
                 "--strip-components=1")
    git = ("git", "-C", str(repository), "-c", "user.name=example", "-c", "user.email=example@localhost")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Release"], ["tag", user.version]):
        user.prepare(*git, *command)
    user.write("Package.swift", SWIFT_PROJECT.format(address=repository, version=user.version))
    user.take("swift/Sources/StreamText/StreamText.swift", "Sources/Example/StreamText.swift")
    return user.types(f"swift run -q -c release Example {user.arguments()}")


def amalgamation(user):
    """The two files, with a compiler alone."""
    archive = f"sotto-{user.version}-amalgamation.tar.gz"
    shutil.copy(user.packages / "archives" / archive, user.directory)
    user.types(f"tar -xzf {archive} --strip-components=1 && c++ -std=c++20 -O2 -fno-exceptions -c sotto.cpp && "
               "cc -I. generate.c sotto.o -o generate -lm -lpthread")
    return user.types(f'./generate demo.sotto "{user.prompt}"')


def archive(user):
    """The library for this machine, by pkg-config."""
    name = f"sotto-{user.version}-linux-{os.uname().machine}"
    user.find("archives", f"{name}.tar.gz")
    shutil.copy(ROOT / "capi/examples/generate.c", user.directory)
    user.types(f"tar -xzf {user.packages}/archives/{name}.tar.gz && PKG_CONFIG_PATH={name}/lib/pkgconfig && "
               f"export PKG_CONFIG_PATH && cc generate.c $(pkg-config --cflags --libs sotto) -o generate "
               f"-Wl,-rpath,$PWD/{name}/lib")
    return user.types(f'./generate demo.sotto "{user.prompt}"')


ARCHIVE_PROJECT = """cmake_minimum_required(VERSION 3.16)
project(example LANGUAGES C)
find_package(sotto 1.0 REQUIRED)
add_executable(generate generate.c)
target_link_libraries(generate PRIVATE sotto::sotto)
add_executable(generate_static generate.c)
target_link_libraries(generate_static PRIVATE sotto::sotto_static)
"""


def archive_cmake(user):
    """The libraries for this machine, by CMake."""
    name = f"sotto-{user.version}-linux-{os.uname().machine}"
    user.find("archives", f"{name}.tar.gz")
    user.write("CMakeLists.txt", ARCHIVE_PROJECT)
    shutil.copy(ROOT / "capi/examples/generate.c", user.directory)
    user.types(f"tar -xzf {user.packages}/archives/{name}.tar.gz && cmake -B build -D CMAKE_PREFIX_PATH=$PWD/{name} && "
               "cmake --build build")
    text = user.types(f'build/generate demo.sotto "{user.prompt}"')
    if user.types(f'build/generate_static demo.sotto "{user.prompt}"') != text:
        raise SystemExit("the static library streams another text than the shared one")
    return text


def archive_windows(user):
    """The library for Windows."""
    name = f"sotto-{user.version}-windows-x86_64"
    user.find("archives", f"{name}.zip")
    return windows(user, user.packages / f"archives/{name}.zip", f"{name}/bin", f"{name}/include",
                   f"{name}/lib/libsotto.dll.a")


def windows(user, package, directory, include, library):
    """Unpacks a package into `directory`, compiles the example against a library in it by Zig, and runs it by Wine."""
    user.needs("wine")
    zig = ROOT / "build/tools/zig/bin/python3"
    if not zig.exists():
        raise Skipped("Zig's compiler is missing")
    # The compiler keeps the libraries of Windows that it has compiled before.
    user.environment.update(WINEPREFIX=str(user.home / "wine"), WINEDEBUG="-all",
                            ZIG_GLOBAL_CACHE_DIR=str(pathlib.Path.home() / ".cache/zig"))
    shutil.copy(ROOT / "capi/examples/generate.c", user.directory)
    user.types(f"python3 -m zipfile -e {package} . && {zig} -m ziglang cc -target x86_64-windows-gnu -I{include} "
               f"generate.c {library} -o {directory}/generate.exe")
    return user.types(f'wine {directory}/generate.exe demo.sotto "{user.prompt}"')


def wheel_windows(user):
    """The library in the wheel for Windows, without Python."""
    name = f"sotto-{user.version}-py3-none-win_amd64.whl"
    user.find("python", name)
    return windows(user, user.packages / f"python/{name}", "sotto", ROOT / "capi/include", "sotto/sotto.dll")


CMAKE_PROJECT = """cmake_minimum_required(VERSION 3.16)
project(example LANGUAGES C CXX)
include(FetchContent)
FetchContent_Declare(sotto URL {address})
FetchContent_MakeAvailable(sotto)
add_executable(generate generate.c)
target_link_libraries(generate PRIVATE sotto::sotto)
"""


def cmake(user):
    """The amalgamation as a project of CMake, from an archive that is a file."""
    user.write("CMakeLists.txt", CMAKE_PROJECT.format(address=user.packages / f"source/sotto-{user.version}.tar.gz"))
    shutil.copy(ROOT / "capi/examples/generate.c", user.directory)
    user.types("cmake -B build -D CMAKE_BUILD_TYPE=Release && cmake --build build")
    return user.types(f'build/generate demo.sotto "{user.prompt}"')


def conan(user):
    """The recipe, with the program that tests its package."""
    user.needs("conan")
    user.environment["CONAN_HOME"] = str(user.home)
    user.prepare("conan", "profile", "detect")
    user.types(f"tar -xzf {user.packages}/source/sotto-{user.version}.tar.gz")
    # Conan shows the program's output at the end of its own, on standard error.
    return user.types(f"conan create sotto-{user.version} 2>&1").rstrip().rpartition("\n")[2]


def expected_texts():
    """Returns the text of the bindings' examples and the beginning of the C example's, both without the prompt."""
    case = golden_case("example")
    shown = re.search(rf"^{case['prompt']}(.*) \.\.\.$", (ROOT / "README.md").read_text(), re.MULTILINE)[1]
    return case["prompt"], case["text"].strip(), shown.strip()


CHANNELS = {
    "crates": rust,
    "Go module": go,
    "Python wheel": python_wheel,
    "Python sdist": python_sdist,
    "Maven": maven,
    "jar": java,
    "npm": npm,
    "SwiftPM": swift,
    "amalgamation": amalgamation,
    "archive": archive,
    "archive, CMake": archive_cmake,
    "archive, Windows": archive_windows,
    "wheel, Windows": wheel_windows,
    "CMake": cmake,
    "Conan": conan,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", type=pathlib.Path, help="the output of release.py")
    parser.add_argument("channel", nargs="*", help=f"one of: {', '.join(CHANNELS)}; by default all")
    args = parser.parse_args()
    unknown = [name for name in args.channel if name not in CHANNELS]
    if unknown:
        parser.error(f"there is no channel {unknown[0]!r}; the channels are {', '.join(CHANNELS)}")
    version = (ROOT / "capi/VERSION").read_text().strip()
    prompt, golden, shown = expected_texts()
    print("| Channel | Commands | Seconds | Streamed text |\n|---|---|---|---|")
    for name in args.channel or CHANNELS:
        with tempfile.TemporaryDirectory() as directory:
            user = User(args.packages.resolve(), version, pathlib.Path(directory))
            try:
                text = CHANNELS[name](user).strip()
            except Skipped as reason:
                print(f"| {name} | skipped: {reason} | | |", flush=True)
                continue
            text = text.removeprefix(prompt).strip()
            if text != golden and not text.startswith(shown):
                raise SystemExit(f"{name}: streamed {text!r}\ninstead of {golden!r}\nor {shown!r}")
            commands = "<br>".join(f"`{command}`" for command in user.commands).replace(str(args.packages.resolve()), "PACKAGES")
            seconds = " + ".join(f"{value:.1f}" for value in user.seconds)
            print(f"| {name} | {commands} | {seconds} | {text[:30]}... |", flush=True)


if __name__ == "__main__":
    main()
