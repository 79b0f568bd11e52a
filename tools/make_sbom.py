"""What the program is made of, as SPDX 2.3 in JSON: weir and the Debian packages it is linked with,
in the versions it was built with. The image of the same build holds exactly those."""

import datetime
import json

import closure


def stamp(epoch):
    return datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def spdx_id(name):
    return "SPDXRef-Package-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in name)


def package(name, version, licence, purl, **more):
    reference = {
        "referenceCategory": "PACKAGE-MANAGER",
        "referenceType": "purl",
        "referenceLocator": purl,
    }
    return {
        "name": name,
        "SPDXID": spdx_id(name),
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [reference],
    } | more


def debian(p):
    purl = f"pkg:deb/debian/{p.name}@{p.version.replace('+', '%2B').replace(':', '%3A')}"
    more = {"sourceInfo": f"built from the Debian source package {p.source}"}
    if p.homepage:
        more["homepage"] = p.homepage
    return package(p.name, p.version, "NOASSERTION", f"{purl}?arch={p.arch}", **more)


def relationship(a, kind, b):
    return {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}


def document(release, program):
    weir = package("weir", release.version, "Apache-2.0", f"pkg:generic/weir@{release.version}")
    weir["sourceInfo"] = f"commit {release.commit}"
    weir["primaryPackagePurpose"] = "APPLICATION"
    linked = closure.packages(closure.libraries(program))
    trust = closure.Package("ca-certificates")
    relations = [relationship("SPDXRef-DOCUMENT", "DESCRIBES", weir["SPDXID"])]
    relations += [relationship(weir["SPDXID"], "DYNAMIC_LINK", spdx_id(p.name)) for p in linked]
    relations += [relationship(spdx_id(trust.name), "OPTIONAL_DEPENDENCY_OF", weir["SPDXID"])]
    name = f"weir-{release.version}-{release.arch}"
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{release.commit}",
        "creationInfo": {
            "created": stamp(release.epoch),
            "creators": ["Tool: weir-make-dist", "Organization: weir maintainers"],
        },
        "packages": [weir, *[debian(p) for p in linked], debian(trust)],
        "relationships": relations,
    }


def make(release, program, folder):
    path = folder / f"weir-{release.version}-{release.arch}.spdx.json"
    path.write_text(json.dumps(document(release, program), indent=2) + "\n")
    return path
