"""Writes the software bill of materials of the amalgamation in SPDX 2.3, from platforms/dependencies.txt."""
import json
import re
import time

NAMESPACE = "https://github.com/sotto-runtime/sotto/sbom"


def dependencies(text):
    """Returns the rows of dependencies.txt as dictionaries."""
    names = ("name", "version", "sha256", "repository", "commit", "licence", "part")
    return [dict(zip(names, line.split())) for line in text.splitlines() if line and not line.startswith("#")]


def flatbuffers_version(include):
    """Returns the version of the headers that the amalgamation contains."""
    text = (include / "flatbuffers/base.h").read_text(encoding="utf-8")
    return ".".join(re.search(rf"define FLATBUFFERS_VERSION_{part} (\d+)", text)[1] for part in
                    ("MAJOR", "MINOR", "REVISION"))


def package(name, version, licence, repository):
    return {"SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": version,
            "downloadLocation": f"git+https://github.com/{repository}", "filesAnalyzed": False,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION"}


def relation(first, kind, second):
    return {"spdxElementId": f"SPDXRef-{first}", "relationshipType": kind, "relatedSpdxElement": f"SPDXRef-{second}"}


def document(name, version, seconds, table, include):
    """Returns the document. `include` is the directory of FlatBuffers' headers."""
    versions = {"flatbuffers": flatbuffers_version(include)}
    rows = [row for row in dependencies(table) if row["part"] == "library"]
    return json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"{NAMESPACE}/{name}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
                         "creators": ["Tool: platforms/packages/sbom.py"]},
        "packages": [package("sotto", version, "Apache-2.0", "sotto-runtime/sotto"),
                     *(package(row["name"], versions[row["name"]], row["licence"], row["repository"]) for row in rows)],
        "relationships": [relation("DOCUMENT", "DESCRIBES", "sotto"),
                          *(relation("sotto", "CONTAINS", row["name"]) for row in rows)],
    }, indent=2) + "\n"
