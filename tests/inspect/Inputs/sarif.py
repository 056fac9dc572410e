"""sarif.py TILEC: what `tilec check --sarif` writes is SARIF 2.1.0, as far as its schema and those who read it ask for, and says what the text says:
places are where the words are, in characters, and what a fix inserts is right."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

TILEC = os.path.abspath(sys.argv[1])
INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "many")
# Of each object of SARIF that is written: what it must have, and what it may have.
OBJECTS = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": ({"tool"}, {"columnKind", "originalUriBaseIds", "invocations", "artifacts", "results"}),
    "tool": ({"driver"}, set()),
    "driver": ({"name"}, {"version", "semanticVersion", "informationUri", "rules"}),
    "rule": ({"id"}, {"name", "shortDescription", "defaultConfiguration"}),
    "invocation": ({"executionSuccessful"}, {"exitCode", "toolExecutionNotifications"}),
    "notification": ({"message"}, {"descriptor", "level", "locations"}),
    "artifact": (set(), {"location", "roles", "sourceLanguage"}),
    "result": ({"message"}, {"ruleId", "ruleIndex", "level", "locations", "relatedLocations", "fixes", "partialFingerprints"}),
    "location": (set(), {"physicalLocation", "message"}),
    "physicalLocation": ({"artifactLocation"}, {"region"}),
    "artifactLocation": (set(), {"uri", "uriBaseId", "description"}),
    "region": (set(), {"startLine", "startColumn", "endLine", "endColumn"}),
    "fix": ({"artifactChanges"}, {"description"}),
    "artifactChange": ({"artifactLocation", "replacements"}, set()),
    "replacement": ({"deletedRegion"}, {"insertedContent"}),
    "message": ({"text"}, set()),
}
wrong = []


def has(kind, value):
    must, may = OBJECTS[kind]
    names = set(value)
    if not isinstance(value, dict) or must - names or names - must - may:
        wrong.append(f"{kind}: {sorted(names)}")
    return value


def check(*arguments, folder):
    ran = subprocess.run([TILEC, "check", *arguments], cwd=folder, capture_output=True, text=True)
    return ran.returncode, ran.stdout, ran.stderr


def path_of(location):
    uri = has("artifactLocation", location)["uri"]
    if location.get("uriBaseId"):
        if location["uriBaseId"] != "%SRCROOT%" or uri.startswith(("/", "..")) or "://" in uri:
            wrong.append(f"artifactLocation: {location}")
        return urllib.parse.unquote(uri)
    if not uri.startswith("file:///"):
        wrong.append(f"artifactLocation: {location}")
    return urllib.parse.unquote(uri[len("file://"):])


def words(folder, location, region):
    """The text at a place of one line, by its columns as columnKind says."""
    has("region", region)
    with open(os.path.join(folder, path_of(location)), encoding="utf-8") as file:
        line = file.read().split("\n")[region["startLine"] - 1]
    return line[region["startColumn"] - 1:region["endColumn"] - 1] if region["startLine"] == region["endLine"] else None


def check_result(folder, rules, result):
    rule = rules[has("result", result)["ruleIndex"]]
    if rule["id"] != result["ruleId"] or result["level"] not in ("note", "warning", "error"):
        wrong.append(f"result: {result['ruleId']}, rule {rule['id']}, {result['level']}")
    if not re.fullmatch(r"[0-9a-f]{32}", result["partialFingerprints"]["tilecFinding/v1"]):
        wrong.append(f"result: {result['partialFingerprints']}")
    has("message", result["message"])
    place = has("physicalLocation", has("location", result["locations"][0])["physicalLocation"])
    print(f"{path_of(place['artifactLocation'])}: {result['level']} {result['ruleId']} at `{words(folder, place['artifactLocation'], place['region'])}`")
    for related in result.get("relatedLocations", []):
        other = has("physicalLocation", has("location", related)["physicalLocation"])
        print(f"    related: {has('message', related['message'])['text']} at `{words(folder, other['artifactLocation'], other['region'])}`")
    for fix in result.get("fixes", []):
        for change in has("fix", fix)["artifactChanges"]:
            for replacement in has("artifactChange", change)["replacements"]:
                deleted = words(folder, change["artifactLocation"], has("replacement", replacement)["deletedRegion"])
                print(f"    fix: `{deleted}` becomes `{has('message', replacement['insertedContent'])['text']}`")


def apply_fixes(folder, results):
    for result in results:
        for fix in result.get("fixes", []):
            for change in fix["artifactChanges"]:
                path = os.path.join(folder, path_of(change["artifactLocation"]))
                with open(path, encoding="utf-8") as file:
                    lines = file.read().split("\n")
                for replacement in change["replacements"]:
                    region = replacement["deletedRegion"]
                    line = lines[region["startLine"] - 1]
                    lines[region["startLine"] - 1] = (line[:region["startColumn"] - 1] + replacement["insertedContent"]["text"] +
                                                      line[region["endColumn"] - 1:])
                with open(path, "w", encoding="utf-8") as file:
                    file.write("\n".join(lines))


def check_log(folder, text):
    log = has("log", json.loads(text))
    run = has("run", log["runs"][0])
    if log["version"] != "2.1.0" or len(log["runs"]) != 1 or run["columnKind"] != "unicodeCodePoints":
        wrong.append(f"log: {log['version']}, {run['columnKind']}")
    driver = has("driver", has("tool", run["tool"])["driver"])
    if driver["name"] != "tilec" or not re.fullmatch(r"\d+\.\d+\.\d+", driver["version"]):
        wrong.append(f"driver: {driver['name']} {driver['version']}")
    rules = [has("rule", rule) for rule in driver["rules"]]
    if len({rule["id"] for rule in rules}) != len(rules):
        wrong.append("rules: one twice")
    for rule in rules:
        if "%" in has("message", rule["shortDescription"])["text"] or rule["defaultConfiguration"]["level"] not in ("note", "warning", "error"):
            wrong.append(f"rule: {rule}")
    for name, base in run["originalUriBaseIds"].items():
        has("artifactLocation", base)
        if name != "%SRCROOT%":
            wrong.append(f"base {name}")
    for artifact in run["artifacts"]:
        path_of(has("artifact", artifact)["location"])
    invocation = has("invocation", run["invocations"][0])
    for notification in invocation.get("toolExecutionNotifications", []):
        print(f"notified: {has('notification', notification)['descriptor']['id']} {has('message', notification['message'])['text']}")
    for result in run["results"]:
        check_result(folder, rules, result)
    prints = [json.dumps(result["partialFingerprints"]) for result in run["results"]]
    if len(set(prints)) != len(prints):
        wrong.append("two results have one fingerprint")
    return run, invocation


with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(INPUTS, os.path.join(folder, "m any"))
    status, _, text = check("m any", "--sarif", "one.sarif", "-j1", folder=folder)
    with open(os.path.join(folder, "one.sarif"), encoding="utf-8") as file:
        one = file.read()
    print(f"status {status}")
    run, invocation = check_log(folder, one)
    if invocation != {"executionSuccessful": True, "exitCode": 1}:
        wrong.append(f"invocation: {invocation}")
    # The same bytes from several threads, on standard output; the same messages as the text
    status, other, again = check("m any", "--sarif", "-", "-j3", folder=folder)
    if other != one or not again.startswith(text):
        wrong.append("three jobs say something else than one")
    for result in run["results"]:
        message = result["message"]["text"].split("\n")[0]
        if not re.search(rf": {result['level']}: {re.escape(message)}( \[-W{result['ruleId']}\])?$", text, re.M):
            wrong.append(f"the text does not say: {message}")
    # Lines above do not matter to a finding
    path = os.path.join(folder, "m any", "wrong.tile")
    with open(path, encoding="utf-8") as file:
        before = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n\n" + before)
    moved = json.loads(check("m any", "--sarif", "-", folder=folder)[1])["runs"][0]
    if [r["partialFingerprints"] for r in moved["results"]] != [r["partialFingerprints"] for r in run["results"]]:
        wrong.append("fingerprints change with lines above")
    apply_fixes(folder, moved["results"])
    status, text, errors = check("m any/wrong.tile", folder=folder)
    print(f"fixed: status {status}, {text.strip()}")
    # What cannot be read; a path that is not below the folder
    outside = os.path.join(INPUTS, "below", "warned.tile")
    status, text, _ = check("none.tile", outside, "--sarif", "-", folder=folder)
    run, invocation = check_log(folder, text)
    print(f"status {status}, successful: {invocation['executionSuccessful']}")
    # No file at all
    os.mkdir(os.path.join(folder, "empty"))
    status, text, _ = check("empty", "--sarif", "-", folder=folder)
    run, invocation = check_log(folder, text)
    print(f"empty: status {status}, {len(run['results'])} results")
print("\n".join(wrong))
sys.exit(bool(wrong))
